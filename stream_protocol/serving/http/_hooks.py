"""Whose chats a request may see."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from starlette.requests import Request

from stream_protocol.wire import ChatRequestError

LOCAL_USER: Final = "local"

Identify: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Request -> the user's id. Raise ``starlette.exceptions.HTTPException(401)`` for a request that is nobody's."""


def local_user(_request: Request) -> str:
    """The one user of a server that has only one."""
    return LOCAL_USER


def header_user(name: str) -> Identify:
    """Identifies by a header that a proxy in front sets after it has signed the user in.

    Only for servers that nobody reaches around that proxy, and a proxy that removes the header from what clients send.
    A request without it, or with two of them (the client's own and the proxy's), gets 401.
    """

    def identify(request: Request) -> str:
        match [value.strip() for value in request.headers.getlist(name)]:
            case [user_id] if user_id:
                return user_id
        raise ChatRequestError("Sign in first.", status=401)

    return identify


async def identified(identify: Identify, request: Request) -> str:
    """The user's id, from a plain function or a coroutine.

    An empty one is refused (401): it would give all who have none the same chats.
    """
    user_id = identify(request)
    user_id = await user_id if inspect.isawaitable(user_id) else user_id
    if not user_id:
        raise ChatRequestError("Sign in first.", status=401)
    return user_id
