"""Provides ``run_off_loop``, which runs long computations in a thread, so that they do not block other chats.

For example, planning a request usually takes less than a millisecond. With 20 MiB of files or thousands of events, it
takes a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar

from stream_protocol.wire import is_too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Sized

    from google.adk.events import Event

T = TypeVar("T")

LARGE_REQUEST: Final = 128 * 1024
"""The number of bytes, of a request's body or a session's content, from which a thread is worth its overhead."""

LARGE_VALUES: Final = 5_000
"""The number of values in a session's arguments and results, on all levels of nesting, from which a thread is worth its
overhead. Copying so many values takes about 5 ms."""

LONG_SESSION: Final = 200
"""The number of events or chats above which a thread is worth its overhead. Each takes up to 0.1 ms."""

_ONE_AT_A_TIME: Final[RunVar[anyio.CapacityLimiter]] = RunVar("adk_ui_stream_long_work")
"""The limiter of each event loop. It allows one thread at a time, because every busy thread slows the event loop
down."""


async def run_off_loop(
    work: Callable[[], T],
    *,
    size: int = 0,
    events: Sequence[Event] = (),
    items: Sized = (),
) -> T:
    """Returns the result of ``work()``. If the work is large, it runs in a thread. Only one such thread runs at a time.

    The other parameters tell how large the work is. ``size``: the bytes of a request or a response. ``events``: the
    events of a session. ``items``: the chats of a list.

    No other task may change the data that ``work`` reads. ``work`` must not use objects that belong to the event loop.
    """
    if not (
        max(len(events), len(items)) > LONG_SESSION
        or size >= LARGE_REQUEST
        or is_too_large([*_payloads(events)], max_length=LARGE_REQUEST, max_items=LARGE_VALUES)
    ):
        return work()
    try:
        limiter = _ONE_AT_A_TIME.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _ONE_AT_A_TIME.set(limiter)
    return await anyio.to_thread.run_sync(work, limiter=limiter)


def _payloads(events: Sequence[Event]) -> Iterator[Any]:
    for event in events:
        yield event.output
        yield event.actions.state_delta
        for part in (event.content.parts if event.content is not None else None) or ():
            yield part.text
            if part.inline_data is not None:
                yield part.inline_data.data
            if part.function_call is not None:
                yield part.function_call.args
            if (response := part.function_response) is not None:
                yield response.response
                yield from (file.inline_data.data for file in response.parts or () if file.inline_data is not None)
