"""A recording's turns -> what their clients would get of them now."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar, Unpack

from stream_protocol.convert import (
    Conversion,
    ConverterOptions,
    Ending,
    Settings,
    chunk_conversion,
    hiding,
    sse_conversion,
)
from stream_protocol.recording._responses import Moment, RecordedResponse, Step
from stream_protocol.recording.read import EndRecord, RecordingError
from stream_protocol.session import apply_approvals, fold_response, is_user_message, user_message
from stream_protocol.wire import SSE_DONE, UIMessage

T = TypeVar("T")

Turns = Iterable[tuple[RecordedResponse, Iterable[Step]]]


class RecordedFailureError(Exception):
    """Stands for what a recorded run raised. ``str(error)`` is its text, as far as that was recorded."""


def selected(turns: Turns, turn: int | None) -> Turns:
    """All turns, or the one of this number, counted from 1. Raises ``RecordingError`` if there is none."""
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
    turns: Turns, *, delegated: frozenset[str] = frozenset(), **options: Unpack[ConverterOptions]
) -> Iterator[bytes]:
    """The SSE events of the turns, each from ``start`` to ``[DONE]``, as the turns are read. ``delegated``: what
    ``delegated_tools`` finds in the whole recording.
    """
    for response, steps in turns:
        settings = _settings(response, delegated, options)
        yield from _converted(sse_conversion(response.past, response.message_id, settings), steps)
        yield SSE_DONE


def replay_messages(
    turns: Turns,
    *,
    turn: int | None = None,
    delegated: frozenset[str] = frozenset(),
    **options: Unpack[ConverterOptions],
) -> Iterator[UIMessage]:
    """The messages that the page shows after all turns, or those of one turn as it shows them after that.

    The user's are there as far as the recording has the user's events.
    """
    told = _told(turns, delegated, options)
    newest: UIMessage | None = None
    for user, message, continues in told if turn is None else _only(told, turn):
        if newest is not None and not continues:
            yield newest
        if user is not None:
            yield user
        newest = message
    if newest is not None:
        yield newest


def _settings(response: RecordedResponse, delegated: frozenset[str], options: ConverterOptions) -> Settings:
    return Settings(**hiding(delegated, {**response.options, **options}))


def _converted(conversion: Conversion[T], steps: Iterable[Step]) -> Iterator[T]:
    end: Ending | None = None
    failure = ""
    for step in steps:
        if isinstance(step, Moment):
            conversion.feed(step.event)
            yield from conversion.written
            conversion.written.clear()
        elif isinstance(step, EndRecord):
            end, failure = step.end, step.failure
    end_as_recorded(conversion, end, failure)
    yield from conversion.written


def end_as_recorded(conversion: Conversion[Any], end: Ending | None, failure: str) -> None:
    """Ends a response as the recording says that it ended; ``None``: as its events say."""
    match end:
        case "error":
            conversion.fail(RecordedFailureError(failure))
        case "abort":
            conversion.abort()
        case _:
            conversion.finish()


Told = tuple[UIMessage | None, UIMessage, bool]
"""Of one turn: what the user said, the agent's message behind it, and whether that was there before."""


def _told(turns: Turns, delegated: frozenset[str], options: ConverterOptions) -> Iterator[Told]:
    message: UIMessage | None = None
    for response, steps in turns:
        settings = _settings(response, delegated, options)
        own = list(steps)
        events = [step.event for step in own if isinstance(step, Moment)]
        before = apply_approvals(message if response.past else None, *events)
        conversion = chunk_conversion(response.past, response.message_id, settings)
        message = fold_response(_converted(conversion, own), before, settings)
        said = user_message(events[0]) if events and is_user_message(events[0]) else None
        yield said, message, bool(response.past)


def _only(told: Iterator[Told], turn: int) -> Iterator[Told]:
    found = list(islice(told, turn))
    if len(found) < turn:
        raise _no_turn(turn, len(found))
    yield found[-1]


def _no_turn(turn: int, count: int) -> RecordingError:
    return RecordingError(f"no turn {turn} in it, only {count}")
