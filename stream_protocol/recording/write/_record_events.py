"""``record``: any source of events, recorded on its way to whoever reads it."""

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import Any, Unpack

from google.adk.events import Event

from stream_protocol.convert import Conversion, ConverterOptions, Settings, fail_response, sse_conversion
from stream_protocol.recording.write._recorder import Clock, TurnWriter
from stream_protocol.recording.write._redaction import Redact


def record(
    events: AsyncIterable[Event],
    path: str | Path,
    *,
    past: Iterable[Event] = (),
    message_id: str | None = None,
    request: Mapping[str, Any] | None = None,
    redact: Redact | None = None,
    clock: Clock = time.monotonic,
    **options: Unpack[ConverterOptions],
) -> AsyncGenerator[Event, None]:
    """The same events, one turn, which is added to the recording at ``path`` as it is read.

    ``past``, ``message_id`` and options are those of ``StreamProtocolConverter``, and best those that the events are
    converted with: they make the chunks that are recorded. ``request``: the client's body, if there is one. ``redact``:
    the app's own redaction: see ``Redact``.

    A disk that fails is logged and harms nothing else. If the reader stops early, so do ``events``.
    """
    conversion = sse_conversion(past, message_id, Settings(**options))
    turn = TurnWriter(
        Path(path), chat=None, request=request, options=options, redact=redact, clock=clock, given_up=set()
    )
    return _recorded(events, _Response(turn, conversion))


async def _recorded(events: AsyncIterable[Event], response: "_Response") -> AsyncGenerator[Event, None]:
    try:
        async with aclosing(events) if isinstance(events, AsyncGenerator) else nullcontext():
            async for event in events:
                response.take(event)
                yield event
    except BaseException as error:
        response.end(error)
        raise
    response.end(None)


class _Response:
    """The response that the events give, on its way to the recording beside them."""

    def __init__(self, turn: TurnWriter, conversion: Conversion[bytes]) -> None:
        self._turn = turn
        self._conversion = conversion
        self._begun = False

    def take(self, event: Event) -> None:
        self._begin(event.invocation_id)
        self._turn.event(event)
        self._convert(lambda conversion: conversion.feed(event))

    def end(self, error: BaseException | None) -> None:
        """The events are over, by this error."""
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
            with self._turn.giving_up():  # a hook of the app's may raise
                step(self._conversion)
                self._turn.written(self._conversion.take())
