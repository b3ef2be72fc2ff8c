"""Finds the site of the page that sent a request, and refuses changes by pages of other sites.

A browser lets any page send a ``POST`` without a body to any server, with the user's cookies. The page cannot read the
response, but the ``POST`` could stop a run. So such requests are refused. Requests that only read data are allowed,
because the page cannot read the response.

Four parts protect against pages of foreign sites:

- This module refuses changes. ``admit`` checks requests to all routes: chats, Inspector, replay server and
  ``/metrics``. ``admit_headers`` checks requests of other frameworks.
- ``_cross_origin`` decides about reads: it responds to preflights, and adds the CORS headers to other responses.
- ``_request_body`` accepts only JSON, which a foreign page cannot send without a preflight.
- ``server/_allowed_hosts`` refuses requests with an unknown host name. A foreign page sends these in an attack by DNS
  rebinding.
"""

from collections.abc import Collection, Iterable
from typing import Final, Literal, TypeAlias

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.wire import ChatRequestError, StreamProtocolError, shown

CROSS_ORIGIN_SCOPE: Final = "adk_ui_stream_origins"
"""The key in a request's ASGI scope for the origins that ``CrossOrigin`` allows. With this key, the request's CORS is
already handled."""

PageSite: TypeAlias = Literal["same-origin", "same-site", "cross-site"]

Permission: TypeAlias = Literal["with cookies", "without cookies"]
"""The requests that pages of an origin may send: with the user's cookies, or only without cookies."""

READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The HTTP methods that change nothing."""

_SAME_ORIGIN: Final = frozenset({"same-origin", "none"})
"""The values of ``Sec-Fetch-Site`` for a page of this server, and for a typed address."""


def page_site(headers: Headers) -> PageSite:
    """Compare the page that sent a request with this server: ``same-origin``, ``same-site`` or ``cross-site``.

    Browsers send the result in the header ``Sec-Fetch-Site``, which no page can change. The header is missing in older
    browsers, behind some proxies, and for plain HTTP to an address that is not loopback. In these cases, the host of
    ``Origin`` is compared with ``Host``, as in Go's ``http.CrossOriginProtection``. A request without
    ``Sec-Fetch-Site`` and ``Origin`` does not come from a browser, and counts as ``same-origin``.
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


def permission_of(
    origin: str, allowed: Collection[str], cors: CORSMiddleware | None = None, method: str = ""
) -> Permission | None:
    """Return the kind of requests that pages of ``origin`` may send: with or without cookies. Returns ``None`` if these
    pages must not send requests.

    If ``allowed`` contains ``origin``, its pages may send cookies. If ``allowed`` contains only ``*``, the pages must
    not send cookies. ``cors``: the app's ``CORSMiddleware``. It may also allow requests of ``origin``. ``method``: the
    HTTP method of these requests.
    """
    by_cors = cors is not None and cors.is_allowed_origin(origin) and method in cors.allow_methods
    if origin in allowed:
        return "with cookies"
    if cors is not None and by_cors and cors.allow_credentials:
        return "with cookies" if origin in cors.allow_origins or not cors.allow_all_origins else "without cookies"
    return "without cookies" if by_cors or ANY_ORIGIN in allowed else None


def admit(request: Request, trusted: frozenset[str] = frozenset(), *, also_reads: bool = False) -> bool:
    """Raise ``ChatRequestError`` (403) if a page of an untrusted site has sent a request that changes data.

    Returns True if a page of an untrusted site has sent a request that only reads data. Returns False for all other
    requests. With ``also_reads``, all requests by pages of untrusted sites are refused.

    A site is trusted if ``trusted`` contains its origin. It is also trusted if the app's ``CORSMiddleware``, or a
    ``CrossOrigin`` around the route, allows its origin.
    """
    trusted |= request.scope.get(CROSS_ORIGIN_SCOPE, frozenset())
    cors = _cors_of(request.scope.get("app"))
    return _admit(request.method, request.headers, trusted, cors, also_reads=also_reads)


def admit_headers(method: str, headers: Iterable[tuple[str, str]], trusted: frozenset[str]) -> None:
    """Check a request of another framework, as ``admit`` does. Raises ``ChatRequestError`` (403)."""
    raw = [(_header_bytes(name.lower()), _header_bytes(value)) for name, value in headers]
    _ = _admit(method, Headers(raw=raw), trusted, None, also_reads=False)


def _header_bytes(text: str) -> bytes:
    """Return a header's text as bytes. A character that is not allowed in headers becomes ``?``, so that the text
    equals no allowed origin.
    """
    return text.encode("latin-1", errors="replace")


def _admit(
    method: str, headers: Headers, trusted: frozenset[str], cors: CORSMiddleware | None, *, also_reads: bool
) -> bool:
    origin = headers.get("origin")
    permission = None if origin is None else permission_of(origin, trusted, cors, method)
    is_trusted = permission == "with cookies" or (permission is not None and "cookie" not in headers)
    is_foreign = page_site(headers) == "cross-site" and not is_trusted
    if is_foreign and (also_reads or method not in READING_METHODS):
        raise ChatRequestError(
            "A page of another site may not do this unless the server names its origin: allow_origins, or "
            "--cors-origin.",
            status=403,
        )
    return is_foreign


def check_cors_of_app(app: object, allow_origins: Collection[str]) -> None:
    """Raise ``StreamProtocolError`` if the app's ``CORSMiddleware`` refuses one of ``allow_origins``.

    Otherwise, the middleware would refuse the preflights of this origin, and they would not reach the chat routes.
    """
    cors = _cors_of(app)
    refused = [] if cors is None else [origin for origin in allow_origins if not cors.is_allowed_origin(origin)]
    if refused:
        raise StreamProtocolError(
            f"`allow_origins` has {shown(refused[0])}, which the app's CORSMiddleware refuses: name it in the "
            "middleware, and leave `allow_origins` out."
        )


def _cors_of(app: object) -> CORSMiddleware | None:
    if isinstance(app, Starlette):
        for kind, args, options in app.user_middleware:
            if isinstance(kind, type) and issubclass(kind, CORSMiddleware):
                return kind(app, *args, **options)
    return None
