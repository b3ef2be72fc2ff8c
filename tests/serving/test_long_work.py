import asyncio
import threading
from functools import partial

from stream_protocol.serving._long_work import LARGE_REQUEST, LONG_SESSION, long_work
from stream_protocol.wire import ChatRequest

SMALL = ChatRequest(id="c1", messages=(), size=LARGE_REQUEST - 1)
LARGE = ChatRequest(id="c1", messages=(), size=LARGE_REQUEST)


async def test_long_work_is_done_beside_the_loop_and_short_work_at_once() -> None:
    here = threading.get_ident()
    assert await long_work(threading.get_ident, request=SMALL, items=range(LONG_SESSION)) == here
    assert await long_work(threading.get_ident, request=LARGE) != here
    assert await long_work(threading.get_ident, request=SMALL, items=range(LONG_SESSION + 1)) != here


async def test_long_work_is_done_one_after_the_other() -> None:
    loop, began, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    entered: list[str] = []

    def work(name: str) -> None:
        entered.append(name)
        loop.call_soon_threadsafe(began.set)
        go_on.wait()

    tasks = [asyncio.create_task(long_work(partial(work, name), request=LARGE)) for name in ("first", "second")]
    await began.wait()
    assert await long_work(str, request=SMALL) == ""
    assert entered == ["first"]
    go_on.set()
    await asyncio.gather(*tasks)
    assert entered == ["first", "second"]
