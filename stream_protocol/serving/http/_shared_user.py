"""The warning that visitors from other machines are one user, where an app does not say who they are."""

import logging
from ipaddress import ip_address

from starlette.requests import Request

from stream_protocol.serving.base import is_loopback_address
from stream_protocol.serving.http._hooks import LOCAL_USER

logger = logging.getLogger(__name__)


class SharedUserWarning:
    """Logs a warning at the first request of the local user that comes from another machine."""

    def __init__(self) -> None:
        self._is_logged = False

    def look_at(self, request: Request, user_id: str) -> None:
        """Look at a request, and log the warning if it is due. A client without an IP address is not remote."""
        if self._is_logged or user_id != LOCAL_USER or request.client is None or not _is_remote(request.client.host):
            return
        self._is_logged = True
        logger.warning(
            "A request came from %s, but all visitors are one user, %r: each of them reads, continues and deletes "
            "every chat. Say who they are: `identify` of chat_router and create_app, `user_id` of ChatEndpoints, or "
            "serve --user-header.",
            request.client.host,
            LOCAL_USER,
        )


def _is_remote(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return not is_loopback_address(host)
