"""``Recording``: a recorded conversation in a file."""

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
    NotAnEventError,
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
    """A turn of a recording. It has the user's message (or answers to calls), and the events of the agent's
    response.
    """

    message_id: str
    """The id of the assistant message."""
    past: tuple[Event, ...] = ()
    """If the turn continues an assistant message, the earlier events of this message, without partial text events."""
    events: tuple[Event, ...]
    """The events of the turn in order, beginning with the user's event, if it was recorded."""
    request: Mapping[str, Any] | None = None
    """The body of the client's request; ``None`` if it was not recorded."""
    at: tuple[float, ...] | None = None
    """The time of each event, in seconds since the turn began; ``None`` if a time was not recorded.

    If the beginning of the turn was not recorded, times count from its first event.
    """
    chunks: tuple[AnyChunk, ...] | None = None
    """The chunks that were sent during the recording; ``None`` if they were not recorded."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The recorded converter options. Options that are functions cannot be recorded."""
    end: Ending | None = None
    """The ending of the response; ``None`` if it was not recorded. Then a replay decides from the events how the
    response ends."""
    failure: str = ""
    """The text of the exception that the run raised; empty if it was not recorded."""
    call_ids: CallIds = NO_IDS
    """The ids that the client has for the calls in earlier messages."""


@dataclass(frozen=True)
class Recording:
    """A recording in a file. Each iteration over the turns reads the file again, turn by turn."""

    path: Path
    session: str | None = None
    """The chosen session, if the file has several sessions."""
    delegated: frozenset[str] = frozenset()
    """The names of tools that start task-mode agents in the recording. A replay hides calls of these tools."""
    hidden: HiddenEvents = field(default_factory=HiddenEvents, repr=False)
    """The events of the recording that the client does not see, for example because a rewind removed them."""
    beginnings: frozenset[str] | None = field(default=None, repr=False)
    """The ids of invocations that begin a turn without a user event. ``None`` if each invocation can begin a turn."""
    _warn: WarnOnce = field(default_factory=WarnOnce, repr=False, compare=False)

    def turns(self) -> Iterator[RecordedTurn]:
        """Yield the turns in order. If the file has changed and is no longer a recording, raises ``RecordingError``."""
        for head, items in self.stream_turns():
            yield _collect_turn(head, list(items))

    def stream_turns(self) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
        """Yield each turn as a pair: the ``TurnHead`` (data about the turn), and an iterator of the turn's items. The
        iteration reads the file.

        Read all items of a turn before you request the next turn.
        """
        return split_turns(_read_items(self.path, self.session, self._warn), self.hidden, self.beginnings)


def load_recording(path: str | Path, *, session: str | None = None) -> Recording:
    """Load the recording in a file. The format is detected from the content:

    - JSONL of events;
    - a session as JSON, as YAML, or in ADK's SQLite store;
    - the body of a response of ADK's ``/run`` or ``/run_sse``;
    - an evalset;
    - traces of agents-cli;
    - a conformance test;
    - a recording made by this package.

    The whole file is read once, to validate it and to find events that a rewind removed. Fields that the installed ADK
    cannot read are left out, with a warning for each.

    ``session``: the name of the session to load, if a store or an evalset has several sessions. Raises
    ``RecordingError`` if the file is not a recording, or if a replay would show nothing.
    """
    check_path("path", path)
    check_text("session", session, or_none=True)
    path, warn, reading = Path(path), WarnOnce(), FirstReading()
    items = _read_items(path, session, warn)
    first = next(items, None)
    events = (item.event for item in chain((first,), items) if isinstance(item, TimedEvent))
    delegated = find_task_agents(_add_each(events, reading))
    hidden = reading.hidden
    if isinstance(first, TurnRecord):  # a recording of this package already has the shown order
        hidden = replace(hidden, moved={})
    recording = Recording(path, session, delegated, hidden, reading.beginnings, warn)
    if not any(_shows_something(head, items) for head, items in recording.stream_turns()):
        raise RecordingError(_why_nothing(recording))
    return recording


def _add_each(events: Iterable[Event], reading: FirstReading) -> Iterator[Event]:
    for event in events:
        reading.add(read(event))
        yield event


_EMPTY: Final = frozenset({"start", "start-step", "finish-step", "finish", "message-metadata", "data-adk-compaction"})
"""Types of chunks that show nothing to the user."""


def _shows_something(head: TurnHead, items: Iterable[TurnItem]) -> bool:
    """Return True if the turn has a user message, a ``TurnRecord``, or events that a replay shows."""
    conversion = chunk_conversion(head.past, head.message_id, Settings(send_state=True))
    for item in items:
        if not isinstance(item, TimedEvent) or _is_message_with_content(item.event):
            return True
        conversion.feed(item.event)
        if any(chunk["type"] not in _EMPTY for chunk in conversion.take()):
            return True
    conversion.finish()
    return any(chunk["type"] not in _EMPTY for chunk in conversion.take())


def _is_message_with_content(event: Event) -> bool:
    facts = read(event)
    return facts.is_user_message and facts.has_text_or_file


def _why_nothing(recording: Recording) -> str:
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
        value["id"] = f"{record.unit}-{record.number}"  # otherwise ADK makes a random id at each reading
    # google-genai keeps unknown enum values, and emits a warning.
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
