"""A recorded conversation and its turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack, cast

from google.adk.events import Event
from pydantic import ValidationError

from stream_protocol.convert import ConverterOptions, Ending, WarnOnce, find_task_agents
from stream_protocol.recording._lenient_events import LenientReader
from stream_protocol.recording._replaying import replay_sse, selected
from stream_protocol.recording._responses import Moment, RecordedResponse, Step, responses
from stream_protocol.recording._times import Times
from stream_protocol.recording.read import ChunkRecord, EndRecord, EventRecord, RecordingError, TurnRecord, read_records
from stream_protocol.wire import AnyChunk


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedTurn:
    """One response of a recording, from what somebody said or answered to the agent's last event."""

    message_id: str
    past: tuple[Event, ...] = ()
    """The earlier events of the message, if this response continues one, but for fragments of text."""
    events: tuple[Event, ...]
    """As they came; the user's own is the first, where it was recorded."""
    request: Mapping[str, Any] | None = None
    """The client's request body, where the recording has it."""
    at: tuple[float, ...] | None = None
    """When each event came, in seconds from the turn's beginning; ``None`` if nobody recorded that. In forms without
    turns of their own that is the time of the first event."""
    chunks: tuple[AnyChunk, ...] | None = None
    """What went out then, where it was recorded."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter's, as far as they are data, where the recording has them."""
    end: Ending | None = None
    """How it ended, where the recording says so; otherwise the events tell."""
    failure: str = ""
    """What the run raised, where the recording says so."""


@dataclass(frozen=True)
class Recording:
    """A recording in a file. It is read anew each time that it is asked for its turns, and never held as a whole."""

    path: Path
    session: str | None = None
    """Which session, in a file that holds several."""
    delegated: frozenset[str] = frozenset()
    """The tools that turn out to be task-mode agents, in the whole recording: a replay hides their calls."""
    _warn: WarnOnce = field(default_factory=WarnOnce, repr=False, compare=False)

    def turns(self) -> Iterator[RecordedTurn]:
        """The turns, in order. Raises ``RecordingError`` for a file that changed into none."""
        for response, steps in self.responses():
            yield _turn(response, list(steps))

    def responses(self) -> Iterator[tuple[RecordedResponse, Iterator[Step]]]:
        """The turns as they are read: each one's steps are gone when the next is asked for."""
        return responses(self._steps())

    def _steps(self) -> Iterator[Step]:
        reader = LenientReader(self._warn)
        for record in read_records(self.path, self.session, self._warn):
            yield _moment(record, reader) if isinstance(record, EventRecord) else record


def load_recording(path: str | Path, *, session: str | None = None) -> Recording:
    """The recording in a file, whatever form it has: JSONL of events, a session as JSON, YAML or in an SQLite store,
    what ``/run`` and ``/run_sse`` of ADK's API server sent, an evalset, a conformance test, a recording of ours.

    It is read to its end. ``session`` chooses one of several in a store or evalset. Fields that the installed ADK
    cannot read are left out, with one warning each. Raises ``RecordingError`` for what is no recording.
    """
    recording = Recording(Path(path), session)
    steps = (step for _, own in recording.responses() for step in own)
    delegated = find_task_agents(step.event for step in steps if isinstance(step, Moment))
    return dataclasses.replace(recording, delegated=delegated)


def replay(recording: Recording, *, turn: int | None = None, **options: Unpack[ConverterOptions]) -> Iterator[bytes]:
    """The SSE events of all turns, or of one, counted from 1: each from ``start`` to ``[DONE]``, the same each time.

    ``options`` are the converter's; those that the recording has count where they say nothing. A turn is read as it is
    replayed. Raises ``RecordingError`` for a turn that is not there, and for a file that changed into no recording.
    """
    return replay_sse(selected(recording.responses(), turn), delegated=recording.delegated, **options)


def _moment(record: EventRecord, reader: LenientReader) -> Moment:
    value = record.value
    if not isinstance(value, dict):
        raise RecordingError(f"{record.place} is not an ADK event")
    if not isinstance(value.get("author"), str) or not value["author"]:
        # the one key that ADK fills in and nobody leaves out
        is_chunk = isinstance(value.get("type"), str)
        why = "it is a chunk of a UI message stream" if is_chunk else "it has no author"
        raise RecordingError(f"{record.place} is not an ADK event: {why}")
    if not value.get("id"):
        value["id"] = record.place.replace(" ", "-")  # ADK would make up another each time
    try:
        return Moment(reader.read(value), record.at, record.number)
    except ValidationError as error:
        raise RecordingError(f"{record.place} is not an ADK event: {error.errors()[0]['msg']}") from None
    except RecursionError:
        raise RecordingError(f"{record.place} is nested too deeply") from None


def _turn(response: RecordedResponse, steps: list[Step]) -> RecordedTurn:
    begin = next((step for step in steps if isinstance(step, TurnRecord)), None)
    end = next((step for step in steps if isinstance(step, EndRecord)), None)
    moments = [step for step in steps if isinstance(step, Moment)]
    events = tuple(moment.event for moment in moments)
    times = Times(told=begin is not None)
    at = [times.of(moment) for moment in moments]
    return RecordedTurn(
        message_id=response.message_id or (events[0].invocation_id if events else ""),
        past=response.past,
        events=events,
        request=begin.request if begin is not None else None,
        at=None if None in at else cast("tuple[float, ...]", tuple(at)),
        chunks=tuple(cast("AnyChunk", step.chunk) for step in steps if isinstance(step, ChunkRecord)) or None,
        options=response.options,
        end=end.end if end is not None else None,
        failure=end.failure if end is not None else "",
    )
