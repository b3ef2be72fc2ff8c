"""The check of recorded ADK events: what the converter makes of them. Imports ADK."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stream_protocol.check._judge import Judge
from stream_protocol.check._rules import Finding
from stream_protocol.recording import Moment, Recording, Step, Turns, load_recording, replay_sse
from stream_protocol.wire import SSE_DONE, AiSdkVersion


def check_events(path: Path, session: str | None, versions: Sequence[AiSdkVersion]) -> Iterator[Finding]:
    """Yields what is wrong with the stream that each version would get of a recording.

    A finding's line is that of the newest event, or its number where events do not stand on lines.
    """
    recording = load_recording(path, session=session)
    for version in versions:
        yield from _check_version(recording, version)


def _check_version(recording: Recording, version: AiSdkVersion) -> Iterator[Finding]:
    judge = Judge([version])
    place = _Place()
    for event in replay_sse(place.of(recording.responses()), delegated=recording.delegated, ai_sdk=version):
        if event == SSE_DONE:
            yield from judge.end_response()
        else:
            yield from judge.take(event.decode().removeprefix("data: "), place.number)


class _Place:
    """How far a recording has been read."""

    def __init__(self) -> None:
        self.number = 0
        """Of the newest event."""

    def of(self, turns: Turns) -> Turns:
        """The turns, unchanged."""
        for response, steps in turns:
            yield response, self._watched(steps)

    def _watched(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            if isinstance(step, Moment):
                self.number = step.number
            yield step
