"""Provides ``RunOverrides``: settings that an app chooses for one request, such as state, secrets or another agent.

The body of a request can change only the state keys that the service's option ``shared_state`` names. To use other
values of the body, copy them from ``ChatRequest.body`` into ``RunOverrides`` in the app's hook ``prepare``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.sessions.state import State
from google.adk.workflow import BaseNode

from stream_protocol.session import storable_state
from stream_protocol.wire import check_flag, check_instance, check_mapping, check_text


@dataclass(frozen=True, kw_only=True)
class RunOverrides:
    """Settings of one run. If a setting is not given, the option of the ``ChatService`` applies.

    Raises ``StreamProtocolError`` for a value of the wrong type, and for state that has no JSON form.
    """

    state_delta: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the session state. Never take ``app:`` or ``user:`` keys from a client: they change other chats.

    The changes are stored with the user's message. ``app:`` keys change the state of all chats of the app, ``user:``
    keys the state of all chats of the user.
    """
    secrets: Mapping[str, Any] = field(default_factory=dict)
    """Values for this run only, which tools read as ``temp:<name>``. The server never stores or sends these values."""
    run_config: RunConfig | None = None
    """Replaces the service's ``run_config``."""
    agent: BaseNode | None = None
    """Replaces the root agent. The services and plugins stay."""

    artifact_base: str | None = None
    """URL at which the browser reaches the chat endpoint. Links to artifacts begin with this URL. The routes set this
    option.

    ``None`` sends files as bytes.
    """
    names_missing_key: bool = False
    """Write the name of a missing API key into the error text. The routes set this option.

    The value is True if the request comes from this machine and the app has no ``identify``. The option has no effect
    if the service has ``on_error``.
    """

    def __post_init__(self) -> None:
        check_mapping("state_delta", self.state_delta)
        check_mapping("secrets", self.secrets)
        check_instance("run_config", self.run_config, RunConfig, "a RunConfig of ADK", or_none=True)
        check_instance("agent", self.agent, BaseNode, "an agent", or_none=True)
        check_text("artifact_base", self.artifact_base, or_none=True)
        check_flag("names_missing_key", self.names_missing_key)
        storable_state(self.state_delta)

    def state(self) -> dict[str, Any]:
        """Returns the changes of the session state for ADK: ``state_delta``, and the secrets as ``temp:`` keys."""
        return {
            **storable_state(self.state_delta),
            **{State.TEMP_PREFIX + name: value for name, value in self.secrets.items()},
        }


NO_OVERRIDES = RunOverrides()
