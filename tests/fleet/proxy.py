"""Load balancer without sticky sessions."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

PIN = "x-worker"
"""Header with the number of the worker for a request."""

HOP = {"connection", "keep-alive", "transfer-encoding", "date", "server"}
"""Headers of one connection, which are not forwarded."""


class Proxy:
    """Forwards each request to the next worker.

    It skips a worker that does not listen, disconnects before its response begins, or refuses with 503. nginx does the
    same with ``proxy_next_upstream error http_503 non_idempotent``.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._turns = count()
        methods = ["GET", "POST", "PATCH", "DELETE"]
        self.app = Starlette(routes=[Route("/{path:path}", self._serve, methods=methods)], lifespan=self.lifespan)

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Opens the connections to the workers. For an app with the proxy in one of its routes."""
        unbounded = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=None, limits=unbounded, trust_env=False) as self._client:
            yield

    async def _serve(self, request: Request) -> Response:
        headers = [(name, value) for name, value in request.headers.raw if name.decode() not in {*HOP, PIN}]
        body = await request.body()
        refused = Response(status_code=502)
        for port in self._choice(request.headers.get(PIN)):
            async with AsyncExitStack() as stack:
                url = str(request.url.replace(scheme="http", netloc=f"127.0.0.1:{port}"))
                sent = self._client.stream(request.method, url, headers=headers, content=body)
                try:
                    answer = await stack.enter_async_context(sent)
                except httpx.RequestError:
                    continue  # a worker that ends closes connections whose request it has not read
                kept = {name: value for name, value in answer.headers.items() if name not in HOP}
                if answer.status_code == 503:
                    refused = Response(await answer.aread(), 503, kept)
                    continue
                return StreamingResponse(_body(answer, stack.pop_all()), answer.status_code, kept)
        return refused

    def _choice(self, pin: str | None) -> Sequence[int]:
        """Return the ports to try, in order."""
        if pin is not None:
            return [self._ports[int(pin)]]
        first = next(self._turns) % len(self._ports)
        return [*self._ports[first:], *self._ports[:first]]


async def _body(answer: httpx.Response, stack: AsyncExitStack) -> AsyncIterator[bytes]:
    """Yield the body. If it breaks off, the client's response breaks off, too."""
    async with stack:
        async for piece in answer.aiter_raw():
            yield piece
