"""A stream in fewer events: a late reader need not receive every delta and every preliminary output."""

import re
from collections.abc import Iterable
from typing import Final

MAX_JOINED: Final = 2**16
"""The most bytes of text in one joined delta, unless it was longer before: 64 KiB, one write to a socket. So a joined
text is not copied again, however long the text becomes.
"""

_DELTA: Final = re.compile(
    rb'(data: \{"type":"(?:text-delta|reasoning-delta|tool-input-delta)"'
    rb',(?:"id"|(?P<call>"toolCallId")):"(?P<id>[^"\\]*(?:\\.[^"\\]*)*)"'
    rb',"(?:delta|inputTextDelta)":")(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"\}\n\n'
)
"""A delta as our sinks write it, without metadata of its own: its constant beginning, and its text in JSON form."""

_OUTPUT: Final = re.compile(rb'data: \{"type":"tool-output-available","toolCallId":"[^"\\]*(?:\\.[^"\\]*)*",')
"""The constant beginning of a call's outputs."""

_PRELIMINARY: Final = (b',"preliminary":true}\n\n', b',"preliminary":true,"dynamic":true}\n\n')
"""The ends of preliminary outputs, as our sinks write them."""

_INPUT_START: Final = re.compile(rb'data: \{"type":"tool-input-start","toolCallId":"([^"\\]*(?:\\.[^"\\]*)*)"')
_STEP_START: Final = b'data: {"type":"start-step"}\n\n'


class JoinedStream:
    """A stream with joined deltas: deltas of one part become one, if only deltas of other parts lie between them. In
    the same way only the last of a call's preliminary outputs is kept.

    ``add`` looks at each event once: the time is linear in the bytes. A client folds the result into the same message.
    Texts are joined in their JSON form, without parsing.

    The input of a call that began in an earlier step is not joined. For a dynamic tool the client shows the text of a
    step's first delta only when the second delta comes.
    """

    def __init__(self) -> None:
        self.complete: list[bytes] = []
        """The finished events. Later events come after them."""
        self.size = 0
        """Bytes of all events."""
        self._open: dict[bytes, _Delta | _Output] = {}
        """The deltas that may still grow, and the outputs that may be replaced, by their constant beginning."""
        self._started_in_step: set[bytes] = set()

    @property
    def growing(self) -> list[bytes]:
        """The events after ``complete``, as they are now."""
        return [delta.event() for delta in self._open.values()]

    def add(self, events: Iterable[bytes]) -> None:
        """Adds whole SSE events at the end."""
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
        replaced = self._open.pop(front, None)  # the new one comes after what has come in between
        self.size += len(event) - (len(replaced.event()) if replaced is not None else 0)
        self._open[front] = _Output(event)

    def _add_delta(self, front: bytes, text: bytes) -> None:
        delta = self._open.get(front)
        assert not isinstance(delta, _Output)
        if delta is not None and delta.length + len(text) > MAX_JOINED:
            self.complete.append(self._open.pop(front).event())
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

    def event(self) -> bytes:
        return self.front + b"".join(self.texts) + _END


class _Output:
    """A preliminary output that a later one may replace."""

    __slots__ = ("_event",)

    def __init__(self, event: bytes) -> None:
        self._event = event

    def event(self) -> bytes:
        return self._event
