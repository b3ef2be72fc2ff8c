"""The life of a run: readers that leave, stops, limits, and the next request."""

import asyncio
import gc
from typing import Any
from weakref import ref

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.run_logs import EventBuffer, LogBounds
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import StreamProtocolError, parse_chat_request
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import HANG, begin, chat, chunks, post, said, soon, stream, text

pytestmark = pytest.mark.usefixtures("patient_clock")


def service_for(*turns: Any, tools: Any = (), **options: Any) -> InstrumentedService:
    return InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=list(tools)), **options)


async def stored_texts(service: ChatService) -> list[str]:
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    parts = [part for event in session.events if event.content for part in event.content.parts or []]
    return [part.text for part in parts if part.text]


async def test_a_run_goes_on_to_its_end_when_its_reader_leaves() -> None:
    go_on = asyncio.Event()
    service = service_for(["Half ", Wait(go_on), "and whole."])
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
    go_on.set()
    await service.runs.free()
    assert await stored_texts(service) == ["hi", "Half and whole."]


@pytest.mark.parametrize("readers", [1, 2])
async def test_a_response_is_freed_with_its_run_and_not_by_a_later_garbage_collection(
    readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffers: list[ref[EventBuffer]] = []

    class Watched(EventBuffer):
        def __init__(self, *bounds: LogBounds, **options: Any) -> None:
            super().__init__(*bounds, **options)
            buffers.append(ref(self))

    monkeypatch.setattr("stream_protocol.serving.runs._run.EventBuffer", Watched)
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."])))
    gc.disable()
    try:
        responses = [await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")]
        for _ in range(readers - 1):
            resumed = await service.resume("c1", user_id="local")
            assert resumed is not None
            responses.append(resumed)
        for response in responses:
            assert b"Hi." in b"".join([piece async for piece in response])
        await service.aclose()
        del response, responses
        assert buffers
        assert [each() for each in buffers] == [None] * len(buffers)
    finally:
        gc.enable()


async def test_without_grace_the_run_is_stopped_when_its_reader_leaves() -> None:
    never = asyncio.Event()
    service = service_for(["Half ", Wait(never), "and whole."], "Next.", limits=ServiceLimits(disconnect_grace=0))
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
    await service.runs.free()
    assert text(await stream(app, chat(said("next", "u2")))) == "Next."


async def test_a_run_whose_response_is_never_read_is_stopped_too() -> None:
    never = asyncio.Event()
    service = service_for(
        [Wait(never), "Hello."], limits=ServiceLimits(disconnect_grace=0), times=ServiceTimes(first_reader=0.01)
    )
    await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    await service.runs.free()


async def test_a_second_reader_in_time_keeps_the_run_alive() -> None:
    go_on = asyncio.Event()
    service = service_for(["Half ", Wait(go_on), "and whole."], limits=ServiceLimits(disconnect_grace=HANG))
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
    reader = aiter(service.runs.run.log.read())
    assert b'"start"' in await anext(reader)
    go_on.set()
    whole = b"".join([batch async for batch in reader])
    assert b"whole." in whole


async def test_stop_ends_the_stream_with_abort_at_once_and_cancels_the_tool() -> None:
    cancelled = asyncio.Event()
    started = asyncio.Event()

    async def dig() -> str:
        """Never ends by itself."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    service = service_for([Call("dig", {})], "Next.", tools=[dig])
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await soon(started)
        service.runs.run.stop()
        assert (await exchange.until("abort"))["type"] == "abort"
        assert await exchange.event() == "data: [DONE]"
        await soon(cancelled)
    assert text(await stream(app, chat(said("next", "u2")))) == "Next."


async def test_stop_does_not_wait_for_a_thread_that_cannot_be_stopped() -> None:
    release = asyncio.Event()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def dig() -> str:
        """A plain function in a thread."""
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(HANG)
        return "dug"

    service = service_for([Call("dig", {})], tools=[dig])
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await soon(started)
        service.runs.run.stop()
        await exchange.until("abort")
    assert not release.is_set()
    release.set()
    await service.runs.free()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see its end
async def test_a_run_that_does_not_listen_is_cancelled_in_the_end() -> None:
    started = asyncio.Event()
    ignored = asyncio.Event()

    async def dig() -> str:
        """Swallows the first cancellation."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ignored.set()
            await asyncio.Event().wait()
        return "never"

    service = service_for([Call("dig", {})], tools=[dig], times=ServiceTimes(stop=0.01))
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await soon(started)
        service.runs.run.stop()
        await exchange.until("abort")
    await service.runs.free()
    assert ignored.is_set()
    gc.collect()  # what ADK leaves of a run that was cancelled while it waited must not surface in another test


async def test_a_run_that_takes_too_long_ends_in_an_error() -> None:
    service = service_for([Wait(asyncio.Event()), "Never."], limits=ServiceLimits(run_timeout=0.01))
    response = await post(create_app(service), chat(said("hi")))
    told = "The answer took too long and was ended. Ask for less at once."
    assert chunks(response.text)[-1] == {"type": "error", "errorText": told}
    await service.runs.free()


async def test_the_same_request_twice_at_once_runs_the_agent_once_and_both_read_it() -> None:
    service = service_for("Hello.")
    app = create_app(service)
    first, second = await asyncio.gather(*(post(app, chat(said("hi"))) for _ in range(2)))
    assert (first.status_code, first.text) == (200, second.text)
    assert await stored_texts(service) == ["hi", "Hello."]


@pytest.mark.parametrize(("stop_timeout", "status"), [(HANG, 200), (0.01, 503)])
async def test_a_request_waits_for_a_run_that_is_stopping_but_not_for_ever(stop_timeout: float, status: int) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def dig() -> str:
        """Takes its time to stop."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await release.wait()
        return "never"

    service = service_for([Call("dig", {})], "Next.", tools=[dig], limits=ServiceLimits(stop_timeout=stop_timeout))
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await soon(started)
        service.runs.run.stop()
        await exchange.until("abort")
        waiting = asyncio.create_task(post(app, chat(said("next", "u2"))))
        if status == 200:
            await asyncio.sleep(0.05)
            assert not waiting.done()
            release.set()
        assert (await waiting).status_code == status
        release.set()
    await service.runs.free()


async def test_a_finished_run_is_forgotten() -> None:
    service = service_for("One.", "Two.")
    app = create_app(service)
    for number in range(2):
        await stream(app, chat(said("hi"), chat_id=f"c{number}"))
    await service.runs.free()
    gc.collect()
    assert not service.runs.remembered


@pytest.mark.slow
async def test_a_reader_that_does_not_read_stalls_neither_the_agent_nor_its_tools() -> None:
    used = asyncio.Event()

    def use() -> str:
        """Records that it ran."""
        used.set()
        return "used"

    async def use_it() -> str:
        """On the loop."""
        return use()

    service = service_for([Call("use_it", {})], ["Long. " * 2000], tools=[use_it])
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        exchange.may_send.clear()
        await soon(used)
        await service.runs.free()
        exchange.may_send.set()
        await exchange.status()
        await exchange.until("finish")


async def test_closing_the_service_stops_its_runs_and_refuses_new_ones() -> None:
    service = service_for(["Half ", Wait(asyncio.Event()), "never."])
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        await service.aclose()
        await exchange.until("abort")
    refusal = await post(app, chat(said("next", "u2")))
    assert refusal.status_code == 503
    assert not service.runs.running


async def test_the_apps_lifespan_closes_the_service() -> None:
    service = service_for(["Half ", Wait(asyncio.Event()), "never."])
    app = create_app(service)
    async with app.router.lifespan_context(app), begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
    assert not service.runs.running


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        *[({"disconnect_grace": seconds}, "`disconnect_grace` must be 0 or more") for seconds in (-1, float("nan"))],
        *[({"run_timeout": seconds}, "`run_timeout` must be a positive") for seconds in (0, -1, float("nan"))],
        *[({"stop_timeout": seconds}, "`stop_timeout` must be 0 or more") for seconds in (-1, float("nan"))],
    ],
)
def test_a_limit_that_is_no_time_is_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamProtocolError, match=message):
        ServiceLimits(**limits)
