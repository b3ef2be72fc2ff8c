"""What an app sets for one request: state, secrets, a run config, another agent.

Nothing of a request's body reaches the session's state by itself, whatever its keys: only what the app's ``prepare``
hook returns. The hook sees the body as ``ChatRequest.body``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.sessions.state import State
from google.adk.workflow import BaseNode


@dataclass(frozen=True, kw_only=True)
class RunOverrides:
    """How one request is run. What is not given is as the ``ChatService`` has it."""

    state_delta: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the session's state, stored with the user's message. ``app:`` and ``user:`` keys change the state of
    all chats of the app or the user: never take such a key from a client."""
    secrets: Mapping[str, Any] = field(default_factory=dict)
    """For this run only: tools find them in the state as ``temp:<name>``. Never stored, never sent."""
    run_config: RunConfig | None = None
    agent: BaseNode | None = None
    """Answers instead of the target's root agent, with the target's services and plugins: the agent of a tenant, or one
    with a chosen model."""

    artifact_base: str | None = None
    """The URL of the chat endpoint as the page knows it, for links to artifacts; ``None`` sends files as bytes. The
    routes set it from the request: see ``FilePolicy``."""

    def state(self) -> dict[str, Any]:
        """The state delta for ADK, secrets included."""
        return {**self.state_delta, **{State.TEMP_PREFIX + name: value for name, value in self.secrets.items()}}


NO_OVERRIDES = RunOverrides()
