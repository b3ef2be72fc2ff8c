import asyncio
import threading
from functools import partial

import pytest
from google.adk.events import Event
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, FunctionResponsePart, Part

from stream_protocol.serving.base._off_loop import LARGE_REQUEST, LARGE_VALUES, LONG_SESSION, run_off_loop

SMALL = LARGE_REQUEST - 1
LARGE = LARGE_REQUEST


async def test_long_work_is_done_beside_the_loop_and_short_work_at_once() -> None:
    here = threading.get_ident()
    assert await run_off_loop(threading.get_ident, size=SMALL, items=range(LONG_SESSION)) == here
    assert await run_off_loop(threading.get_ident, size=LARGE) != here
    assert await run_off_loop(threading.get_ident, size=SMALL, items=range(LONG_SESSION + 1)) != here


async def test_long_work_is_done_one_after_the_other() -> None:
    loop, began, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    entered: list[str] = []

    def work(name: str) -> None:
        entered.append(name)
        loop.call_soon_threadsafe(began.set)
        go_on.wait()

    tasks = [asyncio.create_task(run_off_loop(partial(work, name), size=LARGE)) for name in ("first", "second")]
    await began.wait()
    assert await run_off_loop(str, size=SMALL) == ""
    assert entered == ["first"]
    go_on.set()
    await asyncio.gather(*tasks)
    assert entered == ["first", "second"]


LARGE_BYTES = b"x" * (LARGE_REQUEST + 1)
FILE = FunctionResponsePart.from_bytes(data=LARGE_BYTES, mime_type="image/png")


@pytest.mark.parametrize(
    "part",
    [
        Part(text=LARGE_BYTES.decode()),
        Part(inline_data=Blob(data=LARGE_BYTES, mime_type="image/png")),
        Part(function_call=FunctionCall(name="f", args={"x": [0] * LARGE_VALUES})),
        Part(function_response=FunctionResponse(name="f", response={"x": LARGE_BYTES.decode()})),
        Part(function_response=FunctionResponse(name="f", response={}, parts=[FILE])),
    ],
)
async def test_what_is_about_large_events_is_long_however_few_they_are(part: Part) -> None:
    here = threading.get_ident()
    events = [Event(author="root"), Event(author="root", content=Content(parts=[Part(text="short"), part]))]
    assert await run_off_loop(threading.get_ident, events=events[:1]) == here
    assert await run_off_loop(threading.get_ident, events=events) != here
