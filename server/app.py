"""The demo: one agent behind the chat endpoint, with the page in front of it."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from server.agents import SUGGESTIONS, demo_agent
from server.settings import Settings
from stream_protocol import ConverterOptions
from stream_protocol.serving import ChatService, create_app as create_chat_app, explain_error, plain_text_errors


def chat_service(settings: Settings) -> ChatService:
    """The demo agent's chats."""
    options: ConverterOptions = {"ai_sdk": settings.ai_sdk}
    if settings.show_errors:
        options["on_error"] = explain_error
    return ChatService(demo_agent(), disconnect_grace=settings.disconnect_grace, **options)


def create_app(settings: Settings, service: ChatService | None = None) -> Starlette:
    """The demo's ASGI app; ``uvicorn --factory server.app:from_env`` serves it with settings from the environment."""
    app = create_chat_app(service or chat_service(settings), allow_origins=settings.allow_origins)
    # Before the page's own, which is empty.
    app.routes.insert(0, Route("/suggestions.json", plain_text_errors(_suggestions)))
    return app


async def _suggestions(_: Request) -> Response:
    return JSONResponse(SUGGESTIONS)


def from_env() -> Starlette:
    """``create_app`` for servers that want a factory without arguments."""
    return create_app(Settings.from_env())
