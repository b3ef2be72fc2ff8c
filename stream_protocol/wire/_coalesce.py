"""A stream in fewer events: a late reader need not receive every delta as it was written."""

import re
from collections.abc import Iterable
from typing import Final

_DELTA: Final = re.compile(
    rb'(data: \{"type":"(?:text-delta|reasoning-delta|tool-input-delta)"'
    rb',(?:"id"|(?P<call>"toolCallId")):"(?P<id>[^"\\]*(?:\\.[^"\\]*)*)"'
    rb',"(?:delta|inputTextDelta)":")(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"\}\n\n'
)
"""A delta as our sinks write it, without metadata of its own: its constant beginning, and its text in JSON form."""

_INPUT_START: Final = re.compile(rb'data: \{"type":"tool-input-start","toolCallId":"([^"\\]*(?:\\.[^"\\]*)*)"')
_STEP_START: Final = b'data: {"type":"start-step"}\n\n'


def coalesce(events: Iterable[bytes]) -> list[bytes]:
    """The same stream with the deltas of a part joined, wherever nothing but deltas of other parts lies between them.

    ``events`` are whole SSE events, from the beginning of the response. A client folds both into the same message.
    Texts are joined as they stand in the JSON, without parsing, so the time is linear in the bytes.

    The input of a call that began in an earlier step stays in pieces: for a dynamic tool the client shows the text of
    the first piece in a step only when the second comes.
    """
    joined: list[bytes] = []
    deltas: dict[bytes, list[bytes]] = {}
    started_in_step: set[bytes] = set()
    for event in events:
        delta = _DELTA.fullmatch(event)
        if delta is not None and (delta["call"] is None or delta["id"] in started_in_step):
            deltas.setdefault(delta[1], []).append(delta["text"])
            continue
        joined += _joined_deltas(deltas)
        deltas.clear()
        joined.append(event)
        if event == _STEP_START:
            started_in_step.clear()
        elif (start := _INPUT_START.match(event)) is not None:
            started_in_step.add(start[1])
    joined += _joined_deltas(deltas)
    return joined


def _joined_deltas(deltas: dict[bytes, list[bytes]]) -> Iterable[bytes]:
    return (front + b"".join(texts) + b'"}\n\n' for front, texts in deltas.items())
