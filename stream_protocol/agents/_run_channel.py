"""The channel of the current run: by it, code inside a run adds to the response while ADK yields nothing.

A context variable holds the channel. So it is there in the run's own task, in the tasks and threads in which ADK runs
tools, and in the runs inside an ``AgentTool``. A tool may start threads of its own, or get a call from elsewhere: so
the channel is also known by the context of the tool's call. Without a service there is no channel.
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
    """Takes events for the response of one run. Any thread may call its methods."""

    def post(self, event: Event) -> None:
        """Writes the event to the response at once, or drops it if the response has ended.

        The event takes the way of ADK's own events, to the recorder, too. It is not stored.
        """

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Like ``post``, but only the newest event with this key matters. A few events per second are written; the
        last one always is. ``make`` makes the event when it is written."""


class CallScope(NamedTuple):
    """The place of a call in its run."""

    channel: RunChannel
    shown: Context | None
    """The context of the call that the client is shown: that of the outermost ``AgentTool`` around the call; ``None``
    for the call itself."""


_CHANNEL: Final[ContextVar[RunChannel | None]] = ContextVar("adk_ui_stream_channel", default=None)

_OUTERMOST: Final[ContextVar[Context | None]] = ContextVar("adk_ui_stream_outermost_call", default=None)

_SCOPES: Final[WeakKeyDictionary[Context, CallScope]] = WeakKeyDictionary()


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


def set_channel(channel: RunChannel) -> None:
    """Makes this the channel of the code that follows in the same task, and of all that it calls: a channel with cards
    of its own, in which no call has begun yet."""
    _CHANNEL.set(channel)
    _OUTERMOST.set(None)


def enter_call(context: Context) -> None:
    """Notes that the call with this context begins, in the task of the call."""
    channel = _CHANNEL.get()
    if channel is not None:
        _SCOPES[context] = CallScope(channel, _around(context))
        if _SCOPES[context].shown is None:
            _OUTERMOST.set(context)


def scope_of(context: Context) -> CallScope | None:
    """Return the place of the call, or of the callback, with this context; ``None`` outside a service's runs."""
    channel = _CHANNEL.get()
    return _SCOPES.get(context) or (None if channel is None else CallScope(channel, _around(context)))


def _around(context: Context) -> Context | None:
    """The context of the outermost call around this one. The agent of an ``AgentTool`` has an invocation of its own."""
    outermost = _OUTERMOST.get()
    return None if outermost is None or outermost.invocation_id == context.invocation_id else outermost


def posted_event(context: Context, kind: str, actions: EventActions) -> Event:
    """Return an event to post, in the name of the agent whose tool or callback has this context."""
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        partial=True,
        actions=actions,
        custom_metadata={POSTED_KEY: kind},
    )
