"""Replays the turns of a recording with the installed converter."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack, get_args

from google.adk.events import Event

from stream_protocol.adk import is_user_event, is_user_message
from stream_protocol.recording._pace import TurnClock, check_turns
from stream_protocol.recording._recording import Recording
from stream_protocol.recording._split_turns import TimedEvent, TurnHead, TurnItem, TurnStream
from stream_protocol.recording.read import EndRecord, RecordingError, TurnRecord, list_field
from stream_protocol.session import EventMetadata, PageMessages, update_metadata
from stream_protocol.stream import (
    Conversion,
    ConverterOptions,
    Ending,
    Settings,
    chunk_conversion,
    hide_task_agents,
    sse_conversion,
)
from stream_protocol.wire import SSE_DONE, UIMessage, check_choice, check_count, check_instance, check_text, check_texts

T = TypeVar("T")


class RecordedFailureError(Exception):
    """Stands for the exception of the recorded run when the run is replayed. ``str(error)``: the recorded text of the
    exception.
    """


@dataclass(frozen=True, slots=True)
class ReplayStep(Generic[T]):
    """One item of a recorded turn, such as an event, and the chunks that the converter creates for the item."""

    item: TurnItem | None
    """The recorded item; ``None`` for the step at the end of the turn."""
    sent: list[T]
    at: float | None = None
    """The time of the event in seconds since the turn began; ``None`` if it was not recorded, or if the item is not an
    event."""
    outcome: Ending | None = None
    """The ending of the response, in the last step of the turn; ``None`` in all other steps."""


def replay(recording: Recording, *, turn: int | None = None, **options: Unpack[ConverterOptions]) -> Iterator[bytes]:
    """Yield the SSE events of the turns of a recording. ``turn``: the number of the only turn to replay, from 1;
    ``None`` for all turns.

    The events of each turn begin with ``start`` and end with ``[DONE]``. Every replay gives the same bytes.
    ``options``: converter options that replace the recorded options. Raises ``RecordingError`` if the turn does not
    exist, or if the file has changed and is no longer a recording.
    """
    check_recording(recording)
    return replay_sse(select_turn(recording.stream_turns(), turn), delegated=recording.delegated, **options)


def check_recording(recording: object) -> None:
    check_instance("recording", recording, Recording, "a Recording", hint="load_recording(path) gives one")


def select_turn(turns: TurnStream, turn: int | None) -> TurnStream:
    """Return only the turn with the number ``turn``, from 1. If ``turn`` is ``None``, return all turns. Raises
    ``RecordingError`` if the turn does not exist."""
    check_turns("select_turn", turns)
    check_count("turn", turn, or_none=True)
    return turns if turn is None else _one_turn(turns, turn)


def _one_turn(turns: TurnStream, turn: int) -> TurnStream:
    number = 0
    for number, found in enumerate(turns, 1):
        if number == turn:
            yield found
            return
    raise _no_turn(turn, number)


def replay_sse(
    turns: TurnStream, *, delegated: frozenset[str] = frozenset(), **options: Unpack[ConverterOptions]
) -> Iterator[bytes]:
    """Yield the SSE events of the turns. Reads the turns only as far as needed. The SSE events of a turn begin with
    ``start`` and end with ``[DONE]``.

    ``delegated``: the names of tools that start task-mode agents (``Recording.delegated``).
    """
    check_turns("replay_sse", turns)
    _check_options(delegated, options)
    return _replay_sse(turns, delegated, options)


def _replay_sse(turns: TurnStream, delegated: frozenset[str], options: ConverterOptions) -> Iterator[bytes]:
    for head, items in turns:
        settings = _settings(head, delegated, options)
        yield from _convert(sse_conversion(head.past, head.message_id, settings, head.call_ids), items)
        yield SSE_DONE


def replay_steps(
    recording: Recording, **options: Unpack[ConverterOptions]
) -> Iterator[tuple[TurnHead, Iterator[ReplayStep[bytes]]]]:
    """Yield each turn of a recording as a pair: the ``TurnHead`` (data about the turn), and an iterator of the steps. A
    step is one recorded item, such as an event, and its SSE events.

    ``[DONE]`` is left out. Read all steps of a turn before you request the next turn.
    """
    check_recording(recording)
    _check_options(recording.delegated, options)
    return _replay_steps(recording, options)


def _replay_steps(
    recording: Recording, options: ConverterOptions
) -> Iterator[tuple[TurnHead, Iterator[ReplayStep[bytes]]]]:
    for head, items in recording.stream_turns():
        settings = _settings(head, recording.delegated, options)
        yield head, _steps(sse_conversion(head.past, head.message_id, settings, head.call_ids), items)


def replay_messages(
    turns: TurnStream,
    *,
    turn: int | None = None,
    delegated: frozenset[str] = frozenset(),
    **options: Unpack[ConverterOptions],
) -> list[UIMessage]:
    """Return the messages that a client has after all turns. ``turn``: the number of a turn, from 1. Then only the
    messages of this turn are returned.

    User messages are included if the user's events were recorded. Their ids come from the recorded requests, or from
    the events. All complete events stay in memory, because the result of a tool call may come in a later turn.

    ``delegated``: the names of tools that start task-mode agents (``Recording.delegated``).
    """
    check_turns("replay_messages", turns)
    check_count("turn", turn, or_none=True)
    _check_options(delegated, options)
    options.pop("on_error", None)  # messages do not contain the texts of errors
    page = PageMessages()
    number, head, user_ids = 0, TurnHead(""), set[str]()
    for number, (head, items) in enumerate(turns, 1):
        settings = _settings(head, delegated, options)
        if not head.past:
            page.begin_turn(head.message_id, settings, head.call_ids)
        turn_items = list(items)
        events = [item.event for item in turn_items if isinstance(item, TimedEvent)]
        request = next((item.request for item in turn_items if isinstance(item, TurnRecord)), None)
        if request is not None:
            events = [*_as_requested(events, request, user_ids)]
        conversion = chunk_conversion(head.past, head.message_id, settings, head.call_ids)
        page.add_response(events, _convert(conversion, turn_items))
        if number == turn:
            return [message for message in page.newest_messages() if not head.past or message["role"] == "assistant"]
    if turn is not None:
        raise _no_turn(turn, number)
    return page.messages()


def _as_requested(events: Iterable[Event], body: Mapping[str, Any], taken_ids: set[str]) -> Iterator[Event]:
    """Yield the events of a turn, with two values from the turn's request: the id of the user message, and the reasons
    of approvals. A ``ChatService`` stores the same data on its events.

    Changed events are copies. ``body``: the body of the request, not validated. ``taken_ids``: the message ids that are
    already used. The function adds the user message's id to this set.
    """
    messages = [message for message in list_field(body, "messages") if isinstance(message, dict)]
    ids = [message.get("id") for message in messages if message.get("role") == "user"]
    edited = body.get("messageId")
    message_id = edited if edited in ids else next(reversed(ids), None)
    reasons = dict(_reasons(messages[-1])) if messages else {}
    for given in events:
        event, changes = given, dict[str, Any]()
        if is_user_message(event) and isinstance(message_id, str) and message_id and message_id not in taken_ids:
            changes = {"message_id": message_id}
            taken_ids.add(message_id)
        elif reasons and is_user_event(event):
            changes = {"reasons": {**reasons, **EventMetadata.of(event).reasons}}
        if changes:
            event = event.model_copy()
            update_metadata(event, **changes)
        yield event


def _reasons(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a pair for each approval or denial with a reason: the approval id and the user's reason."""
    for part in list_field(message, "parts"):
        match part:
            case {"approval": {"id": str(approval_id), "reason": str(reason)}}:
                yield approval_id, reason


