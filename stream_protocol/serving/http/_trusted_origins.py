"""Which pages may have something done: those of this site, and those whose origin the app has named.

A browser lets any page send a ``POST`` without a body to any server, with the user's cookies, and only keeps the answer
from it (``fetch`` with ``no-cors``, a form): enough to stop a run. Its ``Sec-Fetch-Site``, which no page changes, says
where the page is from. Only requests that change something are checked: of what a ``GET`` returns, such a page reads
nothing.
"""

from starlette.requests import Request

from stream_protocol._origins import ANY_ORIGIN
from stream_protocol.wire import ChatRequestError


def require_trusted_origin(request: Request, trusted: frozenset[str]) -> None:
    """Raises ``ChatRequestError`` (403) if a page of another site has sent the request, and its origin is not trusted.

    What does not say that it is of another site passes: old browsers, other programs, what a proxy sends itself.
    ``*`` trusts every page that sends no cookies.
    """
    if "cross-site" not in ",".join(request.headers.getlist("sec-fetch-site")).lower():  # a proxy may join several
        return
    if request.headers.get("origin") in trusted or (ANY_ORIGIN in trusted and "cookie" not in request.headers):
        return
    raise ChatRequestError(
        "A page of another site may not do this unless the server names its origin: allow_origins, or --cors-origin.",
        status=403,
    )
