"""Check the streams that the converter creates from recorded ADK events. Importing this module loads ADK."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stream_protocol.check._rules import Finding
from stream_protocol.check._stream_checker import StreamChecker
from stream_protocol.recording import Recording, TimedEvent, TurnItem, TurnStream, load_recording, replay_sse
from stream_protocol.wire import SSE_DONE, AiSdkVersion


def check_events(path: Path, session: str | None, versions: Sequence[AiSdkVersion]) -> Iterator[Finding]:
    """Convert recorded events to a stream for each AI SDK version in ``versions``. Yields the problems in these
    streams.

    ``Finding.line`` is the line of the last event before the problem. If the file does not have one event per line,
    ``Finding.line`` is the number of this event.
    """
    recording = load_recording(path, session=session)
    for version in versions:
        yield from _check_version(recording, version)


def _check_version(recording: Recording, version: AiSdkVersion) -> Iterator[Finding]:
    checker = StreamChecker([version])
    position = _Position()
    turns = position.watch(recording.stream_turns())
    for event in replay_sse(turns, delegated=recording.delegated, ai_sdk=version):
        if event == SSE_DONE:
            yield from checker.end_response()
        else:
            yield from checker.check_data(event.decode().removeprefix("data: "), position.number)


class _Position:
    """The position of the last event that was read from a recording."""

    def __init__(self) -> None:
        self.number = 0
        """The line of the last event that was read, or the event's number: see ``check_events``."""

    def watch(self, turns: TurnStream) -> TurnStream:
        """Yield the turns unchanged. Sets ``number`` when an event of a turn is read."""
        for head, items in turns:
            yield head, self._watch_items(items)

    def _watch_items(self, items: Iterable[TurnItem]) -> Iterator[TurnItem]:
        for item in items:
            if isinstance(item, TimedEvent):
                self.number = item.number
            yield item
