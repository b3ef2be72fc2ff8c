"""Finds the site of the page that sent a request, and refuses changes from other sites.

A browser lets any page send a ``POST`` without a body to any server, with the user's cookies (``fetch`` with
``no-cors``, a form). It only hides the response from the page. Such a request is enough to stop a run. Only requests
that change data are refused: the page cannot read the response to a ``GET``.
"""

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.wire import ChatRequestError, StreamProtocolError, shown

CROSS_ORIGIN_SCOPE: Final = "adk_ui_stream_origins"
"""The key in a request's scope for the origins that ``CrossOrigin`` allows. It marks a request whose CORS is
handled."""

PageSite: TypeAlias = Literal["same-origin", "same-site", "cross-site"]

_SAME_ORIGIN: Final = frozenset({"same-origin", "none"})
"""The values of ``Sec-Fetch-Site`` for a page of this server, and for an address that the user has typed."""


def page_site(request: Request) -> PageSite:
    """Return the relation of this server to the page that sent the request.

    Browsers send this relation in the header ``Sec-Fetch-Site``, which no page can change. Without that header (older
    browsers, plain HTTP except on loopback, some proxies) the host of ``Origin`` is compared with ``Host``, as Go's
    ``http.CrossOriginProtection`` does. A request with neither header counts as one of the same origin: it comes from a
    program that is not a browser.
    """
    lines = request.headers.getlist("sec-fetch-site")  # a proxy may add a header line, or join lines
    if sites := {site.strip().lower() for line in lines for site in line.split(",")} - {""}:
        if sites <= _SAME_ORIGIN:
            return "same-origin"
        return "same-site" if sites <= _SAME_ORIGIN | {"same-site"} else "cross-site"
    origin = request.headers.get("origin")
    host = (origin or "").partition("://")[2].lower()
    is_own = origin is None or (host != "" and host == request.headers.get("host", "").lower())
    return "same-origin" if is_own else "cross-site"


def is_foreign(request: Request, trusted: frozenset[str] = frozenset()) -> bool:
    """Return True if a page of another site has sent the request, and its origin is not trusted.

    These origins are trusted: ``trusted``, the origins of ``CrossOrigin`` around the route, and the origins of the
    app's ``CORSMiddleware``. ``*`` trusts every page that sends no cookies.
    """
    if page_site(request) != "cross-site":
        return False
    origin, has_cookie = request.headers.get("origin"), "cookie" in request.headers
    trusted |= request.scope.get(CROSS_ORIGIN_SCOPE, frozenset())
    if origin in trusted or (ANY_ORIGIN in trusted and not has_cookie):
        return False
    cors = _cors_of(request.scope.get("app"))
    return cors is None or origin is None or not _lets_change(cors, origin, request.method, has_cookie=has_cookie)


def _lets_change(cors: CORSMiddleware, origin: str, method: str, *, has_cookie: bool) -> bool:
    """Return True if the app's CORS settings let a page of this origin send a request with this method.

    A page that is allowed only by ``*`` may send no cookies.
    """
    if not cors.is_allowed_origin(origin) or method not in cors.allow_methods:
        return False
    is_named = origin in cors.allow_origins or not cors.allow_all_origins
    return not has_cookie or (is_named and cors.allow_credentials)


def check_cors_of_app(app: object, allow_origins: Collection[str]) -> None:
    """Raise ``StreamProtocolError`` if the app's ``CORSMiddleware`` refuses one of the origins.

    That middleware handles all preflights of the app, so pages of a refused origin could send nothing.
    """
    cors = _cors_of(app)
    refused = [] if cors is None else [origin for origin in allow_origins if not cors.is_allowed_origin(origin)]
    if refused:
        raise StreamProtocolError(
            f"`allow_origins` has {shown(refused[0])}, which the app's CORSMiddleware refuses: name it in the "
            "middleware, and leave `allow_origins` out."
        )


def _cors_of(app: object) -> CORSMiddleware | None:
    """Return the app's own ``CORSMiddleware``."""
    if isinstance(app, Starlette):
        for kind, args, options in app.user_middleware:
            if isinstance(kind, type) and issubclass(kind, CORSMiddleware):
                return kind(app, *args, **options)
    return None


def require_trusted_origin(request: Request, trusted: frozenset[str] = frozenset()) -> None:
    """Raise ``ChatRequestError`` (403) for a foreign request: see ``is_foreign``."""
    if is_foreign(request, trusted):
        raise ChatRequestError(
            "A page of another site may not do this unless the server names its origin: allow_origins, or "
            "--cors-origin.",
            status=403,
        )
