"""The message of an agent that runs inside a tool call.

The agent's message is the output of the call, as for sub-agents of the AI SDK. Each agent inside a call has its own
converter and its own reducer, which build the message from the agent's events. While the agent runs, preliminary
outputs contain the message so far. The final output has the whole message and the tool's result.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from stream_protocol.adk import EventFacts, NotAnEventError
from stream_protocol.wire import DELTA_KEYS, AiSdkVersion, AnyChunk, ClientStreamError, encode_sse, json_value
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from stream_protocol.adk import EventOrDict

UNANSWERABLE_TEXT: Final = "This needs an answer from you, and an agent that runs as a tool cannot wait for one."
"""The error of a call that needs an answer from the user, but runs inside an ``AgentTool``. ``AgentTool`` cannot wait
for answers."""

FREE_BYTES: Final = 2**20
"""The initial budget of a call for preliminary outputs, in bytes. ``BYTES_PER_NEW_BYTE`` adds to this budget."""

BYTES_PER_NEW_BYTE: Final = 6
"""The number of bytes that each new byte of the message adds to the budget for preliminary outputs."""

RESERVE: Final = 2**18
"""The number of bytes of the budget that are reserved for parts other than text. If less than this reserve would be
left after sending the message, new text is sent less often."""

OFTEN, SELDOM = 64, 4
"""Divisors that decide when new text is sent. It is sent if its size is at least 1/64 (``OFTEN``) or 1/4 (``SELDOM``)
of the message's size.

``SELDOM`` applies if little of the budget is left: see ``RESERVE``.
"""


class NestedConversion(Protocol):
    """Converter for the events of an agent that runs inside a tool call."""

    @property
    def is_waiting(self) -> bool: ...
    def feed(self, event: "EventOrDict", /) -> None: ...
    def take(self) -> list[AnyChunk]: ...
    def end_nested(self, pending_text: str, /) -> None: ...


class NestedMessage:
    """The message of an agent inside a tool call. The message grows with the agent's events."""

    __slots__ = (
        "_answerable",
        "_conversion",
        "_has_begun_part",
        "_reducer",
        "_sending",
        "_transient",
        "_unread",
        "stored",
    )

    def __init__(
        self, conversion: NestedConversion, call_id: str, ai_sdk: AiSdkVersion, *, answerable: bool = False
    ) -> None:
        """``call_id``: the client's id of the tool call. The agent's message has the same id.

        ``answerable``: True if the agent uses the outer agent's session, so that it can wait for the user's answers.
        """
        self._answerable = answerable
        self._conversion = conversion
        self._reducer = MessageReducer(ai_sdk=ai_sdk, message_id=call_id)
        self._sending = _Sending()
        self._unread: list[EventOrDict] = []
        self._has_begun_part = False
        """True if parts other than text were added after the newest preliminary output."""
        self._transient: list[Any] = []
        """Transient data parts. They are not stored in the message."""
        self.stored: list[Any] | None = None
        """The complete events of an agent that runs in the outer session; ``None`` for an agent with a session of its
        own."""

    def add(self, event: "EventOrDict") -> None:
        """Add the next event of the agent. The event is converted later, when the message is read."""
        self._unread.append(event)

    def add_stored(self, facts: EventFacts) -> None:
        """Store an event of an agent that uses the outer agent's session. Partial events are not stored."""
        self.stored = self.stored or []
        if not facts.is_fragment:
            self.stored.append(facts.event)

    def next_preliminary(self) -> Any:
        """Return the agent's message if the client should get the message again now; otherwise ``None``."""
        self._read()
        if not self._answerable and self._conversion.is_waiting:
            return None  # the user could not answer the agent's question
        return self._sent() if self._sending.is_due(is_text=not self._has_begun_part) else None

    def so_far(self) -> Any:
        """Return the agent's message with all content so far. The caller must send the message to the client."""
        self._read()
        return self._sent()

    def take_transient(self) -> list[Any]:
        """Return the transient data parts, and remove them from this object. The client gets these parts outside the
        agent's message."""
        taken, self._transient = self._transient, []
        return taken

    def _sent(self) -> Any:
        self._sending.note_sent()
        self._has_begun_part = False
        return json_value(self._reducer.message)

    def ended(self, added: Mapping[str, Any] | None = None, *, omitted: int = 0) -> Any:
        """End the agent's message and return it. ``added``: metadata to add to the message. ``omitted``: the number of
        the agent's events that were not stored."""
        self._read()
        self._conversion.end_nested(UNANSWERABLE_TEXT)
        self._apply(self._conversion.take())
        message = json_value(self._reducer.message)
        own = {**({"omittedEvents": omitted} if omitted else {}), **(added or {})}
        metadata = {**message.get("metadata", {}), **own}
        return {**message, "metadata": metadata} if metadata else message

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for event in unread:
            with suppress(NotAnEventError):  # other software may have stored items that are not events
                self._conversion.feed(event)
                self._apply(self._conversion.take())

    def _apply(self, chunks: Iterable[AnyChunk]) -> None:
        for chunk in chunks:
            if chunk.get("transient"):
                self._transient.append(chunk)
                continue
            self._sending.count(chunk)
            self._has_begun_part = self._has_begun_part or chunk["type"] not in DELTA_KEYS
            with suppress(ClientStreamError):  # an `error` chunk is not needed: the tool's result has the error
                self._reducer.apply_checked(chunk)


class _Sending:
    """Decides when a growing message is sent to the client again. The number of bytes in all sent messages is
    proportional to the size of the last message.

    The decision does not depend on time, so equal events give equal streams.
    """

    __slots__ = ("_credit", "_outputs", "_size", "_unsent")

    def __init__(self) -> None:
        self._credit = FREE_BYTES
        self._size = 0
        self._unsent = 0
        self._outputs: dict[str, int] = {}
        """Id of a nested call -> size of its newest output. A new output replaces the previous output."""

    def count(self, chunk: AnyChunk) -> None:
        """Count the bytes of a chunk that is added to the message."""
        added = _size(chunk)
        match chunk:
            case {"type": "tool-output-available", "toolCallId": str(call_id)}:
                replaced = self._outputs.get(call_id, 0)
                self._outputs[call_id] = added
                self._size -= replaced
                new = max(added - replaced, 1)
            case _:
                new = added
        self._size += added
        self._unsent += new
        self._credit += new * BYTES_PER_NEW_BYTE

    def is_due(self, *, is_text: bool) -> bool:
        """Return True if the message should be sent now. ``is_text``: True if only text was added since the message was
        last sent."""
        if not self._unsent or self._credit < self._size:
            return False
        part = OFTEN if self._credit >= self._size + RESERVE else SELDOM
        return not is_text or self._unsent * part >= self._size

    def note_sent(self) -> None:
        """Record that the message was sent."""
        self._credit -= self._size
        self._unsent = 0


def _size(chunk: AnyChunk) -> int:
    """Return the approximate number of bytes that the chunk adds to its message."""
    keys = DELTA_KEYS.get(chunk["type"])
    return len(encode_sse(chunk)) if keys is None else len(str(chunk.get(keys[1], "")))
