"""Steering messages that are refused."""

import asyncio
from typing import Any

import pytest

from stream_protocol import StreamProtocolError
from stream_protocol.serving import ChatService, PageContext, SharedState, create_app, header_user
from stream_protocol.serving.base import ServiceLimits
from stream_protocol.serving.run_logs._memory import _MemoryLease
from stream_protocol.testing import Call
from tests.serving.steering import SteeredApp, rest
from tests.serving.support import HANG, begin, chat, chunks, client, only, post, said, soon

pytestmark = pytest.mark.usefixtures("patient_clock")

DELIVERED = {"type": "delivered", "id": "s1"}
PARTS = [{"type": "text", "text": "Stop at one."}]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"parts": PARTS}, 422),
        ({"id": "", "parts": PARTS}, 422),
        ({"id": "s1", "parts": []}, 422),
        ({"id": "s1", "role": "assistant", "parts": PARTS}, 422),
        ({"id": "s1", "role": "system", "parts": PARTS}, 422),
        ({"id": "s1", "parts": [{"type": "file", "mediaType": "a/b", "url": "file:///etc/passwd"}]}, 422),
        ([], 400),
        ({"id": "u1", "parts": PARTS}, 409),
    ],
)
async def test_a_message_that_is_no_new_message_of_the_user_is_refused(body: Any, status: int) -> None:
    app = SteeredApp(Call("dig", {}), "Dug two.")
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        async with client(app.app) as http:
            refused = await http.post("/api/chat/c1/steer", json=body)
        assert refused.status_code == status
        assert refused.json()["error"]
        app.may_end.set()
        assert only(await rest(answer), "data-adk-steering") == []


async def test_nobody_steers_a_chat_that_is_not_the_users() -> None:
    """Not even its state and context arrive, and the refusal is that of an unknown chat."""
    app = SteeredApp(
        Call("dig", {}), "Dug.", context=PageContext(dict[str, str]), shared_state=SharedState(write={"theme": str})
    )
    app.app = create_app(app.service, identify=header_user("X-User"))
    body = {**said("hi", "s1"), "context": {"path": "/"}, "state": {"theme": "dark"}}
    ann, eve = {"x-user": "ann"}, {"x-user": "eve"}
    async with client(app.app) as http:
        running = asyncio.create_task(http.post("/api/chat", json=chat(said("Dig.")), headers=ann))
        await soon(app.digging)
        refused = [
            await http.post(f"/api/chat/{chat_id}/steer", json=body, headers=eve) for chat_id in ("c1", "unknown")
        ]
        assert [(answer.status_code, answer.text) for answer in refused] == [(404, refused[1].text)] * 2
        app.may_end.set()
        assert only(chunks((await asyncio.wait_for(running, HANG)).text), "data-adk-steering") == []
        assert (await http.get("/api/chat/c1", headers=ann)).json()["state"] == {}
        assert (await http.get("/api/chat/c1", headers=eve)).status_code == 404
    assert "/" not in str(app.model.read)


async def test_so_many_messages_wait_for_a_run() -> None:
    app = SteeredApp(Call("dig", {}), "Dug.")
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        for number in range(16):
            assert (await app.steer("More.", f"s{number}"))["type"] == "delivered"
        async with client(app.app) as http:
            refused = await http.post("/api/chat/c1/steer", json=said("More.", "s16"))
        assert refused.status_code == 429
        app.may_end.set()
        assert len(only(await rest(answer), "data-adk-steering")) == 16


async def test_a_worker_without_the_lease_stores_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker was frozen, and its lease has expired. The page may have been told that no run took the message.

    So the refusal stays, even if the worker can restore its lease. The page can send the message again.
    """
    app = SteeredApp(Call("dig", {}), "Dug.")
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        with monkeypatch.context() as woken:
            woken.setattr(_MemoryLease, "held", False)
            async with client(app.app) as http:
                response = await http.post("/api/chat/c1/steer", json=said("More.", "s1"))
        assert response.status_code == 503
        app.may_end.set()
        assert only(await rest(answer), "data-adk-steering") == []


async def test_a_request_to_steer_counts_as_a_request() -> None:
    app = SteeredApp("Hello.", limits=ServiceLimits(max_requests_per_minute=2))
    async with client(app.app) as http:
        answers = [await http.post("/api/chat/c1/steer", json=said("hi", "s1")) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]


async def test_a_history_of_the_client_is_not_steered() -> None:
    app = SteeredApp("Hello.", history="client")
    async with client(app.app) as http:
        refused = await http.post("/api/chat/c1/steer", json=said("hi", "s1"))
    assert refused.status_code == 409
    with pytest.raises(StreamProtocolError, match="history"):
        ChatService(app.agent, history="client", on_busy="steer")


async def test_another_text_under_the_id_of_a_steering_message_is_refused_and_not_lost() -> None:
    """The client keeps its new text, and can send it as a new message."""
    app = SteeredApp(Call("dig", {}), "Dug one.", on_busy="steer")
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        assert await app.steer("Stop at one.") == DELIVERED
        assert await other_text(app) == [409, 409, 409]
        app.may_end.set()
        await rest(answer)
    assert await other_text(app) == [409, 409, 409]
    assert len(app.model.read) == 2
    assert await app.steer("Stop at one.") == DELIVERED


async def other_text(app: SteeredApp) -> list[int]:
    """Send another text under the id ``s1``: as a steering message, a message, and an edit. Return the statuses."""
    other = said("Stop at ten.", "s1")
    async with client(app.app) as http:
        steered = await http.post("/api/chat/c1/steer", json=other)
    answers = [await post(app.app, chat(said("Dig two."), other, **more)) for more in ({}, {"messageId": "s1"})]
    return [steered.status_code, *(answer.status_code for answer in answers)]
