"""Runs that are ended instead of recovered: their stream, the history, and the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest

from stream_protocol.serving import ChatService, RunOverrides, create_app
from stream_protocol.serving.base._overrides import NO_OVERRIDES
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.chats import load_saved_files
from stream_protocol.serving.engine import _records
from stream_protocol.serving.engine._orphaned_runs import MAX_FAILURES
from stream_protocol.serving.engine._records import OVERRIDDEN_TEXT, UNPLANNABLE_TEXT
from stream_protocol.serving.engine._recovery import OTHER_VERSION_TEXT
from stream_protocol.stream import RUN_FAILED_TEXT
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import parse_chat_request
from tests.comparable_messages import comparable
from tests.durable.older_release import change_kept, kept_in
from tests.durable.shared_state import USER, Gate, SharedState, begin, ended, history, outline, read
from tests.serving.chat_client import Page
from tests.serving.support import HANG, chat, said, soon


@pytest.fixture
def shared(tmp_path: Path, engine_url: str) -> SharedState:
    return SharedState(tmp_path, engine_url)


def talking(shared: SharedState) -> LlmAgent:
    return shared.agent(["First. ", Call("quick", {})], ["Second. ", Call("look", {})], "Done.")


def with_helper(shared: SharedState) -> LlmAgent:
    return talking(shared).clone({"sub_agents": [LlmAgent(name="helper", model=ScriptedLlm(turns=["Hi."]))]})


SHOWN: Final = ["First. ", ("tool-quick", "output-available", {"result": "noted"}), "Second. "]


async def stored(service: ChatService) -> list[Any]:
    _, answer = await history(service)
    *shown, (tool, state, _text) = outline(answer)
    assert (tool, state) == ("tool-look", "output-error")
    return shown


@pytest.mark.parametrize(
    ("agent", "version", "overrides", "text"),
    [
        (with_helper, "", NO_OVERRIDES, OTHER_VERSION_TEXT),
        (talking, "2", NO_OVERRIDES, OTHER_VERSION_TEXT),
        (talking, "", RunOverrides(secrets={"token": "t0p"}), OVERRIDDEN_TEXT),
    ],
    ids=["other agents", "another version", "secrets"],
)
@pytest.mark.parametrize("retried", [True, False], ids=["a retry", "a look"])
async def test_what_earlier_executions_have_stored_stays_on_the_page_and_in_the_history(
    agent: Callable[[SharedState], LlmAgent],
    version: str,
    overrides: RunOverrides,
    text: str,
    retried: bool,
    shared: SharedState,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with shared.service(talking(shared), launched=False) as service:
        _ = await begin(service, overrides)
        await soon(shared.reached)
    async with shared.service(agent(shared), version=version, launched=not retried) as service:
        if retried:
            chunks = await (await begin(service))
            assert chunks[-1] == {"type": "error", "errorText": text}
            assert [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"] == ["First. ", "Second. "]
            assert [chunk["type"] for chunk in chunks if chunk["type"].startswith("tool-output")] == [
                "tool-output-available",
                "tool-output-error",
            ]
        await ended(service)
        assert await stored(service) == SHOWN
        (record,) = [record for record in caplog.records if "in place of being recovered" in record.message]
        assert record.levelname == "ERROR"
        assert " of chat c1 " in record.message
        assert record.message.endswith(text)
    async with shared.service(talking(shared)) as service:
        await ended(service)  # its content is deleted
        assert await stored(service) == SHOWN
    assert shared.ran == {"quick": 1, "look": 1}


async def test_the_next_messages_are_answered_with_all_that_was_stored(shared: SharedState) -> None:
    async with shared.service(talking(shared), launched=False) as service:
        page = Page(create_app(service, identify=lambda _: USER))
        _ = await begin(service)
        await soon(shared.reached)
    shared.gate.set()
    async with shared.service(talking(shared), version="2") as service:
        await ended(service)
        page = Page(create_app(service, identify=lambda _: USER))
        page.messages = await page.stored()
        asked = shared.asked
        await page.send("again")
        assert shared.asked == asked + 1
        assert outline(page.messages[-1]) == ["Done."]  # the model has read both results
        assert comparable(page.messages) == comparable(await page.stored())


async def test_a_recovered_run_that_is_stopped_early_keeps_what_earlier_executions_have_stored(
    shared: SharedState,
) -> None:
    async with shared.service(talking(shared), launched=False) as service:
        _ = await begin(service)
        await soon(shared.reached)
    again = asyncio.Event()

    async def hang(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        again.set()
        await asyncio.Event().wait()

    async with shared.service(talking(shared).clone({"before_model_callback": hang})) as service:
        await soon(again)
        await service.stop("c1", user_id=USER)
        await ended(service)
        assert await stored(service) == SHOWN


async def events_of(service: ChatService) -> int:
    session = await service.runner.session_service.get_session(
        app_name=service.runner.app_name, user_id=USER, session_id="c1"
    )
    assert session is not None
    return len(session.events)


BROKEN: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "a file that is gone": lambda kept: kept["record"].update(words=[{"part": 3, "event": "e-1"}]),
    "a file that is nowhere": lambda kept: kept["record"].update(words=[{"part": 3, "event": None}]),
    "words of a newer release": lambda kept: kept["record"].update(words=[{"sound": "loud"}]),
    "a request that is none": lambda kept: kept["record"].update(request={"id": "c1"}),
    "a message that is none": lambda kept: kept["record"]["request"].update(messages=[{"role": "judge"}]),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_run_whose_record_cannot_be_planned_is_ended_with_a_sentence(
    kind: str, shared: SharedState, caplog: pytest.LogCaptureFixture
) -> None:
    async with shared.service(talking(shared), launched=False) as service:
        _ = await begin(service)
        await soon(shared.reached)
        before = await events_of(service)
    change_kept(shared, BROKEN[kind])
    async with shared.service(talking(shared), launched=False) as service:
        chunks = await (await begin(service))
        assert chunks[-1] == {"type": "error", "errorText": UNPLANNABLE_TEXT}
        await ended(service)
        assert await stored(service) == SHOWN
        assert await events_of(service) - before == 2  # the fence, and the result of the open call
    (told,) = [record for record in caplog.records if "in place of being recovered" in record.message]
    assert told.levelname == "ERROR"
    with kept_in(shared) as database:
        assert database.execute("SELECT * FROM workflow_status").fetchall() == []


@pytest.mark.parametrize("error", [ValueError("odd"), ConnectionError("away")], ids=["odd", "away"])
async def test_a_recovery_that_fails_is_tried_again_and_stores_nothing(
    error: Exception, shared: SharedState, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with shared.service(talking(shared), launched=False) as service:
        _ = await begin(service)
        await soon(shared.reached)
        before = await events_of(service)
    tries, enough, is_away = 0, asyncio.Event(), isinstance(error, ConnectionError)

    async def failing(*_: Any, **__: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries == 2 * MAX_FAILURES:
            enough.set()
        raise error

    shared.gate.set()
    with monkeypatch.context() as broken:
        broken.setattr(_records, "load_saved_files", failing)
        async with shared.service(talking(shared), times=ServiceTimes(look=0.01)) as service:
            if is_away:
                await soon(enough)
                assert await events_of(service) == before
            else:
                await ended(service)
                assert tries == MAX_FAILURES
                assert await stored(service) == SHOWN
    told = [record for record in caplog.records if "It is tried again" in record.message]
    assert len(told) == (0 if is_away else 1)
    async with shared.service(talking(shared)) as service:
        await ended(service)
        _, answer = await history(service)
        assert outline(answer)[-1] == ("Done." if is_away else ("tool-look", "output-error", RUN_FAILED_TEXT))


async def test_a_run_that_cannot_be_recovered_holds_up_no_other(
    shared: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent, launched=False) as service:
        for chat_id in ("bad", "good"):
            body = chat(said("go"), chat_id=chat_id)
            reading = asyncio.create_task(read(await service.respond(parse_chat_request(body), user_id=USER)))
            await soon(shared.reached)
            shared.reached.clear()
    await reading
    load = load_saved_files

    async def failing(runner: Any, session: Any, message: Any) -> Any:
        if session.id == "bad":
            raise ValueError("odd")
        return await load(runner, session, message)

    shared.gate.set()
    monkeypatch.setattr(_records, "load_saved_files", failing)
    async with shared.service(agent) as service, asyncio.timeout(HANG):
        while len(await service.history("good", user_id=USER) or ()) < 2:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.05)
