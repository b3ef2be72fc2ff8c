"""A recorded conversation in a file, and its turns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from google.adk.events import Event

from stream_protocol.adk import (
    NO_IDS,
    CallIds,
    File,
    NotAnEventError,
    Text,
    WarnOnce,
    find_task_agents,
    read,
    read_event,
    readable_event,
)
from stream_protocol.recording._pace import TurnClock
from stream_protocol.recording._split_turns import TimedEvent, TurnHead, TurnItem, split_turns
from stream_protocol.recording.read import ChunkRecord, EndRecord, EventRecord, RecordingError, TurnRecord, read_records
from stream_protocol.session import FirstReading, HiddenEvents
from stream_protocol.stream import ConverterOptions, Ending, Settings, chunk_conversion
from stream_protocol.wire import AnyChunk, check_path, check_text


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedTurn:
    """One turn of a recording: what the user said or answered, and the agent's events up to the end of the response."""

    message_id: str
    """The id of the assistant's message."""
    past: tuple[Event, ...] = ()
    """The earlier events of the message if this turn continues one, without text fragments."""
    events: tuple[Event, ...]
    """In the order in which they came. The user's own event is the first if it was recorded."""
    request: Mapping[str, Any] | None = None
    """The client's request body if it was recorded."""
    at: tuple[float, ...] | None = None
    """The time of each event, in seconds from the turn's beginning; ``None`` unless all times were recorded.

    In forms that do not record turns, the turn begins with its first event."""
    chunks: tuple[AnyChunk, ...] | None = None
    """The chunks that were sent when the turn was recorded, if they were recorded."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter's options that were recorded. Options that are functions are not."""
    end: Ending | None = None
    """The ending of the response, if it was recorded. Otherwise the events show it."""
    failure: str = ""
    """The text of the exception that the run raised, if it was recorded."""
    call_ids: CallIds = NO_IDS
    """The ids under which the page knows the calls of earlier messages."""


@dataclass(frozen=True)
class Recording:
    """A recording in a file. Each iteration over its turns reads the file again; it is never in memory as a whole."""

    path: Path
    session: str | None = None
    """The session in the file, if the file holds several."""
    delegated: frozenset[str] = frozenset()
    """The names of the tools that are task-mode agents, found in the whole recording. A replay hides their calls."""
    hidden: HiddenEvents = field(default_factory=HiddenEvents, repr=False)
    """The events that a rewind took back or that are hidden from the page, found in the whole recording."""
    beginnings: frozenset[str] | None = field(default=None, repr=False)
    """The invocations that are turns though the user's events are missing, found in the whole recording. ``None``: all
    are."""
    _warn: WarnOnce = field(default_factory=WarnOnce, repr=False, compare=False)

    def turns(self) -> Iterator[RecordedTurn]:
        """Yields the turns in order. Raises ``RecordingError`` if the file has changed and is no longer a recording."""
        for head, items in self.stream_turns():
            yield _collect_turn(head, list(items))

    def stream_turns(self) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
        """Yields the turns while they are read. The items of a turn can be read until the next turn is asked for."""
        return split_turns(_read_items(self.path, self.session, self._warn), self.hidden, self.beginnings)


def load_recording(path: str | Path, *, session: str | None = None) -> Recording:
    """Loads the recording in a file.

    Recognizes the form of the file by its content:

    - JSONL of events;
    - a session as JSON, as YAML or in an SQLite store;
    - the body of a response of ADK's ``/run`` or ``/run_sse``;
    - an evalset;
    - traces of agents-cli;
    - a conformance test;
    - a recording made by this package.

    The whole file is read once, to check it and to find what was taken back. ``session`` chooses one of several in a
    store or an evalset. Fields that the installed ADK cannot read are left out, with one warning each. Raises
    ``RecordingError`` if the file is not a recording. Also raises it if a replay would show nothing: nobody has said or
    done anything in the file, or all was taken back.
    """
    check_path("path", path)
    check_text("session", session, or_none=True)
    path, warn, reading = Path(path), WarnOnce(), FirstReading()
    items = _read_items(path, session, warn)
    first = next(items, None)
    events = (item.event for item in chain((first,), items) if isinstance(item, TimedEvent))
    delegated = find_task_agents(_noting(events, reading))
    hidden = reading.hidden
    if isinstance(first, TurnRecord):  # recorded runs are in the order in which the page was shown them
        hidden = replace(hidden, moved={})
    recording = Recording(path, session, delegated, hidden, reading.beginnings, warn)
    if not any(_shows_something(head, items) for head, items in recording.stream_turns()):
        raise RecordingError(_why_nothing(recording))
    return recording


