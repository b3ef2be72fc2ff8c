"""Convert the events of a whole run to a stream of chunks. If the run raises an exception, the stream ends with an
``error`` chunk.

``stream_*`` functions take an asynchronous iterable, ``iter_*`` functions a synchronous iterable. ``*_chunks``
functions yield dictionaries. ``*_sse`` functions yield bytes: one SSE event at a time, and ``data: [DONE]`` at the end.
An ADK event may also be a dictionary: see ``StreamProtocolConverter``.
"""

import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, nullcontext
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar, Unpack

from stream_protocol.adk import EventOrDict, UnexpectedItemError, WarnOnce, find_task_agents, read_events
from stream_protocol.stream._conversion import Conversion, call_ids, chunk_conversion, sse_conversion
from stream_protocol.stream._options import ConverterOptions, Settings, hide_task_agents
from stream_protocol.wire import SSE_DONE, AnyChunk, check_iterable

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.adk import CallIds

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SSE_TAIL: Final = (SSE_DONE,)

_OF_SYNC: Final = "for a synchronous iterable there is `{}`"
_OF_ASYNC: Final = "for an asynchronous iterator there is `{}`"


def stream_chunks(
    events: AsyncIterable[EventOrDict],
    *,
    past: Iterable[EventOrDict] = (),
    message_id: str | None = None,
    taken_ids: Collection[str] = (),
    **options: Unpack[ConverterOptions],
) -> AsyncIterator[AnyChunk]:
    """Return the chunks of a run. The keyword arguments are those of ``StreamProtocolConverter``.

    If ``events`` raises an exception, the exception is logged, and the response ends with an ``error`` chunk. Closing
    the returned iterator early also closes ``events``. Raises ``TypeError`` if ``events`` is not asynchronous, or if an
    item is not an event.
    """
    conversion = chunk_conversion(past, message_id, Settings(**options), call_ids(taken_ids))
    check_iterable("stream_chunks", events, "events", is_async=True, otherwise=_OF_SYNC.format("iter_chunks"))
    return _stream(conversion, events, ())


def stream_sse(
    events: AsyncIterable[EventOrDict],
    *,
    past: Iterable[EventOrDict] = (),
    message_id: str | None = None,
    taken_ids: Collection[str] = (),
    **options: Unpack[ConverterOptions],
) -> AsyncIterator[bytes]:
    """Return the chunks of a run as bytes, for a response with ``SSE_HEADERS``.

    Takes the same arguments and raises the same errors as ``stream_chunks``. Faster than encoding each chunk of
    ``stream_chunks`` with ``encode_sse``.
    """
    conversion = sse_conversion(past, message_id, Settings(**options), call_ids(taken_ids))
    check_iterable("stream_sse", events, "events", is_async=True, otherwise=_OF_SYNC.format("iter_sse"))
    return _stream(conversion, events, _SSE_TAIL)


def iter_chunks(
    events: Iterable[EventOrDict],
    *,
    past: Iterable[EventOrDict] = (),
    message_id: str | None = None,
    taken_ids: Collection[str] = (),
    **options: Unpack[ConverterOptions],
) -> Iterator[AnyChunk]:
    """Return the chunks of a run. ``events``: a synchronous iterable. All other arguments, and the errors, are those of
    ``stream_chunks``.

    If ``events`` is a list or tuple, it must contain the whole run. Then calls that start task-mode agents are
    recognized and hidden.
    """
    check_iterable("iter_chunks", events, "events", otherwise=_OF_ASYNC.format("stream_chunks"))
    past, events, settings = _read(past, events, options)
    return _iterate(chunk_conversion(past, message_id, settings, call_ids(taken_ids)), events, ())


def iter_sse(
    events: Iterable[EventOrDict],
    *,
    past: Iterable[EventOrDict] = (),
    message_id: str | None = None,
    taken_ids: Collection[str] = (),
    **options: Unpack[ConverterOptions],
) -> Iterator[bytes]:
    """Return the chunks of a run as bytes. ``events``: a synchronous iterable. All other arguments, and the errors, are
    those of ``stream_sse``.

    If ``events`` is a list or tuple, it must contain the whole run: see ``iter_chunks``.
    """
    check_iterable("iter_sse", events, "events", otherwise=_OF_ASYNC.format("stream_sse"))
    past, events, settings = _read(past, events, options)
    return _iterate(sse_conversion(past, message_id, settings, call_ids(taken_ids)), events, _SSE_TAIL)


def iter_stored_sse(
    events: "Sequence[Event]",
    *,
    past: "Sequence[Event]",
    seen: int | None,
    message_id: str,
    call_ids: "CallIds",
    **options: Unpack[ConverterOptions],
) -> Iterator[bytes]:
    """Return the chunks of a stored response like ``iter_sse``. ``seen``: the number of events in ``past`` that the
    client has received; ``None`` for all. The response begins with the other events.
    """
    return _iterate(sse_conversion(past, message_id, Settings(**options), call_ids, seen=seen), events, _SSE_TAIL)


def _read(
    past: Iterable[EventOrDict], events: Iterable[EventOrDict], options: ConverterOptions
) -> tuple[Iterable[EventOrDict], Iterable[EventOrDict], Settings]:
    """Return ``past``, ``events`` and the settings. Dictionaries in ``past`` become ADK events. If ``events`` is a list
    or tuple, its dictionaries also become ADK events.
    """
    warn = WarnOnce()
    check_iterable("past", past, "events")
    known_past = read_events(past, warn)
    if not isinstance(events, Sequence):
        return known_past, events, Settings(**options)
    known = read_events(events, warn)
    task_agents = cache(lambda: find_task_agents(chain(known_past, known)))
    return known_past, known, Settings(**hide_task_agents(lambda tool: tool in task_agents(), options))


async def _stream(
    conversion: Conversion[T], events: AsyncIterable[EventOrDict], tail: tuple[T, ...]
) -> AsyncGenerator[T, None]:
    text_delta = conversion.events.text_delta
    try:
        async with aclosing(events) if isinstance(events, AsyncGenerator) else nullcontext():
            async for event in events:
                if (item := text_delta(event)) is not None:
                    yield item
                    continue
                conversion.feed(event)
                for item in conversion.take():
                    yield item
        conversion.finish()
    except UnexpectedItemError:
        raise
    except Exception as error:
        _fail(conversion, error)
    for item in (*conversion.take(), *tail):
        yield item


def _iterate(conversion: Conversion[T], events: Iterable[EventOrDict], tail: tuple[T, ...]) -> Iterator[T]:
    text_delta = conversion.events.text_delta
    try:
        for event in events:
            if (item := text_delta(event)) is not None:
                yield item
                continue
            conversion.feed(event)
            yield from conversion.take()
        conversion.finish()
    except UnexpectedItemError:
        raise
    except Exception as error:
        _fail(conversion, error)
    yield from (*conversion.take(), *tail)


def _fail(conversion: Conversion[T], error: Exception) -> None:
    logger.error("the run failed", exc_info=error)
    fail_response(conversion, error)


def fail_response(conversion: Conversion[T], error: BaseException, *, stopped: bool = False) -> None:
    """End the response with an ``error`` chunk. If the app's hook ``transform`` raises for this chunk, the chunk is
    written without the hook.
    """
    try:
        conversion.fail(error, stopped=stopped)
    except Exception as second:  # the app's hook raised, and will not be called again
        logger.exception("`transform` raised")
        conversion.fail(second, stopped=stopped)
