"""The message of an agent that runs inside a tool call.

Its events go through a converter and a client's reducer of their own. The message is the output of the call, as the AI
SDK does it for sub-agents: preliminary outputs while the agent runs, each the whole message so far, and then the final
one with the tool's result beside it.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from stream_protocol.adk import NotAnEventError
from stream_protocol.wire import DELTA_KEYS, AiSdkVersion, AnyChunk, ClientStreamError, encode_sse, json_value
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from stream_protocol.adk import EventOrDict

UNANSWERABLE_TEXT: Final = "This needs an answer from you, and an agent that runs as a tool cannot wait for one."
"""The error of a nested call that asks somebody: ``AgentTool`` discards the session in which it could go on."""

FREE_BYTES: Final = 2**20
"""The bytes that the preliminary outputs of a call may have in any case."""

BYTES_PER_NEW_BYTE: Final = 6
"""The bytes that they may have besides, for each byte that is new in the message."""

RESERVE: Final = 2**18
"""The bytes that text leaves for other parts, while it is sent often."""

OFTEN, SELDOM = 64, 4
"""Text alone is sent when it makes the message longer by this part of its size: a 64th, or when few bytes are left a
fourth."""


class NestedConversion(Protocol):
    """The converter of a nested agent's events."""

    @property
    def is_waiting(self) -> bool: ...
    def feed(self, event: "EventOrDict", /) -> None: ...
    def take(self) -> list[AnyChunk]: ...
    def end_nested(self, pending_text: str, /) -> None: ...


class NestedMessage:
    """The message of a nested agent so far."""

    __slots__ = ("_answerable", "_conversion", "_has_begun_part", "_reducer", "_sending", "_transient", "_unread")

    def __init__(
        self, conversion: NestedConversion, call_id: str, ai_sdk: AiSdkVersion, *, answerable: bool = False
    ) -> None:
        """``call_id``: the client's id of the call, which is also the id of the message. ``answerable``: the agent runs
        in the outer session, where it can wait for answers."""
        self._answerable = answerable
        self._conversion = conversion
        self._reducer = MessageReducer(ai_sdk=ai_sdk, message_id=call_id)
        self._sending = _Sending()
        self._unread: list[EventOrDict] = []
        self._has_begun_part = False
        """True if more than text has come since the newest preliminary output."""
        self._transient: list[Any] = []
        """Data that is no part of the message."""

    def add(self, event: "EventOrDict") -> None:
        """Takes the agent's next event. Nothing is computed before the message is needed."""
        self._unread.append(event)

    def next_preliminary(self) -> Any:
        """Return the message if it is time to send it again; else ``None``."""
        self._read()
        if not self._answerable and self._conversion.is_waiting:
            return None  # a question is not shown that nobody can answer
        return self._sent() if self._sending.is_due(is_text=not self._has_begun_part) else None

    def so_far(self) -> Any:
        """Return the message as it is."""
        self._read()
        return self._sent()

    def take_transient(self) -> list[Any]:
        """Return and remove the data that is sent to the page and is no part of the message."""
        taken, self._transient = self._transient, []
        return taken

    def _sent(self) -> Any:
        self._sending.note_sent()
        self._has_begun_part = False
        return json_value(self._reducer.message)

    def final(self, result: Any, *, omitted: int = 0) -> Any:
        """End the message, and return it with the tool's result. ``omitted``: the number of events that it lacks."""
        self._read()
        self._conversion.end_nested(UNANSWERABLE_TEXT)
        self._apply(self._conversion.take())
        message = json_value(self._reducer.message)
        own = {"omittedEvents": omitted, "result": result} if omitted else {"result": result}
        return {**message, "metadata": {**message.get("metadata", {}), **own}}

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for event in unread:
            with suppress(NotAnEventError):  # of a session or a recording that somebody else wrote
                self._conversion.feed(event)
                self._apply(self._conversion.take())

    def _apply(self, chunks: Iterable[AnyChunk]) -> None:
        for chunk in chunks:
            if chunk.get("transient"):
                self._transient.append(chunk)
                continue
            self._sending.count(chunk)
            self._has_begun_part = self._has_begun_part or chunk["type"] not in DELTA_KEYS
            with suppress(ClientStreamError):  # an `error` chunk: the tool's result says what failed
                self._reducer.apply_checked(chunk)


class _Sending:
    """Decides when a growing message is sent again, so that all bytes sent grow with the message, and not faster.

    Without a clock: the same events give the same stream.
    """

    __slots__ = ("_credit", "_outputs", "_size", "_unsent")

    def __init__(self) -> None:
        self._credit = FREE_BYTES
        self._size = 0
        self._unsent = 0
        self._outputs: dict[str, int] = {}
        """Id of a nested call -> the bytes of its newest output: each output replaces the one before."""

    def count(self, chunk: AnyChunk) -> None:
        """Takes a chunk that becomes a part of the message."""
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
        """Return True if the message is to be sent now. ``is_text``: only more text has come."""
        if not self._unsent or self._credit < self._size:
            return False
        part = OFTEN if self._credit >= self._size + RESERVE else SELDOM
        return not is_text or self._unsent * part >= self._size

    def note_sent(self) -> None:
        """The message is sent."""
        self._credit -= self._size
        self._unsent = 0


def _size(chunk: AnyChunk) -> int:
    """The bytes, about, that the chunk adds to its message."""
    keys = DELTA_KEYS.get(chunk["type"])
    return len(encode_sse(chunk)) if keys is None else len(str(chunk.get(keys[1], "")))
