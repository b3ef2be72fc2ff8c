"""Serves many apps at one address, for one process of real clients. Also formats a message on one line."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from stream_protocol.serving.http._request_body import MAX_BODY_BYTES
from stream_protocol.serving.http._routes import chat_routes
from tests.serving.instrumented import InstrumentedService


@dataclass(frozen=True, slots=True)
class ChatApp:
    """App with its own service.

    ``ran``: records of its tools. ``go_on``: lets a waiting model continue. ``max_body_bytes``: larger requests are
    refused.
    """

    service: InstrumentedService
    ran: Sequence[str] = field(default_factory=list)
    go_on: Callable[[], None] = lambda: None
    max_body_bytes: int = MAX_BODY_BYTES

    def mount(self, path: str) -> Mount:
        async def at_rest(_request: Request) -> JSONResponse:
            """Wait until all runs have ended, and return them. A server learns late that a client has disconnected."""
            await self.service.runs.free()
            return JSONResponse(self.ran)

        async def go_on(_request: Request) -> Response:
            self.go_on()
            return Response(status_code=204)

        routes_of_tests = [Route("/at-rest", at_rest), Route("/go-on", go_on, methods=["POST"])]
        return Mount(path, routes=[*routes_of_tests, *chat_routes(self.service, max_body_bytes=self.max_body_bytes)])


def combined_app(apps: Iterable[ChatApp]) -> Starlette:
    """Return one app with all chat apps: the first is at ``/0``."""
    apps = list(apps)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        for app in apps:
            await app.service.aclose()

    return Starlette(routes=[app.mount(f"/{number}") for number, app in enumerate(apps)], lifespan=lifespan)


def shown(message: Mapping[str, Any]) -> str:
    """Return the message's texts, its calls with their states, and its other parts, in order."""
    return ", ".join(_shown_part(part) for part in message["parts"] if part["type"] != "step-start")


def _shown_part(part: Mapping[str, Any]) -> str:
    match part:
        case {"type": "text", "text": text}:
            return str(text)
        case {"type": "reasoning", "text": text}:
            return f"({text})"
        case {"type": "file", "mediaType": media_type}:
            return str(media_type)
        case {"type": "data-adk-confirmation", "data": {"hint": hint}}:
            return str(hint)
        case {"type": kind, "state": state}:
            name = part["toolName"] if kind == "dynamic-tool" else kind.removeprefix("tool-")
            reason = part.get("approval", {}).get("reason")
            return f"{name} {state}" + (f" ({reason})" if reason else "")
        case _:
            return str(part["type"].removeprefix("data-"))
