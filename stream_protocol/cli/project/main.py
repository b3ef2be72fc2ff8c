"""The server of your own: `uvicorn main:app`. Who chats, and where chats are kept, is said here."""

from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from starlette.applications import Starlette

from my_package.agent import root_agent
from stream_protocol.serving import ChatService, create_app


def make_app(agent: LlmAgent, sessions: BaseSessionService | None = None) -> Starlette:
    """The app. Without `sessions` the chats are in memory.

    Everybody is one and the same user until `create_app(…, identify=…)` reads who it is from a cookie or a token.
    """
    return create_app(ChatService(agent, session_service=sessions))


app = make_app(root_agent, SqliteSessionService("chats.db"))
