"""What an app adds to one request: state, secrets, another run config, another agent.

Nothing of a request's body reaches the session's state by itself, whatever keys it has: only what an app's ``prepare``
hook returns, which has seen the body as ``ChatRequest.body`` and decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from google.adk.agents.run_config import RunConfig
from google.adk.runners import Runner
from google.adk.sessions.state import State
from google.adk.workflow import BaseNode
from starlette.requests import Request

from stream_protocol.wire import ChatRequest


@dataclass(frozen=True, kw_only=True)
class RunOverrides:
    """How this one request is run; what is not given is as the ``ChatService`` has it."""

    state_delta: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the session's state, stored with the user's message. ``app:`` and ``user:`` keys reach every chat of
    the app or the user: take none from a client."""
    secrets: Mapping[str, Any] = field(default_factory=dict)
    """For this run alone: tools find them in the state under ``temp:`` and the name. Never stored, never sent."""
    run_config: RunConfig | None = None
    agent: BaseNode | None = None
    """Answers in place of the target's root agent, with its services and plugins: a tenant's, or a chosen model's."""

    artifact_base: str | None = None
    """The chat endpoint's URL as the page knows it, for links to artifacts; ``None`` sends files as bytes. The routes
    fill it in from the request: see ``FilePolicy``."""

    def state(self) -> dict[str, Any]:
        """The state delta that ADK is given."""
        return {**self.state_delta, **{State.TEMP_PREFIX + name: value for name, value in self.secrets.items()}}


Prepare: TypeAlias = Callable[[Request, ChatRequest], RunOverrides | Awaitable[RunOverrides]]
"""The HTTP request and what it asks for -> how to run it. Raise ``ChatRequestError`` to refuse it."""

NO_OVERRIDES = RunOverrides()


async def prepared(prepare: Prepare | None, request: Request, chat_request: ChatRequest) -> RunOverrides:
    """What the hook says, from a plain function or a coroutine."""
    if prepare is None:
        return NO_OVERRIDES
    found = prepare(request, chat_request)
    return await found if inspect.isawaitable(found) else found


def runner_for(agent: BaseNode | None, runner: Runner) -> Runner:
    """A runner of this agent that is otherwise like ``runner``; the same one for its own agent."""
    if agent is None or agent is runner.agent:
        return runner
    return Runner(
        app=runner.app.model_copy(update={"root_agent": agent}),
        app_name=runner.app_name,
        session_service=runner.session_service,
        artifact_service=runner.artifact_service,
        memory_service=runner.memory_service,
        credential_service=runner.credential_service,
    )
