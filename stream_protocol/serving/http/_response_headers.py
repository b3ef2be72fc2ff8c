"""Headers that tell a browser what it may do with a response: nothing, or what the page needs.

An app of one's own sets what it likes on its own responses: these are given to ours alone, and replace nothing.
"""

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_EVERYWHERE: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}
"""``x-frame-options`` is for browsers that do not know ``frame-ancestors``."""

ANSWER_HEADERS: Final = {**_EVERYWHERE, "content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
"""Of what is no page: JSON, plain text, a stream."""

_PAGE_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    # What a model writes may name an image anywhere, with what it has read in the query: fetching that would tell it.
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
    # A page in a frame can be clicked without being seen: one click approves a call.
    "frame-ancestors": "'none'",
}

_UNUSED_FEATURES: Final = ("camera", "display-capture", "microphone", "midi", "payment", "usb")

PAGE_HEADERS: Final = {
    **_EVERYWHERE,
    "content-security-policy": "; ".join(f"{name} {value}" for name, value in _PAGE_POLICY.items()),
    # Where the user is, the browser asks the user, when an agent asks the page.
    "permissions-policy": ", ".join([*(f"{feature}=()" for feature in _UNUSED_FEATURES), "geolocation=(self)"]),
    # A link's host is not looked up before it is clicked: the name may hold what an image's query would.
    "x-dns-prefetch-control": "off",
}
"""Of the built page and its files."""


class ResponseHeaders:
    """ASGI middleware that gives these headers to every response that does not have them."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(MutableHeaders(scope=message), self._headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def add_headers(response: MutableHeaders, headers: Mapping[str, str]) -> None:
    """Adds those of the headers that the response does not have."""
    for name, value in headers.items():
        response.setdefault(name, value)
