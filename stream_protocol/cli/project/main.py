"""The app for your own server: `uvicorn main:app`. The app determines the user, and where chats are stored."""

from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from starlette.applications import Starlette

from my_package.agent import SUGGESTIONS, root_agent
from stream_protocol.serving import ChatService, create_app


def make_app(agent: LlmAgent, sessions: BaseSessionService | None = None) -> Starlette:
    """Return the app. Without `sessions`, chats are stored in memory.

    All visitors are one user until you pass a function `identify` to `create_app`. It reads the user from a cookie or a
    token. `ai_sdk` is the major version of the package `ai` in the page.
    """
    return create_app(ChatService(agent, session_service=sessions, ai_sdk=7), suggestions=SUGGESTIONS)


app = make_app(root_agent, SqliteSessionService("chats.db"))
