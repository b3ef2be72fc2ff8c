"""Work in memory alone that may be long: done in a thread then, so that other chats go on meanwhile.

To plan a request and to read a stored session takes less than a millisecond as a rule. With 20 MiB of files or
thousands of events it takes a second, in short steps. Between two steps Python lets the event loop go on.
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
"""Bytes of a body, and of the texts and files of a session. Less than this takes less time than a thread would."""

LARGE_VALUES: Final = 5_000
"""Members of the arguments and results in a session, on all levels: a copy of so many takes some 5 ms."""

LONG_SESSION: Final = 200
"""Events of a session, or chats of a list. Up to 0.1 ms is needed for each; fewer take less than a thread would."""

_ONE_AT_A_TIME: Final[RunVar[anyio.CapacityLimiter]] = RunVar("adk_ui_stream_long_work")
"""Of each event loop: every thread that is at work slows the loop down."""


async def run_off_loop(
    work: Callable[[], T],
    *,
    size: int = 0,
    events: Sequence[Event] = (),
    items: Sized = (),
) -> T:
    """Returns what ``work`` returns. If that is about much, it is done in a thread, one after the other.

    ``size``: the bytes of a request or a response. ``events``: of a session. ``items``: the chats of a list. They must
    be the caller's own, and ``work`` may use nothing that belongs to the event loop.
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
    """The parts of events that may be large: texts, files, arguments and results, outputs of nodes, state."""
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
