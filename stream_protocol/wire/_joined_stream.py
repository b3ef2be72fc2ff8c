"""Shorten a stream for clients that begin to read late."""

import re
from collections.abc import Iterable
from typing import Final

MAX_JOINED: Final = 2**16
"""The maximum number of bytes of text in a joined delta, to bound the work of copying. A longer delta stays
unchanged.
"""

_DELTA: Final = re.compile(
    rb'(data: \{"type":"(?:text-delta|reasoning-delta|tool-input-delta)"'
    rb',(?:"id"|(?P<call>"toolCallId")):"(?P<id>[^"\\]*(?:\\.[^"\\]*)*)"'
    rb',"(?:delta|inputTextDelta)":")(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"\}\n\n'
)
"""Pattern for a delta without metadata: its constant beginning, and its text in JSON."""

_OUTPUT: Final = re.compile(rb'data: \{"type":"tool-output-available","toolCallId":"[^"\\]*(?:\\.[^"\\]*)*",')
"""Pattern for the constant beginning of a call's output chunks."""

_PRELIMINARY: Final = (b',"preliminary":true}\n\n', b',"preliminary":true,"dynamic":true}\n\n')
"""The last bytes of preliminary outputs."""

_INPUT_START: Final = re.compile(rb'data: \{"type":"tool-input-start","toolCallId":"([^"\\]*(?:\\.[^"\\]*)*)"')
_STEP_START: Final = b'data: {"type":"start-step"}\n\n'


class JoinedStream:
    """A shortened copy of a stream. A client builds the same message from the copy. Consecutive deltas of a message
    part become one delta. Preliminary outputs that a later output replaces are left out.

    Between two deltas of a part, there may be deltas of other parts and preliminary outputs. Deltas are not joined
    across any other chunk, such as ``start-step``.

    If a call began in an earlier step, its input deltas are not joined. The client shows the first of them only when
    the second arrives.
    """

    def __init__(self) -> None:
        self.complete: list[bytes] = []
        """The events that no later event can change."""
        self.size = 0
        """The number of bytes of all events."""
        self._open: dict[bytes, _Delta | bytes] = {}
        """Constant beginning of an event -> a delta that may grow, or an output that may be replaced."""
        self._started_in_step: set[bytes] = set()

    @property
    def growing(self) -> list[bytes]:
        """The last SSE events of the stream, after those in ``complete``. Later deltas and outputs may still change
        them.
        """
        return [event if isinstance(event, bytes) else event.joined() for event in self._open.values()]

    def add(self, events: Iterable[bytes]) -> None:
        """Append SSE events to the stream. Each item is one whole event."""
        for event in events:
            delta = None if len(event) > MAX_JOINED else _DELTA.fullmatch(event)
            if delta is not None and (delta["call"] is None or delta["id"] in self._started_in_step):
                self._add_delta(delta[1], delta["text"])
                continue
            if event.endswith(_PRELIMINARY) and (output := _OUTPUT.match(event)) is not None:
                self._add_output(output[0], event)
                continue
            self.complete += self.growing
            self._open.clear()
            self.complete.append(event)
            self.size += len(event)
            if event == _STEP_START:
                self._started_in_step.clear()
            elif (start := _INPUT_START.match(event)) is not None:
                self._started_in_step.add(start[1])

    def _add_output(self, front: bytes, event: bytes) -> None:
        replaced = self._open.pop(front, None)  # so that the new output comes after the deltas before it
        self.size += len(event) - (len(replaced) if isinstance(replaced, bytes) else 0)
        self._open[front] = event

    def _add_delta(self, front: bytes, text: bytes) -> None:
        delta = self._open.get(front)
        assert not isinstance(delta, bytes)
        if delta is not None and delta.length + len(text) > MAX_JOINED:
            self.complete.append(delta.joined())
            del self._open[front]
            delta = None
        if delta is None:
            delta = self._open[front] = _Delta(front)
            self.size += len(front) + len(_END)
        delta.texts.append(text)
        delta.length += len(text)
        self.size += len(text)


_END: Final = b'"}\n\n'


class _Delta:
    """A delta that may still grow."""

    __slots__ = ("front", "length", "texts")

    def __init__(self, front: bytes) -> None:
        self.front = front
        self.texts: list[bytes] = []
        self.length = 0

    def joined(self) -> bytes:
        return self.front + b"".join(self.texts) + _END
