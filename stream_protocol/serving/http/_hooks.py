"""Calls the app's hooks for a request: ``identify`` returns the user's id, ``prepare`` the options of the run.

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
"""The maximum number of characters of a user id: the width of the columns in ADK's ``DatabaseSessionService``."""

_UNSTORABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that a user id must not have: control characters and surrogates. Some databases refuse U+0000 and
surrogates. Other control characters may begin a new line in a log. U+0080 to U+009F are allowed: they may be bytes of
UTF-8 in a header, which is decoded as Latin-1."""

Identify: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""HTTP request -> the user's id. Raise ``starlette.exceptions.HTTPException(401)`` for a request without a user."""

Prepare: TypeAlias = Callable[[Request, ChatRequest], RunOverrides | Awaitable[RunOverrides]]
"""HTTP request, chat request -> the options of the run. Raise ``ChatRequestError`` to refuse the request."""


def local_user(_request: Request) -> str:
    """Returns the user's id on a server that has only one user: ``"local"``.

    A warning is logged at the first request of this user that comes from another machine.
    """
    return LOCAL_USER


def header_user(name: str) -> Identify:
    """Returns an ``identify`` that reads the user's id from a header, which a proxy sets for a signed-in user.

    Use it only where all requests come through that proxy, and the proxy removes this header from requests of clients.
    The header must occur exactly once. A request without it, or with two of them (one from the client, one from the
    proxy), is refused (401). Raises ``StreamProtocolError`` for an invalid header name.
    """
    check_header_name("name", name)

    def identify(request: Request) -> str:
        # Strip only HTTP's whitespace: in Latin-1, the last byte of a UTF-8 "à" is whitespace to Python.
        match [value.strip(" \t") for value in request.headers.getlist(name)]:
            case [user_id] if user_id:
                return user_id
        raise ChatRequestError("Sign in first.", status=401)

    return identify


async def identify_user(identify: Identify, request: Request) -> str:
    """Return the user's id from the app's hook. Raises the same errors as ``require_user``."""
    found = identify(request)
    user_id = await found if inspect.isawaitable(found) else found
    if user_id is not None:
        check_text("identify(request)", user_id, expected="the user's id as text")
    require_user(user_id)
    return user_id


def require_user(user_id: str) -> None:
    """Raise ``ChatRequestError`` (401) for an empty user id, and for an id that some session stores cannot keep.

    All users with an empty id would share their chats. Raises ``StreamProtocolError`` for an id that is not a string.
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
    """Return ``overrides``, or the result of the app's hook."""
    if isinstance(overrides, RunOverrides):
        return overrides
    prepared = overrides(request, chat_request)
    prepared = await prepared if inspect.isawaitable(prepared) else prepared
    check_instance("prepare(request, chat_request)", prepared, RunOverrides, "a RunOverrides")
    return prepared


logger = logging.getLogger(__name__)


class SharedUserWarning:
    """Logs one warning when a request from another machine gets the local user's chats."""

    def __init__(self) -> None:
        self._is_logged = False

    def look_at(self, request: Request, user_id: str) -> None:
        """Log the warning if this request is the first from another machine.

        A client without an IP address counts as local.
        """
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


def is_developer(request: Request, user_id: str) -> bool:
    """Return True for a request from this machine to an app without ``identify``.

    The client's address, each address that a proxy has forwarded, each host name and the page's origin must be
    loopback. A proxy may change ``Host`` and forward no address. Then the result is False for a request from another
    machine only if a browser sends it, with its ``Origin``.
    """
    if user_id != LOCAL_USER or request.client is None or "forwarded" in request.headers:
        return False
    addresses = [request.client.host, *_listed(request, "x-forwarded-for"), *_listed(request, "x-real-ip")]
    origins = [origin.rpartition("://")[2] for origin in _listed(request, "origin")]
    hosts = [*_listed(request, "host", "x-forwarded-host"), *origins]
    names = [host.rpartition(":")[0] or host for host in hosts]
    return all(map(is_loopback_address, addresses)) and all(
        name == "localhost" or is_loopback_address(name.strip("[]")) for name in names
    )


def _listed(request: Request, *headers: str) -> list[str]:
    """Return the values in these headers, which are separated by commas."""
    lines = [line for header in headers for line in request.headers.getlist(header)]
    return [value.strip() for line in lines for value in line.split(",")]