def end_as_recorded(conversion: Conversion[Any], end: Ending | None, failure: str) -> None:
    """End the conversion of a response in the same way as the recorded response ended.

    ``end``: the recorded ending. ``None`` if none was recorded: then the events determine how the response ends.
    ``failure``: the recorded text of the run's exception.
    """
    check_instance("conversion", conversion, Conversion, "a conversion")
    if end is not None:
        check_choice("end", end, get_args(Ending))
    check_text("failure", failure)
    match end:
        case "error":
            conversion.fail(RecordedFailureError(failure))
        case "timeout":
            conversion.fail(RecordedFailureError(failure), stopped=True)
        case "abort":
            conversion.abort()
        case _:
            conversion.finish()


def _check_options(delegated: object, options: ConverterOptions) -> None:
    check_texts("delegated", delegated, expected="a set of names")
    Settings(**options)


def _settings(head: TurnHead, delegated: frozenset[str], options: ConverterOptions) -> Settings:
    merged: ConverterOptions = {**head.options, **options}
    return Settings(**hide_task_agents(delegated, merged))


def _convert(conversion: Conversion[T], items: Iterable[TurnItem]) -> Iterator[T]:
    for step in _steps(conversion, items):
        yield from step.sent


def _steps(conversion: Conversion[T], items: Iterable[TurnItem]) -> Iterator[ReplayStep[T]]:
    end: Ending | None = None
    failure = ""
    clock = TurnClock(has_turn_record=False)
    for item in items:
        at: float | None = None
        if isinstance(item, TurnRecord):
            clock = TurnClock(has_turn_record=True)
        elif isinstance(item, TimedEvent):
            at = clock.seconds(item)
            conversion.feed(item.event)
        elif isinstance(item, EndRecord):
            end, failure = item.end, item.failure
        yield ReplayStep(item, conversion.take(), at)
    end_as_recorded(conversion, end, failure)
    yield ReplayStep(None, conversion.take(), outcome=conversion.outcome)


def _no_turn(turn: int, count: int) -> RecordingError:
    return RecordingError(f"the recording has {count} turn{'s' * (count != 1)}; turn {turn} does not exist")
