"""Turns at the pace at which they came, or faster, or slower."""

import math
from collections.abc import Iterable, Iterator
from time import monotonic, sleep
from typing import Final

from stream_protocol.recording._replaying import Turns
from stream_protocol.recording._responses import Moment, Step
from stream_protocol.recording._times import Times
from stream_protocol.recording.read import RecordingError, TurnRecord

INSTANT: Final = math.inf
"""The pace of a replay that comes all at once."""

HELD: Final = 0.0
"""The pace of a replay each chunk of which waits until somebody releases it, as only a server can."""

LONGEST_WAIT: Final = 1e8
"""Seconds: three years. A file may hold any number, and the system's ``sleep`` takes none much larger."""


def paced(turns: Turns, speed: float) -> Turns:
    """The turns, each step of which comes when it is due: at twice its pace for a ``speed`` of 2. Nobody waits between
    the turns, where people read and thought, nor for an event without a time.
    """
    for response, steps in turns:
        yield response, _due(steps, speed)


def check_times(turns: Turns) -> None:
    """Raises ``RecordingError`` if not all events have a time."""
    for _, steps in turns:
        for step in steps:
            if isinstance(step, Moment) and step.at is None:
                raise RecordingError("it does not say when its events came, so it has no pace but `instant`")


def _due(steps: Iterable[Step], speed: float) -> Iterator[Step]:
    begin = monotonic()
    times = Times(told=False)
    for step in steps:
        if isinstance(step, TurnRecord):
            times = Times(told=True)
        elif isinstance(step, Moment) and (at := times.of(step)) is not None:
            sleep(min(max(0.0, begin + at / speed - monotonic()), LONGEST_WAIT))
        yield step
