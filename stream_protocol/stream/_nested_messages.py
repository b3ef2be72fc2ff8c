"""The message of an agent that runs inside a tool call.

This message is the output of the call, as it is for sub-agents in the AI SDK. Preliminary outputs contain the message
so far. The final output contains the whole message and the tool's result.
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
"""The error of a call that needs an answer from the user inside an ``AgentTool``, which cannot wait for answers."""

UNANSWERED_TEXT: Final = "The user went on without an answer."
"""The error of a call that the user left unanswered."""

FREE_BYTES: Final = 2**20
"""The initial budget of a call for preliminary outputs, in bytes."""

BYTES_PER_NEW_BYTE: Final = 6
"""The number of bytes that each new byte of the message adds to this budget."""

RESERVE: Final = 2**18
"""The number of bytes of the budget that are reserved for parts other than text. If sending the message would leave
less than this reserve, new text is sent less often."""

OFTEN, SELDOM = 64, 4
"""New text is sent if its size is at least 1/64 (``OFTEN``) of the message's size. If little of the budget is left (see
``RESERVE``), new text is sent from 1/4 (``SELDOM``) on.
"""


class NestedConversion(Protocol):
    """Interface of the converter for the events of an agent that runs inside a tool call."""

    @property
    def is_waiting(self) -> bool: ...
    def feed(self, event: "EventOrDict", /) -> None: ...
    def take(self) -> list[AnyChunk]: ...
    def end_nested(self, pending_text: str | None, /) -> None: ...


class NestedMessage:
    """The message of an agent inside a tool call."""

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
        """``call_id``: the ``toolCallId`` of the tool call, and also the id of the agent's message. ``answerable``:
        True if the agent uses the session of the chat. Only such an agent can wait for answers of the user.
        """
        self._answerable = answerable
        self._conversion = conversion
        self._reducer = MessageReducer(ai_sdk=ai_sdk, message_id=call_id)
        self._sending = _Sending()
        self._unread: list[EventOrDict] = []
        self._has_begun_part = False
        """True if parts other than text followed the newest preliminary output."""
        self._transient: list[Any] = []
        """Data parts that are not stored in the message."""
        self.stored: list[Any] | None = None
        """The complete events of an agent in the outer session; ``None`` for an agent with a session of its own."""

    def add(self, event: "EventOrDict") -> None:
        """Add the next event of the agent. The event is converted later, when the message is read."""
        self._unread.append(event)

    def add_stored(self, facts: EventFacts) -> None:
        """Keep a complete event. The final message is later built from these events. Call this method only for an agent
        that runs in the session of the chat.
        """
        self.stored = self.stored or []
        if not facts.is_fragment:
            self.stored.append(facts.event)

    def next_preliminary(self) -> Any:
        """If the message has enough new content to be sent again, return the message so far; otherwise ``None``."""
        self._read()
        if not self._answerable and self._conversion.is_waiting:
            return None  # the user could not answer the agent's question
        return self._sent() if self._sending.is_due(is_text=not self._has_begun_part) else None

    def so_far(self) -> Any:
        """Return the message so far. The caller must send this message to the client."""
        self._read()
        return self._sent()

    def take_transient(self) -> list[Any]:
        """Remove and return the transient data parts. Transient parts are not stored in the message, and are sent
        separately.
        """
        taken, self._transient = self._transient, []
        return taken

    def _sent(self) -> Any:
        self._sending.note_sent()
        self._has_begun_part = False
        return json_value(self._reducer.message)

    def ended(self, added: Mapping[str, Any] | None = None, *, omitted: int = 0, keeps_questions: bool = False) -> Any:
        """End and return the message. ``added``: metadata to add. ``omitted``: the number of the agent's events that
        were not stored. ``keeps_questions``: True if the user can still answer the agent's open questions.
        """
        self._read()
        pending_text = UNANSWERED_TEXT if self._answerable else UNANSWERABLE_TEXT
        self._conversion.end_nested(None if keeps_questions else pending_text)
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
    """Decides when a growing message is sent again as a whole.

    The larger the message, the more new content is needed. So the total size of all sent messages is proportional to
    the size of the last. The decision does not depend on time: the same events always give the same stream.
    """

    __slots__ = ("_credit", "_outputs", "_size", "_unsent")

    def __init__(self) -> None:
        self._credit = FREE_BYTES
        self._size = 0
        self._unsent = 0
        self._outputs: dict[str, int] = {}
        """Id of a nested call -> size of its newest output, which replaces the previous output."""

    def count(self, chunk: AnyChunk) -> None:
        """Count the bytes that this chunk adds to the message."""
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
        """Return True if the message should be sent now. ``is_text``: True if all unsent content is text."""
        if not self._unsent or self._credit < self._size:
            return False
        part = OFTEN if self._credit >= self._size + RESERVE else SELDOM
        return not is_text or self._unsent * part >= self._size

    def note_sent(self) -> None:
        self._credit -= self._size
        self._unsent = 0


def _size(chunk: AnyChunk) -> int:
    """Return the approximate number of bytes that the chunk adds to its message."""
    keys = DELTA_KEYS.get(chunk["type"])
    return len(encode_sse(chunk)) if keys is None else len(str(chunk.get(keys[1], "")))
