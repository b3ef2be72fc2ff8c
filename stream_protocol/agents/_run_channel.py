"""The channel of the current run. With the channel, code inside a run can add events to the response, without ADK.

The channel is in a context variable. Some threads and tasks cannot read this variable, for example a thread that a tool
starts. For these, ``_SCOPES`` maps the ADK context of a tool call to the channel. Outside a ``ChatService`` there is no
channel.
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
        """False after the response has ended."""

    def post(self, event: Event) -> None:
        """Write the event to the response immediately. An event after the end of the response is dropped.

        The event is converted and recorded like ADK's own events, but not stored in the session.
        """

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Write an event to the response, at most a few times per second for each key. If several events with one key
        come in a short time, only the last of them is written.

        ``make``: function that creates the event when it is written. The last event with a key is always written.
        """

    async def ready(self) -> None:
        """Wait until the response can take another event. A nested agent calls this, so that it does not run faster
        than the client reads.
        """


class CallScope(NamedTuple):
    """The channel of a tool call. If the tool call runs inside an ``AgentTool`` call, the client may see only this
    outer call. Then this object also has the outer call.
    """

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
    """Context manager: sets the channel for the code inside the ``with`` block, and for all tasks that this code
    starts.
    """
    token = _CHANNEL.set(channel)
    try:
        yield
    finally:
        _CHANNEL.reset(token)


def set_channel(channel: RunChannel) -> None:
    """Set the channel for the rest of the current task. The task then no longer belongs to an ``AgentTool`` call."""
    _CHANNEL.set(channel)
    _OUTERMOST.set(None)


def enter_call(context: Context) -> None:
    """Store the current channel for the tool call of ``context``. Call this function at the beginning of the tool call,
    in its task.
    """
    channel = _CHANNEL.get()
    if channel is not None:
        _SCOPES[context] = CallScope(channel, _around(context))
        if _SCOPES[context].shown is None:
            _OUTERMOST.set(context)


def scope_of(context: Context) -> CallScope | None:
    """Return the ``CallScope`` for the context of a tool or callback; ``None`` outside the runs of a
    ``ChatService``.
    """
    channel = _CHANNEL.get()
    return _SCOPES.get(context) or (None if channel is None else CallScope(channel, _around(context)))


def _around(context: Context) -> Context | None:
    """If this tool call runs inside ``AgentTool`` calls, return the context of the outermost of them; otherwise
    ``None``.
    """
    outermost = _OUTERMOST.get()
    # A call by the agent of an `AgentTool` has another invocation id than the `AgentTool` call.
    return None if outermost is None or outermost.invocation_id == context.invocation_id else outermost


def posted_event(context: Context, kind: str, actions: EventActions) -> Event:
    """Return an event for ``RunChannel.post``. Its author is the agent that called the tool or callback of
    ``context``.
    """
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        branch=context._invocation_context.branch,  # noqa: SLF001 - the public method copies the context
        partial=True,
        actions=actions,
        custom_metadata={POSTED_KEY: kind},
    )
