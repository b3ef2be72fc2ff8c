"""State that the page writes, in runs that are steered."""

import asyncio
from typing import Any

import httpx
import pytest

from stream_protocol.serving import SharedState
from stream_protocol.testing import Call, Wait
from tests.serving.steering import SteeredApp, rest
from tests.serving.support import HANG, begin, chat, client, said, soon, stream

pytestmark = pytest.mark.usefixtures("patient_clock")

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
