"""Which page sent a request, and whether it may change something.

A browser lets any page send a ``POST`` without a body to any server, with the user's cookies, and only keeps the answer
from it (``fetch`` with ``no-cors``, a form): enough to stop a run. Only requests that change something are refused: of
what a ``GET`` returns, such a page reads nothing.
"""

from typing import Final, Literal, TypeAlias

from starlette.requests import Request

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.wire import ChatRequestError

PageSite: TypeAlias = Literal["same-origin", "same-site", "cross-site"]

_OWN: Final = frozenset({"same-origin", "none"})
"""The values of ``Sec-Fetch-Site`` for a page of this server, and for an address that the user has typed."""


def page_site(request: Request) -> PageSite:
    """Return where the page that sent the request is, seen from this server.

    Browsers say it in ``Sec-Fetch-Site``, which no page can change. Without that header (older browsers, plain HTTP
    beyond loopback, some proxies) the host of ``Origin`` is compared with ``Host``, as Go's
    ``http.CrossOriginProtection`` does. A request with neither header counts as one of the same origin: it comes from
    another program.
    """
    lines = request.headers.getlist("sec-fetch-site")  # a proxy may add one, or join several
    if sites := {site.strip().lower() for line in lines for site in line.split(",")} - {""}:
        if sites <= _OWN:
            return "same-origin"
        return "same-site" if sites <= _OWN | {"same-site"} else "cross-site"
    origin = request.headers.get("origin")
    host = (origin or "").partition("://")[2].lower()
    is_own = origin is None or (host != "" and host == request.headers.get("host", "").lower())
    return "same-origin" if is_own else "cross-site"


def is_foreign(request: Request, trusted: frozenset[str]) -> bool:
    """Tell whether a page of another site has sent the request, and its origin is not trusted.

    ``*`` trusts every page that sends no cookies.
    """
    if page_site(request) != "cross-site":
        return False
    is_trusted = request.headers.get("origin") in trusted or (ANY_ORIGIN in trusted and "cookie" not in request.headers)
    return not is_trusted


def require_trusted_origin(request: Request, trusted: frozenset[str]) -> None:
    """Raises ``ChatRequestError`` (403) for a foreign request: see ``is_foreign``."""
    if is_foreign(request, trusted):
        raise ChatRequestError(
            "A page of another site may not do this unless the server names its origin: allow_origins, or "
            "--cors-origin.",
            status=403,
        )