def _noting(events: Iterable[Event], reading: FirstReading) -> Iterator[Event]:
    for event in events:
        reading.add(read(event))
        yield event


_EMPTY: Final = frozenset({"start", "start-step", "finish-step", "finish", "message-metadata", "data-adk-compaction"})
"""The types of the chunks of a response that shows nothing."""


def _shows_something(head: TurnHead, items: Iterable[TurnItem]) -> bool:
    """Return True if a replay of the turn shows something. The user's message does, and so does a turn recorded as
    one."""
    conversion = chunk_conversion(head.past, head.message_id, Settings(send_state=True))
    for item in items:
        if not isinstance(item, TimedEvent) or _has_words(item.event):
            return True
        conversion.feed(item.event)
        if any(chunk["type"] not in _EMPTY for chunk in conversion.take()):
            return True
    conversion.finish()
    return any(chunk["type"] not in _EMPTY for chunk in conversion.take())


def _has_words(event: Event) -> bool:
    """Return True if the user wrote, said or sent something in the event."""
    said = read(event)
    return said.is_user_message and any(
        isinstance(part, File) or (isinstance(part, Text) and part.text) for part in said.parts
    )


def _why_nothing(recording: Recording) -> str:
    """Returns an error text: what was read of the file, and why a replay would show nothing."""
    records = read_records(recording.path, recording.session, recording._warn)  # noqa: SLF001 - of this module
    count = sum(isinstance(record, EventRecord) for record in records)
    events = "1 event was" if count == 1 else f"{count} events were"
    if recording.hidden.rewound:
        return f"nothing to show: {events} read, and all that was said was taken back"
    return f"nothing to show: {events} read, and in none of them anybody says anything"


def _read_items(path: Path, session: str | None, warn: WarnOnce) -> Iterator[TurnItem]:
    for record in read_records(path, session, warn):
        yield _parse_event(record, warn) if isinstance(record, EventRecord) else record


def _parse_event(record: EventRecord, warn: WarnOnce) -> TimedEvent:
    value = record.value
    if isinstance(value, dict) and not (isinstance(value.get("id"), str) and value["id"]):
        value["id"] = f"{record.unit}-{record.number}"  # ADK would make a new random id at each reading
    # google-genai keeps a value that is not in its enum, and warns of it.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            event = read_event(value, warn)
        except NotAnEventError as error:
            raise RecordingError(f"{record.place} is not an ADK event: {error.reason}") from None
    for warning in caught:
        warn(str(warning.message))
    return TimedEvent(readable_event(event), record.at, record.number)


def _collect_turn(head: TurnHead, items: list[TurnItem]) -> RecordedTurn:
    begin = next((item for item in items if isinstance(item, TurnRecord)), None)
    end = next((item for item in items if isinstance(item, EndRecord)), None)
    timed_events = [item for item in items if isinstance(item, TimedEvent)]
    events = tuple(item.event for item in timed_events)
    clock = TurnClock(has_turn_record=begin is not None)
    at = [clock.seconds(item) for item in timed_events]
    return RecordedTurn(
        message_id=head.message_id or (events[0].invocation_id if events else ""),
        past=head.past,
        events=events,
        request=begin.request if begin is not None else None,
        at=None if None in at else cast("tuple[float, ...]", tuple(at)),
        chunks=tuple(cast("AnyChunk", item.chunk) for item in items if isinstance(item, ChunkRecord)) or None,
        options=head.options,
        end=end.end if end is not None else None,
        failure=end.failure if end is not None else "",
        call_ids=head.call_ids,
    )
