"""State that the page writes, in runs that are steered."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import httpx
import pytest

from stream_protocol.serving import SharedState
from stream_protocol.serving.chats import PageWrites
from stream_protocol.testing import Call, Wait
from tests.serving.steering import SteeredApp, rest
from tests.serving.support import HANG, begin, chat, client, said, soon, stream

pytestmark = pytest.mark.usefixtures("patient_clock")

Send: TypeAlias = Callable[[SteeredApp, Any], Coroutine[Any, Any, int]]

SHARED = SharedState(write={"theme": {"enum": ["light", "dark"]}})


async def of_page(app: SteeredApp) -> Any:
    """The state that the page gets."""
    async with client(app.app) as http:
        return (await http.get("/api/chat/c1")).json()["state"]


async def patch(app: SteeredApp, changes: Any) -> httpx.Response:
    async with client(app.app) as http:
        return await http.patch("/api/chat/c1/state", json=changes)


async def of_session(app: SteeredApp) -> Any:
    """The theme in the session: what the agent has taken."""
    service = app.service.runner.session_service
    session = await service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    return session.state.get("theme")


async def test_state_that_comes_with_a_steering_message_is_taken_at_the_next_step() -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.", on_busy="steer", shared_state=SHARED)
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        body = chat(said("Dig two."), said("Stop at one.", "s1"), state={"theme": "dark"})
        second = asyncio.create_task(stream(app.app, body))
        async with asyncio.timeout(HANG):
            while await of_page(app) != {"theme": "dark"}:  # noqa: ASYNC110 - in the store
                await asyncio.sleep(0.01)
        app.may_end.set()
        await rest(answer)
        await asyncio.wait_for(second, HANG)
    assert len(app.model.read) == 2
    assert await of_session(app) == "dark"


async def test_a_turn_that_begins_by_itself_does_not_bring_back_older_state() -> None:
    may_end = asyncio.Event()
    app = SteeredApp(["One ", Wait(may_end), "two."], "Stopped.", shared_state=SHARED)
    async with begin(app.app, chat(said("Count."), state={"theme": "light"})) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert (await app.steer("Stop at one."))["type"] == "delivered"
        assert (await patch(app, {"theme": "dark"})).status_code == 200
        may_end.set()
        await rest(answer)
    await app.service.drain()
    assert len(app.model.read) == 2
    assert await of_session(app) == "dark"


@pytest.fixture(params=["the route", "a new message"])
def sends(request: pytest.FixtureRequest) -> Send:
    """Sends a steering message with state: by its route, or as a stock client. Returns the status."""

    async def send(app: SteeredApp, state: Any) -> int:
        async with client(app.app) as http:
            if request.param == "the route":
                return (await http.post("/api/chat/c1/steer", json={**said("In the dark.", "s1"), **state})).status_code
            body = chat(said("Dig two."), said("In the dark.", "s1"), **state)
            return (await http.post("/api/chat", json=body)).status_code

    return send


async def test_without_its_state_no_message_is_accepted(sends: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    app = SteeredApp(Call("dig", {}), "Dug.", on_busy="steer", shared_state=SHARED)
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        with monkeypatch.context() as away:
            away.setattr(PageWrites, "add", failing)
            assert await asyncio.wait_for(sends(app, {"state": {"theme": "dark"}}), HANG) >= 500
        assert "accepted" not in str([event.custom_metadata for event in await app.stored()])
        again = asyncio.create_task(sends(app, {"state": {"theme": "dark"}}))
        await app.accepted(1)
        assert await of_page(app) == {"theme": "dark"}
        app.may_end.set()
        await rest(answer)
        assert await asyncio.wait_for(again, HANG) == 200
    assert app.model.read[1][-1] == "In the dark."
    assert await of_session(app) == "dark"


async def failing(*_: object) -> None:
    raise ConnectionError("The store is away.")


async def test_a_retry_of_an_accepted_message_does_not_bring_back_older_state(sends: Send) -> None:
    app = SteeredApp(Call("dig", {}), "Dug.", on_busy="steer", shared_state=SHARED)
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        first = asyncio.create_task(sends(app, {"state": {"theme": "dark"}}))
        await app.accepted(1)
        assert (await patch(app, {"theme": "light"})).status_code == 200
        second = asyncio.create_task(sends(app, {"state": {"theme": "dark"}}))
        await asyncio.wait({second}, timeout=0.2)  # by the route it ends, as a new message it waits
        assert await of_page(app) == {"theme": "light"}
        app.may_end.set()
        await rest(answer)
        assert [await asyncio.wait_for(each, HANG) for each in (first, second)] == [200, 200]
    assert await sends(app, {"state": {"theme": "dark"}}) == 200
    assert await of_session(app) == "light"
