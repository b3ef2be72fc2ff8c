"""Which pages may have something done: those of this site, and those whose origin the app has named.

A browser lets any page send a ``POST`` without a body to any server, with the user's cookies, and only keeps the answer
from it (``fetch`` with ``no-cors``, a form): enough to stop a run. Its ``Sec-Fetch-Site``, which no page changes, says
where the page is from. Only requests that change something are checked: of what a ``GET`` returns, such a page reads
nothing.
"""

from starlette.requests import Request

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.wire import ChatRequestError


def is_foreign(request: Request, trusted: frozenset[str]) -> bool:
    """Tell whether a page of another site has sent the request, and its origin is not trusted.

    A request that does not say so is not foreign: of an old browser, of another program, or of a proxy itself. ``*``
    trusts every page that sends no cookies.
    """
    if "cross-site" not in ",".join(request.headers.getlist("sec-fetch-site")).lower():  # a proxy may join several
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
