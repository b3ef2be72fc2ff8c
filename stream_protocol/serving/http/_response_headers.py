"""Security headers, which limit how a browser may use a response. Responses of this library get these headers. Other
responses of the app do not.
"""

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_COMMON_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}
"""Security headers of all responses. ``x-frame-options`` is for browsers without ``frame-ancestors``."""

API_HEADERS: Final = {**_COMMON_HEADERS, "content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
"""Security headers of responses that are not pages."""

_PAGE_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    # A model may write an image URL of any site, with private data in the query. Fetching the image would leak the
    # data.
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
    # Against clickjacking: in an invisible frame, a click of the user could approve a tool call.
    "frame-ancestors": "'none'",
}

_UNUSED_FEATURES: Final = ("camera", "display-capture", "microphone", "midi", "payment", "usb")

PAGE_HEADERS: Final = {
    **_COMMON_HEADERS,
    "content-security-policy": "; ".join(f"{name} {value}" for name, value in _PAGE_POLICY.items()),
    # An agent may ask for the user's position. The browser asks the user for permission.
    "permissions-policy": ", ".join([*(f"{feature}=()" for feature in _UNUSED_FEATURES), "geolocation=(self)"]),
    # No DNS lookup before the user clicks a link, because a host name may contain private data.
    "x-dns-prefetch-control": "off",
}
"""Security headers of the built page and its files."""


class ResponseHeaders:
    """ASGI middleware that adds ``headers`` to every response. A header that the response already has is not
    replaced.
    """

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
    for name, value in headers.items():
        response.setdefault(name, value)
