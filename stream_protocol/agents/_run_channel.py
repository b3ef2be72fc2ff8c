"""The channel of the current run: code inside a run uses it to add events to the response while ADK yields no event.

A context variable holds the channel for the run's task, for tasks and threads in which ADK executes tools, and for
agents inside an ``AgentTool``. Threads that a tool starts, and some tasks that call a tool, cannot read this variable.
For them, ``_SCOPES`` holds the channel by the context of the tool call. Outside a ``ChatService`` there is no channel.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from google.adk.agents.context import Context
from google.adk.events import Event, EventActions

from stream_protocol.adk import POSTED_KEY


class RunChannel(Protocol):
    """Receives events for the response of one run. All methods are thread-safe."""

    @property
    def is_open(self) -> bool:
        """False once the response has ended."""

    def post(self, event: Event) -> None:
        """Write the event to the response immediately; drop it if the response has ended.

        The event is converted and recorded like ADK's own events, but not stored in the session.
        """

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Write an event like ``post``, but only the newest event of each key, a few times per second.

        The last event of a key is always written. ``make``: creates the event when it is written.
        """

    async def ready(self) -> None:
        """Wait until the response can take another event, so that a nested agent is not faster than the client."""


class CallScope(NamedTuple):
    """The channel of a tool call, and the outer call that the client sees instead, if there is one."""

    channel: RunChannel
    shown: Context | None
    """The context of the outermost ``AgentTool`` call around this tool call, which the client sees instead; or
    ``None``."""


_CHANNEL: Final[ContextVar[RunChannel | None]] = ContextVar("adk_ui_stream_channel", default=None)

_OUTERMOST: Final[ContextVar[Context | None]] = ContextVar("adk_ui_stream_outermost_call", default=None)

_SCOPES: Final[WeakKeyDictionary[Context, CallScope]] = WeakKeyDictionary()


def run_channel() -> RunChannel | None:
    """Return the current run's channel; ``None`` outside the runs of a ``ChatService``."""
    return _CHANNEL.get()


@contextmanager
def open_channel(channel: RunChannel) -> Iterator[None]:
    """Context manager: set the channel for the code inside, and for all tasks that this code starts."""
    token = _CHANNEL.set(channel)
    try:
        yield
    finally:
        _CHANNEL.reset(token)


def set_channel(channel: RunChannel) -> None:
    """Set the channel for the rest of the current task, which then counts as outside every ``AgentTool`` call."""
    _CHANNEL.set(channel)
    _OUTERMOST.set(None)


def enter_call(context: Context) -> None:
    """Store the channel for the tool call of this context. Call this function in the task of the tool call, when it
    begins."""
    channel = _CHANNEL.get()
    if channel is not None:
        _SCOPES[context] = CallScope(channel, _around(context))
        if _SCOPES[context].shown is None:
            _OUTERMOST.set(context)


def scope_of(context: Context) -> CallScope | None:
    """Return the ``CallScope`` of a tool call or callback; ``None`` outside a ``ChatService``'s runs."""
    channel = _CHANNEL.get()
    return _SCOPES.get(context) or (None if channel is None else CallScope(channel, _around(context)))


def _around(context: Context) -> Context | None:
    """Return the context of the outermost ``AgentTool`` call around this tool call, or ``None``.

    The agent of an ``AgentTool`` has its own invocation. So a call inside it does not have the invocation id of the
    outermost call.
    """
    outermost = _OUTERMOST.get()
    return None if outermost is None or outermost.invocation_id == context.invocation_id else outermost


def posted_event(context: Context, kind: str, actions: EventActions) -> Event:
    """Return an event for ``RunChannel.post`` by the agent of this tool's or callback's context."""
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        branch=context._invocation_context.branch,  # noqa: SLF001 - the public method copies the context
        partial=True,
        actions=actions,
        custom_metadata={POSTED_KEY: kind},
    )
