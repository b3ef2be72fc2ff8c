"""Replays the turns of a recording: what their clients would get now."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar, Unpack

from stream_protocol.convert import (
    Conversion,
    ConverterOptions,
    Ending,
    Settings,
    chunk_conversion,
    hide_tools,
    sse_conversion,
)
from stream_protocol.recording._recording import Recording
from stream_protocol.recording._split_turns import TimedEvent, TurnHead, TurnItem, TurnStream
from stream_protocol.recording.read import EndRecord, RecordingError
from stream_protocol.session import apply_approvals, fold_response, is_user_message, user_message
from stream_protocol.wire import SSE_DONE, UIMessage

T = TypeVar("T")


class RecordedFailureError(Exception):
    """Stands for the exception of a recorded run. ``str(error)`` is its text if that was recorded."""


def replay(recording: Recording, *, turn: int | None = None, **options: Unpack[ConverterOptions]) -> Iterator[bytes]:
    """Yields the SSE events of all turns, or of one, counted from 1. Each turn goes from ``start`` to ``[DONE]``.

    The bytes are the same each time. ``options`` are the converter's; for options that are not given, the recorded ones
    count. A turn is read while it is replayed. Raises ``RecordingError`` if there is no such turn, and if the file has
    changed and is no longer a recording.
    """
    return replay_sse(select_turn(recording.stream_turns(), turn), delegated=recording.delegated, **options)


def select_turn(turns: TurnStream, turn: int | None) -> TurnStream:
    """Yields all turns, or the one with this number, counted from 1. Raises ``RecordingError`` if there is none."""
    if turn is None:
        yield from turns
        return
    number = 0
    for number, found in enumerate(turns, 1):
        if number == turn:
            yield found
            return
    raise _no_turn(turn, number)


def replay_sse(
    turns: TurnStream, *, delegated: frozenset[str] = frozenset(), **options: Unpack[ConverterOptions]
) -> Iterator[bytes]:
    """Yields the SSE events of the turns, each from ``start`` to ``[DONE]``, while the turns are read.

    ``delegated``: ``Recording.delegated``.
    """
    for head, items in turns:
        settings = _settings(head, delegated, options)
        yield from _convert(sse_conversion(head.past, head.message_id, settings), items)
        yield SSE_DONE


def replay_messages(
    turns: TurnStream,
    *,
    turn: int | None = None,
    delegated: frozenset[str] = frozenset(),
    **options: Unpack[ConverterOptions],
) -> Iterator[UIMessage]:
    """Yields the messages that the page shows after all turns; or those of one turn, as they are after that turn.

    The user's messages are there if the user's events were recorded. ``delegated``: ``Recording.delegated``.
    """
    newest: UIMessage | None = None
    messages = _turn_messages(turns, delegated, options)
    for user, answer, continues in messages if turn is None else _only(messages, turn):
        if newest is not None and not continues:
            yield newest
        if user is not None:
            yield user
        newest = answer
    if newest is not None:
        yield newest


def end_as_recorded(conversion: Conversion[Any], end: Ending | None, failure: str) -> None:
    """Ends a response as the recorded one ended. With ``None`` the events decide."""
    match end:
        case "error":
            conversion.fail(RecordedFailureError(failure))
        case "timeout":
            conversion.fail(RecordedFailureError(failure), stopped=True)
        case "abort":
            conversion.abort()
        case _:
            conversion.finish()


def _settings(head: TurnHead, delegated: frozenset[str], options: ConverterOptions) -> Settings:
    return Settings(**hide_tools(delegated, {**head.options, **options}))


def _convert(conversion: Conversion[T], items: Iterable[TurnItem]) -> Iterator[T]:
    end: Ending | None = None
    failure = ""
    for item in items:
        if isinstance(item, TimedEvent):
            conversion.feed(item.event)
            yield from conversion.take()
        elif isinstance(item, EndRecord):
            end, failure = item.end, item.failure
    end_as_recorded(conversion, end, failure)
    yield from conversion.take()


class _TurnMessages(NamedTuple):
    """The messages of one turn."""

    user: UIMessage | None
    """What the user said; ``None`` if the turn begins with an answer, or if the user's event was not recorded."""
    answer: UIMessage
    """The assistant's message after the turn."""
    continues: bool
    """Whether the message existed before the turn."""


def _turn_messages(turns: TurnStream, delegated: frozenset[str], options: ConverterOptions) -> Iterator[_TurnMessages]:
    message: UIMessage | None = None
    for head, items in turns:
        settings = _settings(head, delegated, options)
        turn_items = list(items)
        events = [item.event for item in turn_items if isinstance(item, TimedEvent)]
        before = apply_approvals(message if head.past else None, *events)
        conversion = chunk_conversion(head.past, head.message_id, settings)
        message = fold_response(_convert(conversion, turn_items), before, settings)
        user = user_message(events[0]) if events and is_user_message(events[0]) else None
        yield _TurnMessages(user, message, bool(head.past))


def _only(messages: Iterator[_TurnMessages], turn: int) -> Iterator[_TurnMessages]:
    found = list(islice(messages, turn))
    if len(found) < turn:
        raise _no_turn(turn, len(found))
    yield found[-1]


def _no_turn(turn: int, count: int) -> RecordingError:
    return RecordingError(f"no turn {turn} in it, only {count}")
