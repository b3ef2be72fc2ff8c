"""The channel of the current run.

Code inside a run uses the channel to add events to the response while ADK itself yields no event.

A context variable holds the channel. These can read the variable: the run's task, the tasks and threads in which ADK
executes tools, and the tasks of agents inside an ``AgentTool``. Threads that a tool starts cannot read the variable,
and neither can some tasks that call a tool. So ``_SCOPES`` also holds the channel, by the context of the tool call.
Outside a ``ChatService`` there is no channel.
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
        """Write the event to the response immediately. If the response has ended, drop the event. The event is
        converted and recorded like ADK's own events. It is not stored in the session."""

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Write an event like ``post``, but only the newest event of each key, a few times per second.

        If an event is not yet written, a newer event with an equal key replaces it. The last event of a key is always
        written. ``make``: a function that creates the event when the event is written.
        """

    async def ready(self) -> None:
        """Wait until the response can take another event. A nested agent calls ``ready`` before each of its events. So
        the agent does not create events faster than the client reads them."""


class CallScope(NamedTuple):
    """The channel of a tool call, and the context of the ``AgentTool`` call around the tool call, if there is one."""

    channel: RunChannel
    shown: Context | None
    """The context of the outermost ``AgentTool`` call around this tool call. The client sees the ``AgentTool`` call
    instead of this tool call. ``None`` if this tool call is not inside an ``AgentTool``."""


_CHANNEL: Final[ContextVar[RunChannel | None]] = ContextVar("adk_ui_stream_channel", default=None)

_OUTERMOST: Final[ContextVar[Context | None]] = ContextVar("adk_ui_stream_outermost_call", default=None)

_SCOPES: Final[WeakKeyDictionary[Context, CallScope]] = WeakKeyDictionary()


def run_channel() -> RunChannel | None:
    """Return the current run's channel, which adds events to the response; ``None`` outside the runs of a
    ``ChatService``."""
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
    """Set the channel for the rest of the current task. From then on, the task does not count as inside an
    ``AgentTool`` call."""
    _CHANNEL.set(channel)
    _OUTERMOST.set(None)


def enter_call(context: Context) -> None:
    """Store the channel for a tool call. ``context``: the context of the tool call. Call this function in the task of
    the tool call, when the call begins."""
    channel = _CHANNEL.get()
    if channel is not None:
        _SCOPES[context] = CallScope(channel, _around(context))
        if _SCOPES[context].shown is None:
            _OUTERMOST.set(context)


def scope_of(context: Context) -> CallScope | None:
    """Return the ``CallScope`` of a tool call or callback, by its ADK context; ``None`` outside a ``ChatService``'s
    runs."""
    channel = _CHANNEL.get()
    return _SCOPES.get(context) or (None if channel is None else CallScope(channel, _around(context)))


def _around(context: Context) -> Context | None:
    """Return the context of the outermost ``AgentTool`` call around this tool call, or ``None``. The agent of an
    ``AgentTool`` has a separate invocation. So a different invocation id shows that this call is inside the
    ``AgentTool``."""
    outermost = _OUTERMOST.get()
    return None if outermost is None or outermost.invocation_id == context.invocation_id else outermost


def posted_event(context: Context, kind: str, actions: EventActions) -> Event:
    """Return an event for ``RunChannel.post``. The author of the event is the agent that ``context`` names.
    ``context``: the context of a tool or callback."""
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        branch=context._invocation_context.branch,  # noqa: SLF001 - the public method copies the context
        partial=True,
        actions=actions,
        custom_metadata={POSTED_KEY: kind},
    )
