"""Network services of the sample agents on loopback: an MCP server and a web service."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from tests.samples.mcp_tools import mcp_server
from tests.served import served


def shop_spec(at: str) -> dict[str, Any]:
    """Return the web service's OpenAPI description."""
    item = {"name": "item", "in": "path", "required": True, "schema": {"type": "string"}}
    order = {"type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}}}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "shop", "version": "1"},
        "servers": [{"url": f"{at}/shop"}],
        "paths": {
            "/items/{item}": {
                "get": {"operationId": "getItem", "summary": "Reads.", "parameters": [item], "responses": answer}
            },
            "/orders": {
                "post": {
                    "operationId": "placeOrder",
                    "summary": "Orders.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": order}}},
                    "responses": answer,
                }
            },
        },
    }


async def _item(request: Request) -> JSONResponse:
    name = request.path_params["item"]
    if name == "unicorn":
        return JSONResponse({"detail": "There is no unicorn."}, 404)
    return JSONResponse({"item": name, "price": 5})


async def _order(request: Request) -> JSONResponse:
    if request.headers.get("x-key", "secret") != "secret":
        return JSONResponse({"detail": "Who are you?"}, 401)
    return JSONResponse({"ordered": await request.json()})


@contextlib.contextmanager
def services() -> Iterator[str]:
    """Serve the services. Yields their address: ``/mcp`` and ``/shop``."""
    mcp = mcp_server()
    mcp_app = mcp.streamable_http_app()

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    shop = [Route("/items/{item}", _item), Route("/orders", _order, methods=["POST"])]
    with served(Starlette(routes=[Mount("/shop", routes=shop), Mount("/", mcp_app)], lifespan=lifespan)) as url:
        yield url
