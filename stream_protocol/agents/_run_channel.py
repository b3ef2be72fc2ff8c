"""The channel of the current run.

While ADK yields nothing, code inside a run can use the channel to add events to the response.

A context variable holds the channel. The channel is therefore available in the run's task, in the tasks and threads in
which ADK runs tools, and in runs inside an ``AgentTool``. A tool may start its own threads, or be called from a task
without this variable. So the channel is also stored under the tool's call context. Outside a service there is no
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
    """Receives events for the response of one run. Its methods are thread-safe."""

    @property
    def is_open(self) -> bool:
        """False once the response has ended."""

    def post(self, event: Event) -> None:
        """Write the event to the response at once, or drop it if the response has ended.

        The event is converted and recorded like ADK's own events. It is not stored in the session.
        """

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Like ``post``, but writes only the newest event of each key, a few times per second.

        If an event of the same key still waits to be written, it is dropped. The last event is always written.
        ``make``: a function that creates the event when it is written.
        """

    async def ready(self) -> None:
        """Wait until the response can take another event.

        Events of nested agents are posted after this wait. So a nested agent is not faster than a slow reader.
        """


class CallScope(NamedTuple):
    """The channel of a call, and the outer ``AgentTool`` call that the client sees in place of this call."""

    channel: RunChannel
    shown: Context | None
    """The context of the outermost ``AgentTool`` call around this call. The client is shown that call instead. ``None``
    if this call is not inside an ``AgentTool``."""


_CHANNEL: Final[ContextVar[RunChannel | None]] = ContextVar("adk_ui_stream_channel", default=None)

_OUTERMOST: Final[ContextVar[Context | None]] = ContextVar("adk_ui_stream_outermost_call", default=None)

_SCOPES: Final[WeakKeyDictionary[Context, CallScope]] = WeakKeyDictionary()


def run_channel() -> RunChannel | None:
    """Return the channel of the current run; ``None`` outside a service's runs."""
    return _CHANNEL.get()


@contextmanager
def open_channel(channel: RunChannel) -> Iterator[None]:
    """Set the channel for the code in this context. The channel also applies to all tasks that this code starts."""
    token = _CHANNEL.set(channel)
    try:
        yield
    finally:
        _CHANNEL.reset(token)


def set_channel(channel: RunChannel) -> None:
    """Set the channel for the rest of this task. The new channel has no outermost ``AgentTool`` call yet."""
    _CHANNEL.set(channel)
    _OUTERMOST.set(None)


def enter_call(context: Context) -> None:
    """Store the channel of the call that has this context. Must be called in the task of the call, when it begins."""
    channel = _CHANNEL.get()
    if channel is not None:
        _SCOPES[context] = CallScope(channel, _around(context))
        if _SCOPES[context].shown is None:
            _OUTERMOST.set(context)


def scope_of(context: Context) -> CallScope | None:
    """Return the scope of the call or callback with this context; ``None`` outside a service's runs."""
    channel = _CHANNEL.get()
    return _SCOPES.get(context) or (None if channel is None else CallScope(channel, _around(context)))


def _around(context: Context) -> Context | None:
    """Return the context of the outermost ``AgentTool`` call around this call.

    The agent of an ``AgentTool`` has a separate invocation, so a call inside it has a different invocation id.
    """
    outermost = _OUTERMOST.get()
    return None if outermost is None or outermost.invocation_id == context.invocation_id else outermost


def posted_event(context: Context, kind: str, actions: EventActions) -> Event:
    """Return an event to post, with the agent of this tool or callback context as its author."""
    return Event(
        author=context.agent_name,
        invocation_id=context.invocation_id,
        branch=context._invocation_context.branch,  # noqa: SLF001 - the public method copies the context
        partial=True,
        actions=actions,
        custom_metadata={POSTED_KEY: kind},
    )
