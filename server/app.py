"""The ASGI app of the demo: the chat endpoint of the demo agent, and the page."""

from starlette.applications import Starlette

from server.settings import Settings
from stream_protocol import ConverterOptions
from stream_protocol.demo import SUGGESTIONS, demo_agent
from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.serving import (
    ChatService,
    Recorder,
    ServiceLimits,
    create_app as create_chat_app,
    explain_error,
)


def chat_service(settings: Settings, recorder: Recorder | None = None) -> ChatService:
    """Return the chat service of the demo agent."""
    options: ConverterOptions = {"ai_sdk": settings.ai_sdk}
    if settings.show_errors:
        options["on_error"] = explain_error
    return ChatService(
        demo_agent(), limits=ServiceLimits(disconnect_grace=settings.disconnect_grace), recorder=recorder, **options
    )


def create_demo(settings: Settings) -> tuple[Starlette, ChatService]:
    """Return the demo's ASGI app and its chat service."""
    inspector = Inspector() if settings.inspect else None
    service = chat_service(settings, inspector)
    app = create_chat_app(service, allow_origins=settings.allow_origins, suggestions=SUGGESTIONS)
    if inspector is not None:  # before the page's own files
        app.routes[:0] = inspector_routes(inspector, service)
    return app, service


def create_app(settings: Settings) -> Starlette:
    """Return the demo's ASGI app."""
    return create_demo(settings)[0]


def from_env() -> Starlette:
    """Return the app with settings from environment variables, for ``uvicorn --factory server.app:from_env``."""
    return create_app(Settings.from_env())
