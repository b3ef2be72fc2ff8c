"""A stream in fewer events: who comes late need not hear every word as it was spoken."""

import re
from collections.abc import Iterable
from typing import Final

_DELTA: Final = re.compile(
    rb'(data: \{"type":"(?:text-delta|reasoning-delta|tool-input-delta)"'
    rb',"(?:id|toolCallId)":"[^"\\]*(?:\\.[^"\\]*)*"'
    rb',"(?:delta|inputTextDelta)":")([^"\\]*(?:\\.[^"\\]*)*)"\}\n\n'
)
"""A delta as our sinks write it, without metadata of its own: its constant front, and its text as JSON has it."""


def coalesce(events: Iterable[bytes]) -> list[bytes]:
    """The same stream with the deltas of a part joined, wherever nothing but deltas of other parts lies between them.

    ``events`` are whole SSE events. A client folds both into the same message. Texts are joined as they are written, so
    nothing is parsed: the time goes with the bytes.
    """
    joined: list[bytes] = []
    deltas: dict[bytes, list[bytes]] = {}
    for event in events:
        if (delta := _DELTA.fullmatch(event)) is not None:
            deltas.setdefault(delta[1], []).append(delta[2])
        else:
            joined += _written(deltas)
            deltas.clear()
            joined.append(event)
    joined += _written(deltas)
    return joined


def _written(deltas: dict[bytes, list[bytes]]) -> Iterable[bytes]:
    return (front + b"".join(texts) + b'"}\n\n' for front, texts in deltas.items())
