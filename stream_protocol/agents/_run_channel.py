"""The channel of the current run: by it, code inside a run adds to the response while ADK yields nothing.

A context variable holds the channel. So it is there in the run's own task, in the tasks and threads in which ADK runs
tools, and in the runs inside an ``AgentTool``. Without a service there is no channel.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from google.adk.agents.context import Context
from google.adk.events import Event, EventActions

from stream_protocol.adk import POSTED_KEY


class RunChannel(Protocol):
    """Takes events for the response of one run."""

    def post(self, event: Event) -> None:
        """Writes the event to the response at once, or drops it if the response has ended. Any thread may call it.

        The event takes the way of ADK's own events, to the recorder, too. It is not stored.
        """


_CHANNEL: Final[ContextVar[RunChannel | None]] = ContextVar("adk_ui_stream_channel", default=None)


def run_channel() -> RunChannel | None:
    """Return the channel of the run that this code belongs to; ``None`` outside a service's runs."""
    return _CHANNEL.get()


@contextmanager
def open_channel(channel: RunChannel) -> Iterator[None]:
    """Makes this the channel of all code that is called, and of all tasks that begin, in the context."""
    token = _CHANNEL.set(channel)
    try:
        yield
    finally:
        _CHANNEL.reset(token)


def set_channel(channel: RunChannel | None) -> None:
    """Makes this the channel of the code that follows in the same task, and of all that it calls."""
    _CHANNEL.set(channel)


def posted_event(context: Context, kind: str, actions: EventActions) -> Event:
    """Return an event to post, in the name of the agent whose tool or callback has this context."""
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        partial=True,
        actions=actions,
        custom_metadata={POSTED_KEY: kind},
    )
