"""The app's hooks on a request: ``identify`` says whose chats it may see; ``prepare`` says how it is run.

Both may be plain functions or coroutine functions.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final, TypeAlias

from starlette.requests import Request

from stream_protocol.serving.base import RunOverrides, is_loopback_address
from stream_protocol.wire import ChatRequest, ChatRequestError, check_header_name, check_instance, check_text

LOCAL_USER: Final = "local"

MAX_USER_ID_LENGTH: Final = 128
"""Characters. ADK's ``DatabaseSessionService`` has columns of this width."""

_UNSTORABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Some databases refuse the first and the last, and a log shows the others as lines. U+0080 to U+009F may be bytes of
UTF-8 in a header, which is read as Latin-1."""

Identify: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""HTTP request -> the user's id. Raise ``starlette.exceptions.HTTPException(401)`` for a request without a user."""

Prepare: TypeAlias = Callable[[Request, ChatRequest], RunOverrides | Awaitable[RunOverrides]]
"""HTTP request, chat request -> how to run it. Raise ``ChatRequestError`` to refuse it."""


def local_user(_request: Request) -> str:
    """Returns the user's id on a server that has only one user: ``"local"``.

    A warning is logged at the first request of this user that comes from another machine.
    """
    return LOCAL_USER


def header_user(name: str) -> Identify:
    """Makes an ``identify`` that reads the user's id from a header, which a proxy sets after it has signed the user in.

    Use it only where all requests come through that proxy, and the proxy removes this header from what clients send. A
    request without the header, or with it twice (from the client and from the proxy), gets 401. Raises
    ``StreamProtocolError`` for a name that no header has.
    """
    check_header_name("name", name)

    def identify(request: Request) -> str:
        # Only the blanks of HTTP: each byte is a character here, and the last one of "à" would be a blank to Python.
        match [value.strip(" \t") for value in request.headers.getlist(name)]:
            case [user_id] if user_id:
                return user_id
        raise ChatRequestError("Sign in first.", status=401)

    return identify


async def identify_user(identify: Identify, request: Request) -> str:
    """Returns the user's id. Raises as ``require_user``."""
    found = identify(request)
    user_id = await found if inspect.isawaitable(found) else found
    if user_id is not None:
        check_text("identify(request)", user_id, expected="the user's id as text")
    require_user(user_id)
    return user_id


def require_user(user_id: str) -> None:
    """Raises ``ChatRequestError`` (401) for an empty id: all users without an id would share their chats. So for one
    that no session store is sure to keep. Raises ``StreamProtocolError`` for an id that is not text."""
    if user_id is not None:
        check_text("user_id", user_id)
    if not user_id:
        raise ChatRequestError("Sign in first.", status=401)
    if len(user_id) > MAX_USER_ID_LENGTH:
        raise ChatRequestError(f"The user id is longer than {MAX_USER_ID_LENGTH} characters.", status=401)
    if _UNSTORABLE.search(user_id):
        raise ChatRequestError("The user id must not hold control characters.", status=401)


async def prepare_run(overrides: RunOverrides | Prepare, request: Request, chat_request: ChatRequest) -> RunOverrides:
    """Returns the overrides, or what the hook returns."""
    if isinstance(overrides, RunOverrides):
        return overrides
    prepared = overrides(request, chat_request)
    prepared = await prepared if inspect.isawaitable(prepared) else prepared
    check_instance("prepare(request, chat_request)", prepared, RunOverrides, "a RunOverrides")
    return prepared


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
