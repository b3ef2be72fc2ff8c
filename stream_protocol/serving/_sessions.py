"""Sessions for one request: the history is what the client sends, and nothing of it is kept."""

from copy import copy
from typing import Literal

from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.serving.adk_runner import agent_names
from stream_protocol.session import AnsweredCalls, NewUserTurn, restore
from stream_protocol.wire import ChatRequest


async def restored_session(
    runner: Runner, request: ChatRequest, *, user_id: str, mode: Literal["client", "text"]
) -> tuple[Runner, Session, NewUserTurn | AnsweredCalls]:
    """A runner like ``runner`` whose one session, in memory, holds the request's history; and the request's turn.

    Raises ``ChatRequestError`` for what is refused.
    """
    restored = restore(request, agent=runner.agent.name, agents=agent_names(runner.agent), mode=mode)
    own = copy(runner)
    own.session_service = InMemorySessionService()
    session = await own.session_service.create_session(app_name=own.app_name, user_id=user_id, session_id=request.id)
    for event in restored.events:
        await own.session_service.append_event(session, event)
    return own, session, restored.turn
