import asyncio
import threading
from functools import partial

from stream_protocol.serving._planning_thread import LARGE, Planning
from stream_protocol.wire import ChatRequest

SMALL_REQUEST = ChatRequest(id="c1", messages=(), size=LARGE - 1)
LARGE_REQUEST = ChatRequest(id="c1", messages=(), size=LARGE)


async def test_a_large_request_is_planned_beside_the_loop_and_a_small_one_at_once() -> None:
    planning, here = Planning(), threading.get_ident()
    assert await planning.do(SMALL_REQUEST, threading.get_ident) == here
    assert await planning.do(LARGE_REQUEST, threading.get_ident) != here


async def test_large_requests_are_planned_one_after_the_other() -> None:
    planning, loop, began, go_on = Planning(), asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    entered: list[str] = []

    def plan(name: str) -> None:
        entered.append(name)
        loop.call_soon_threadsafe(began.set)
        go_on.wait()

    tasks = [asyncio.create_task(planning.do(LARGE_REQUEST, partial(plan, name))) for name in ("first", "second")]
    await began.wait()
    assert await planning.do(SMALL_REQUEST, str) == ""
    assert entered == ["first"]
    go_on.set()
    await asyncio.gather(*tasks)
    assert entered == ["first", "second"]
