"""Serves ``GET /metrics``: the metrics of this process, for Prometheus."""

from collections.abc import Callable
from functools import partial
from typing import Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.serving.base import CachedProbe
from stream_protocol.serving.http._plain_text_errors import plain_text_errors
from stream_protocol.serving.http._trusted_origins import admit

METRICS_PATH: Final = "/metrics"

TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"

REMEMBERED_SECONDS: Final = 1.0
"""Seconds for which the metrics are cached, because creating the text takes milliseconds."""


class MetricsPage:
    """ASGI middleware that serves ``/metrics``. ``read``: function that returns the metrics as text. It is called in a
    thread.

    Put this middleware around the whole app, but inside the middleware that checks host names. The app's CORS rules
    then do not apply to ``/metrics``, so pages of other sites cannot read the metrics.
    """

    def __init__(self, app: ASGIApp, read: Callable[[], bytes]) -> None:
        self._app = app
        self._text = CachedProbe(partial(anyio.to_thread.run_sync, read), REMEMBERED_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == METRICS_PATH:
            response = await plain_text_errors(self._respond)(Request(scope))
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(status_code=405, headers={"allow": "GET, HEAD"})
        _ = admit(request, also_reads=True)
        return Response(await self._text.get(), headers={"content-type": TEXT_FORMAT, "cache-control": "no-store"})
