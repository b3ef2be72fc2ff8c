"""Finds the site of the page that sent a request, and refuses changes from other sites.

A browser lets any page send a ``POST`` without a body to any server, with the user's cookies (``fetch`` with
``no-cors``, a form). It only hides the response from the page. Such a request is enough to stop a run. Only requests
that change data are refused: the page cannot read the response to a ``GET``.

``_admit`` has the only rule. ``admit`` applies it to all routes: those of the chats, the Inspector, the replay server
and ``/metrics``. ``admit_headers`` applies it to requests of other frameworks.

``_cross_origin`` answers preflights, and adds the CORS headers to responses. It passes all other requests on.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final, Literal, TypeAlias

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.wire import ChatRequestError, StreamProtocolError, shown

CROSS_ORIGIN_SCOPE: Final = "adk_ui_stream_origins"
"""The key in a request's scope for the origins that ``CrossOrigin`` allows. It marks a request whose CORS is
handled."""

PageSite: TypeAlias = Literal["same-origin", "same-site", "cross-site"]

Permission: TypeAlias = Literal["with cookies", "without cookies"]
"""The requests that pages of an origin may send. A named origin may also send the user's cookies."""

READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The HTTP methods that change nothing."""

_SAME_ORIGIN: Final = frozenset({"same-origin", "none"})
"""The values of ``Sec-Fetch-Site`` for a page of this server, and for an address that the user has typed."""


def page_site(headers: Headers) -> PageSite:
    """Return the relation of this server to the page that sent a request with these headers.

    Browsers send this relation in the header ``Sec-Fetch-Site``, which no page can change. Without that header (older
    browsers, plain HTTP except on loopback, some proxies) the host of ``Origin`` is compared with ``Host``, as Go's
    ``http.CrossOriginProtection`` does. A request with neither header counts as one of the same origin: it comes from a
    program that is not a browser.
    """
    lines = headers.getlist("sec-fetch-site")  # a proxy may add a header line, or join lines
    if sites := {site.strip().lower() for line in lines for site in line.split(",")} - {""}:
        if sites <= _SAME_ORIGIN:
            return "same-origin"
        return "same-site" if sites <= _SAME_ORIGIN | {"same-site"} else "cross-site"
    origin = headers.get("origin")
    host = (origin or "").partition("://")[2].lower()
    is_own = origin is None or (host != "" and host == headers.get("host", "").lower())
    return "same-origin" if is_own else "cross-site"


def permission_of(origin: str, allowed: Collection[str]) -> Permission | None:
    """Return the kind of requests that pages of ``origin`` may send. If ``allowed`` contains the origin, they may have
    cookies. If it contains only ``*``, they may not. Return ``None`` if ``allowed`` contains neither.
    """
    if origin in allowed:
        return "with cookies"
    return "without cookies" if ANY_ORIGIN in allowed else None


def admit(request: Request, trusted: frozenset[str] = frozenset(), *, also_reads: bool = False) -> bool:
    """Raise ``ChatRequestError`` (403) if a page of an untrusted site has sent a request that changes data.

    Return True if such a page has sent a request that only reads. These origins are trusted: ``trusted``, the origins
    of ``CrossOrigin`` around the route, and the origins of the app's ``CORSMiddleware``. ``also_reads``: if True,
    requests of untrusted pages that only read are also refused.
    """
    trusted |= request.scope.get(CROSS_ORIGIN_SCOPE, frozenset())
    cors = _cors_of(request.scope.get("app"))

    def permissions(origin: str) -> set[Permission | None]:
        of_cors = None if cors is None else _permission_by_cors(cors, origin, request.method)
        return {permission_of(origin, trusted), of_cors}

    return _admit(request.method, request.headers, permissions, also_reads=also_reads)


def admit_headers(method: str, headers: Iterable[tuple[str, str]], trusted: frozenset[str]) -> None:
    """Raise ``ChatRequestError`` (403) as ``admit``, for the headers of a request in another framework."""
    raw = [(_header_bytes(name.lower()), _header_bytes(value)) for name, value in headers]
    _ = _admit(method, Headers(raw=raw), lambda origin: {permission_of(origin, trusted)}, also_reads=False)


def _header_bytes(text: str) -> bytes:
    """Return a part of a header. A character that no header can have becomes ``?``, which equals no origin."""
    return text.encode("latin-1", errors="replace")


def _admit(
    method: str, headers: Headers, permissions: Callable[[str], set[Permission | None]], *, also_reads: bool
) -> bool:
    """Apply the rule of ``admit``. ``permissions``: a function that returns the permissions of the page with this
    origin.
    """
    needed = {"with cookies"} if "cookie" in headers else {"with cookies", "without cookies"}
    origin = headers.get("origin")
    is_foreign = page_site(headers) == "cross-site" and (origin is None or not permissions(origin) & needed)
    if is_foreign and (also_reads or method not in READING_METHODS):
        raise ChatRequestError(
            "A page of another site may not do this unless the server names its origin: allow_origins, or "
            "--cors-origin.",
            status=403,
        )
    return is_foreign


def _permission_by_cors(cors: CORSMiddleware, origin: str, method: str) -> Permission | None:
    """Return the permission that the app's own CORS settings give a page for a request with this method."""
    if not cors.is_allowed_origin(origin) or method not in cors.allow_methods:
        return None
    is_named = origin in cors.allow_origins or not cors.allow_all_origins
    return "with cookies" if is_named and cors.allow_credentials else "without cookies"


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
