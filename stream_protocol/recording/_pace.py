"""Replays the turns of a recording at the recorded or a different speed."""

import math
from collections.abc import Iterable, Iterator
from time import monotonic, sleep
from typing import Final

from stream_protocol.recording._split_turns import TimedEvent, TurnItem, TurnStream
from stream_protocol.recording.read import RecordingError, TurnRecord
from stream_protocol.wire import check_iterable, check_number

INSTANT: Final = math.inf
"""The speed of a replay without pauses."""

LONGEST_WAIT: Final = 1e8
"""The longest pause in seconds (about three years) for which ``time.sleep`` does not raise."""


class TurnClock:
    """Converts the recorded times of a turn's events to seconds since the turn began.

    ``has_turn_record``: True if the turn begins with a ``TurnRecord``. Time 0 is then the time of this record,
    otherwise the time of the first event.
    """

    def __init__(self, *, has_turn_record: bool) -> None:
        self._begin: float | None = 0.0 if has_turn_record else None
        self._newest = 0.0

    def seconds(self, event: TimedEvent) -> float | None:
        """Return the time of the turn's next event in seconds since the turn began; ``None`` if the time was not
        recorded.

        The result is never smaller than the result for the previous event.
        """
        if event.at is None:
            return None
        if self._begin is None:
            self._begin = event.at
        self._newest = max(self._newest, event.at - self._begin)
        return self._newest


def check_turns(function: str, turns: object) -> None:
    """Raise ``TypeError`` if ``turns`` is not an iterable of turns."""
    check_iterable(function, turns, "turns, such as those of `Recording.stream_turns()`")


def pace_turns(turns: TurnStream, speed: float) -> TurnStream:
    """Return the turns with the pauses of the recorded run. While you iterate over the items of a turn, the iterator
    waits before each event.

    ``speed``: 2 is twice as fast as recorded. There is no pause between turns, or before an event without a recorded
    time.
    """
    check_turns("pace_turns", turns)
    check_number("speed", speed, lambda factor: factor > 0, "a positive number")
    return ((head, _wait_for_events(items, speed)) for head, items in turns)


def check_has_times(turns: TurnStream) -> None:
    """Raise ``RecordingError`` if an event has no recorded time."""
    check_turns("check_has_times", turns)
    for _, items in turns:
        for item in items:
            if isinstance(item, TimedEvent) and item.at is None:
                raise RecordingError("it does not say when its events came, so it has no pace but `instant`")


def _wait_for_events(items: Iterable[TurnItem], speed: float) -> Iterator[TurnItem]:
    begin = monotonic()
    clock = TurnClock(has_turn_record=False)
    for item in items:
        if isinstance(item, TurnRecord):
            clock = TurnClock(has_turn_record=True)
        elif isinstance(item, TimedEvent) and (at := clock.seconds(item)) is not None:
            sleep(min(max(0.0, begin + at / speed - monotonic()), LONGEST_WAIT))
        yield item
