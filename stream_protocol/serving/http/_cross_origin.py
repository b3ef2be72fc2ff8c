"""CORS: responds to preflights, and adds the headers that let pages of other origins read responses."""

import logging
from collections.abc import Collection, Sequence
from copy import copy
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.serving.base import RareWarning
from stream_protocol.serving.http._trusted_origins import CROSS_ORIGIN_SCOPE, permission_of
from stream_protocol.wire import shown

logger = logging.getLogger(__name__)

ALL_METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")

EXPOSED_HEADERS: Final = "x-vercel-ai-ui-message-stream, retry-after"
"""The response headers that a page of another origin may read: the stream's version, and the time before a retry."""

REMEMBERED_SECONDS: Final = 3600
"""Seconds for which a browser may cache the response to a preflight. Chromium allows up to two hours."""

REFUSAL: Final = "A page of this origin may not use this server unless allow_origins, or --cors-origin, names it."


class CrossOrigin:
    """ASGI middleware that lets pages of ``origins`` send requests, change data and read responses.

    Pages of an origin in ``origins`` may send the user's cookies. If ``origins`` contains ``*``, pages of all other
    origins may send requests, but without cookies. Responses to refused origins have no CORS headers. ``methods``: the
    HTTP methods of the path.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str], methods: Collection[str] = ALL_METHODS) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._methods = methods
        self._warning = RareWarning(logger)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or CROSS_ORIGIN_SCOPE in scope:
            await self._app(scope, receive, send)
            return
        scope[CROSS_ORIGIN_SCOPE] = self._origins
        request = Headers(scope=scope)
        origin = request.get("origin")
        allowing = self._allowing(origin)

        async def send_allowing(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                _add_vary(headers)
                headers.update(allowing)
            await send(message)

        if origin is not None and scope["method"] == "OPTIONS" and "access-control-request-method" in request:
            await self._preflight(origin, request, allowed=bool(allowing))(scope, receive, send_allowing)
        else:
            await self._app(scope, receive, send_allowing)

    def _allowing(self, origin: str | None) -> dict[str, str]:
        """Return the CORS headers that let a page of ``origin`` read a response. Return an empty dictionary if the page
        must not read it.
        """
        permission = None if origin is None else permission_of(origin, self._origins)
        if origin is None or permission is None:
            return {}
        if permission == "without cookies":
            return {"access-control-allow-origin": ANY_ORIGIN, "access-control-expose-headers": EXPOSED_HEADERS}
        return {
            "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
            "access-control-expose-headers": EXPOSED_HEADERS,
        }

    def _preflight(self, origin: str, request: Headers, *, allowed: bool) -> Response:
        if not allowed:
            self._warning.log("A page at %s was refused: `allow_origins` does not name its origin.", shown(origin))
            return PlainTextResponse(REFUSAL, 400)
        headers = {"access-control-allow-methods": ", ".join(self._methods)}
        headers["access-control-max-age"] = str(REMEMBERED_SECONDS)
        if (wanted := request.get("access-control-request-headers")) is not None:
            headers["access-control-allow-headers"] = wanted
        return PlainTextResponse("OK", headers=headers)


def _add_vary(headers: MutableHeaders) -> None:
    """Add ``Vary: Origin``, so that a cache does not give the response to pages of other origins."""
    named = [name.strip() for line in headers.getlist("vary") for name in line.split(",")]
    if "origin" not in map(str.lower, named):
        headers["vary"] = ", ".join([*named, "Origin"])


def cross_origin_routes(routes: Sequence[Route], origins: Collection[str]) -> list[Route]:
    """Return the routes with CORS for the given origins, and a route for the preflights of each path."""
    if not origins:
        return [*routes]
    methods: dict[str, set[str]] = {}
    for route in routes:
        methods.setdefault(route.path, set()).update(route.methods or ())
    preflights = [_options_route(path, sorted(methods[path]), origins) for path in methods]
    return [*(_opened_route(route, origins) for route in routes), *preflights]


def _opened_route(route: Route, origins: Collection[str]) -> Route:
    opened = copy(route)
    opened.app = CrossOrigin(route.app, origins)
    return opened


def _options_route(path: str, methods: Sequence[str], origins: Collection[str]) -> Route:
    response = Response(status_code=204, headers={"allow": ", ".join([*methods, "OPTIONS"])})
    return Route(path, CrossOrigin(response, origins, methods), methods=["OPTIONS"], name="options")
