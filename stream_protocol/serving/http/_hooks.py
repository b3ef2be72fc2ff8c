"""Calls the app's hooks for a request: ``identify`` returns the user's id, and ``prepare`` returns the settings of the
run.
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
"""The maximum number of characters of a user id. The columns of ADK's ``DatabaseSessionService`` have this width."""

_UNSTORABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Pattern of characters that a user id must not have. Some databases refuse U+0000 and surrogates. Other control
characters may begin a new line in a log. U+0080 to U+009F are allowed, because a UTF-8 header that is decoded as
Latin-1 may contain them."""

Identify: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Hook that takes an HTTP request and returns the user's id. For a request without a user, the hook raises
``starlette.exceptions.HTTPException(401)``."""

Prepare: TypeAlias = Callable[[Request, ChatRequest], RunOverrides | Awaitable[RunOverrides]]
"""Hook that takes an HTTP request and the chat request, and returns the settings of the run. To refuse the request, the
hook raises ``ChatRequestError``."""


def local_user(_request: Request) -> str:
    """Returns ``"local"``, the id of the only user of a local server. This function is the default ``identify`` hook.

    At the first request from another machine, the server logs a warning.
    """
    return LOCAL_USER


def header_user(name: str) -> Identify:
    """Returns an ``identify`` hook that reads the user's id from a header, which a proxy sets for signed-in users.

    Use this hook only if all requests come through this proxy. The proxy must remove the header from the requests of
    clients. A request must have the header exactly once. A request without the header is refused (401). A request that
    has the header more than once is also refused, because one value may come from the client. Raises
    ``StreamProtocolError`` for an invalid header name.
    """
    check_header_name("name", name)

    def identify(request: Request) -> str:
        # Strip only HTTP's whitespace. In Latin-1, the last byte of a UTF-8 "à" is whitespace for Python.
        match [value.strip(" \t") for value in request.headers.getlist(name)]:
            case [user_id] if user_id:
                return user_id
        raise ChatRequestError("Sign in first.", status=401)

    return identify


async def identify_user(identify: Identify, request: Request) -> str:
    found = identify(request)
    user_id = await found if inspect.isawaitable(found) else found
    if user_id is not None:
        check_text("identify(request)", user_id, expected="the user's id as text")
    require_user(user_id)
    return user_id


def require_user(user_id: str) -> None:
    """Raise ``ChatRequestError`` (401) for an invalid user id.

    An id is invalid if it is empty, has more than ``MAX_USER_ID_LENGTH`` characters, or has control characters. All
    users with an empty id would share their chats. Raises ``StreamProtocolError`` for an id that is not a string.
    """
    if user_id is not None:
        check_text("user_id", user_id)
    if not user_id:
        raise ChatRequestError("Sign in first.", status=401)
    if len(user_id) > MAX_USER_ID_LENGTH:
        raise ChatRequestError(f"The user id is longer than {MAX_USER_ID_LENGTH} characters.", status=401)
    if _UNSTORABLE.search(user_id):
        raise ChatRequestError("The user id must not hold control characters.", status=401)


async def prepare_run(overrides: RunOverrides | Prepare, request: Request, chat_request: ChatRequest) -> RunOverrides:
    if isinstance(overrides, RunOverrides):
        return overrides
    prepared = overrides(request, chat_request)
    prepared = await prepared if inspect.isawaitable(prepared) else prepared
    check_instance("prepare(request, chat_request)", prepared, RunOverrides, "a RunOverrides")
    return prepared


logger = logging.getLogger(__name__)


class SharedUserWarning:
    """Logs a warning once if a request from another machine has the user id ``"local"``. All visitors then share the
    chats of one user.
    """

    def __init__(self) -> None:
        self._is_logged = False

    def look_at(self, request: Request, user_id: str) -> None:
        """Log the warning if this request comes from another machine, and if the warning was not logged yet.

        A proxy on this machine may have forwarded the request, so the addresses in the headers are also checked. A
        client without an IP address counts as local.
        """
        if self._is_logged or user_id != LOCAL_USER:
            return
        host = next((address for address in _addresses(request) if _is_remote(address)), None)
        if host is None:
            return
        self._is_logged = True
        logger.warning(
            "A request came from %s, but all visitors are one user, %r: each of them reads, continues and deletes "
            "every chat. Say who they are: `identify` of chat_router and create_app, `user_id` of ChatEndpoints, or "
            "serve --user-header.",
            host,
            LOCAL_USER,
        )


def _addresses(request: Request) -> list[str]:
    client = [] if request.client is None else [request.client.host]
    return [*client, *_listed(request, "x-forwarded-for", "x-real-ip")]


def _is_remote(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return not is_loopback_address(host)


def is_developer(request: Request, user_id: str) -> bool:
    """Return True for a request from this machine to an app without an ``identify`` hook.

    All addresses, all host names and the page's origin must be loopback. The origin is necessary: behind a proxy, it
    may be the only sign that the page comes from another machine.
    """
    if user_id != LOCAL_USER or request.client is None or "forwarded" in request.headers:
        return False
    origins = [origin.rpartition("://")[2] for origin in _listed(request, "origin")]
    hosts = [*_listed(request, "host", "x-forwarded-host"), *origins]
    names = [host.rpartition(":")[0] or host for host in hosts]
    return all(map(is_loopback_address, _addresses(request))) and all(
        name == "localhost" or is_loopback_address(name.strip("[]")) for name in names
    )


def _listed(request: Request, *headers: str) -> list[str]:
    lines = [line for header in headers for line in request.headers.getlist(header)]
    return [value.strip() for line in lines for value in line.split(",")]
