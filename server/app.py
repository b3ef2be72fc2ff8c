"""The demo: one agent behind the chat endpoint, with the page in front of it."""

from starlette.applications import Starlette

from server.agents import demo_agent
from server.settings import Settings
from stream_protocol.serving import ChatService, create_app as create_chat_app


def chat_service(settings: Settings) -> ChatService:
    """The demo agent's chats."""
    return ChatService(demo_agent(), ai_sdk=settings.ai_sdk, disconnect_grace=settings.disconnect_grace)


def create_app(settings: Settings, service: ChatService | None = None) -> Starlette:
    """The demo's ASGI app; ``uvicorn --factory server.app:from_env`` serves it with settings from the environment."""
    return create_chat_app(service or chat_service(settings), allow_origins=settings.allow_origins)


def from_env() -> Starlette:
    """``create_app`` for servers that want a factory without arguments."""
    return create_app(Settings.from_env())
