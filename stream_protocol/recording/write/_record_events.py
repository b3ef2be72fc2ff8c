"""Provides ``record``, which takes the events of any source, writes each event to a recording, and yields it."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterable, Mapping
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import Any, TypeVar, Unpack

from stream_protocol.adk import EventOrDict, WarnOnce, read_events
from stream_protocol.recording.write._redaction import Redact, check_redact
from stream_protocol.recording.write._turn_writer import TurnWriter
from stream_protocol.stream import Conversion, ConverterOptions, Settings, call_ids, fail_response, sse_conversion
from stream_protocol.wire import check_iterable, check_mapping, check_path

E = TypeVar("E", bound=EventOrDict)


def record(
    events: AsyncIterable[E],
    path: str | Path,
    *,
    past: Iterable[EventOrDict] = (),
    message_id: str | None = None,
    taken_ids: Collection[str] = (),
    request: Mapping[str, Any] | None = None,
    redact: Redact | None = None,
    **options: Unpack[ConverterOptions],
) -> AsyncGenerator[E, None]:
    """Yield the events unchanged, and append them to the recording at ``path`` as one turn. Events may be dictionaries.

    ``past``, ``message_id``, ``taken_ids`` and ``options``: the arguments that you pass to ``StreamProtocolConverter``
    for this turn. ``record`` needs these arguments because it also records chunks. ``request``: the client's request
    body, if there is one. ``redact``: a function of your app that removes further secrets; see ``Redact``.

    If the file cannot be written, the error is logged, and the function continues to yield events. If you stop the
    iteration early, ``events`` is closed.
    """
    check_path("path", path)
    check_mapping("request", request, or_none=True)
    check_redact(redact)
    conversion = sse_conversion(past, message_id, Settings(**options), call_ids(taken_ids))
    otherwise = "make it one with an async generator"
    check_iterable("record", events, "events", is_async=True, otherwise=otherwise)
    turn = TurnWriter(Path(path), chat=None, request=request, options=options, redact=redact, failed_files=set())
    return _record_each(events, _ResponseWriter(turn, conversion))


async def _record_each(events: AsyncIterable[E], response: "_ResponseWriter") -> AsyncGenerator[E, None]:
    try:
        async with aclosing(events) if isinstance(events, AsyncGenerator) else nullcontext():
            async for event in events:
                response.write(event)
                yield event
    except BaseException as error:
        response.end(error)
        raise
    response.end(None)


class _ResponseWriter:
    """Writes events to a recording, together with their chunks."""

    def __init__(self, turn: TurnWriter, conversion: Conversion[bytes]) -> None:
        self._turn = turn
        self._conversion = conversion
        self._begun = False
        self._warn = WarnOnce()

    def write(self, given: EventOrDict) -> None:
        with self._turn.stop_on_failure():  # a dictionary may not be an event
            (event,) = read_events([given], self._warn)
            self._begin(event.invocation_id)
            self._turn.event(event)
            self._convert(lambda conversion: conversion.feed(event))

    def end(self, error: BaseException | None) -> None:
        """End the recorded turn. ``error``: the exception that the iteration over the events raised, or ``None``."""
        self._begin(None)
        match error:
            case None:
                self._convert(lambda conversion: conversion.finish())
            case Exception():
                self._convert(lambda conversion: fail_response(conversion, error))
            case _:
                self._convert(lambda conversion: conversion.abort())
        self._turn.end(self._conversion.outcome)

    def _begin(self, invocation_id: str | None) -> None:
        if not self._begun:
            self._begun = True
            self._turn.begin(self._conversion.message_id or invocation_id or None)

    def _convert(self, step: Callable[[Conversion[bytes]], None]) -> None:
        if self._turn.active:
            with self._turn.stop_on_failure():  # an app's hook may raise
                step(self._conversion)
                self._turn.written(self._conversion.take())
