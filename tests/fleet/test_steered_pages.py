"""The real clients steer at one worker a run of the other worker."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.conformance.test_resume_against_client import without_approvals
from tests.fleet.browser import CLIENT_VERSIONS, Browser, Shown
from tests.fleet.guarantees import STEERING
from tests.fleet.workers import Fleet
from tests.processes import HANG

pytestmark = [pytest.mark.fleet, pytest.mark.node, CLIENT_VERSIONS]

PAUSE = 0.1

FILE = {"type": "file", "mediaType": "image/png", "filename": "seen.png", "url": "data:image/png;base64,aGk="}


async def steer(deployment: Fleet, chat: str, text: str, number: int = 1, *, worker: int = 1, **more: Any) -> Any:
    """Steer at this worker, and return the response."""
    parts = [{"type": "text", "text": text}, *more.get("files", ())]
    async with httpx.AsyncClient(timeout=HANG, trust_env=False) as http:
        url = f"http://127.0.0.1:{deployment.ports[worker]}/api/chat/{chat}/steer"
        return await http.post(url, json={"id": f"{chat}-s{number}", "role": "user", "parts": parts})


async def delivered(*args: Any, **more: Any) -> None:
    response = await steer(*args, **more)
    assert (response.status_code, response.json()["type"]) == (200, "delivered")


async def next_turn(pages: Browser, chat: str, text: str) -> Shown:
    """Return a reloaded page, as soon as the turn that began by itself has this reply."""
    async with asyncio.timeout(HANG):
        while True:
            page = await pages.reloaded(chat, worker=1)
            shown = await page.settled()
            if shown.messages and shown.messages[-1]["role"] == "assistant" and shown.text() == text:
                return await page.at_rest()
            await asyncio.sleep(PAUSE)


def outline(shown: Shown) -> list[str]:
    """Return the parts of the last message: texts, steering texts, and types of other parts."""
    return [
        part["text"]
        if part["type"] == "text"
        else part["data"]["parts"][0]["text"]
        if part["type"] == STEERING
        else part["type"]
        for part in shown.messages[-1]["parts"]
        if part["type"] != "step-start"
    ]


def users(shown: Shown) -> list[str]:
    return [message["parts"][0]["text"] for message in shown.messages if message["role"] == "user"]


async def test_messages_during_a_tool_are_read_after_it_in_each_tab(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat, worker=0)
    await first.send(f"dig {chat}")
    await first.until(type="tool-dig", state="input-available")
    second = await pages.reloaded(chat, worker=1)
    await delivered(deployment, chat, f"say one {chat}")
    await delivered(deployment, chat, f"say two {chat}", 2, worker=0, files=[FILE])
    deployment.tool_log.open(chat)
    shown = [await page.at_rest() for page in (first, second)]
    assert outline(shown[0]) == [
        "I dig. ", "tool-dig", f"say one {chat}", f"say two {chat}", f"Said two {chat}."
    ]  # fmt: skip
    assert without_approvals(shown[0].messages) == without_approvals(shown[1].messages)
    (_, file), *_ = [part["data"]["parts"] for part in shown[0].messages[-1]["parts"] if part["type"] == STEERING][1:]
    assert (file["type"], file["filename"]) == ("file", "seen.png")
    await (await pages.page(chat, worker=1, stored=True)).send(f"say again {chat}")


async def test_a_message_during_a_text_is_read_after_the_tool_that_follows(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat, worker=0)
    await first.send(f"later {chat}")
    await first.until(type="text")
    second = await pages.reloaded(chat, worker=1)
    await delivered(deployment, chat, f"say {chat}")
    deployment.tool_log.open(chat)
    shown = [await page.at_rest() for page in (first, second)]
    assert [outline(each) for each in shown] == [["Soon. ", "tool-note", f"say {chat}", f"Said {chat}."]] * 2


async def test_a_message_during_the_last_text_begins_the_next_turn(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"slow {chat}")
    await page.until(type="text")
    await delivered(deployment, chat, f"say late {chat}")
    deployment.tool_log.open(chat)
    first = await page.settled()
    assert (first.status, first.text()) == ("ready", f"One two {chat}.")
    shown = await next_turn(pages, chat, f"Said late {chat}.")
    assert users(shown) == [f"slow {chat}", f"say late {chat}"]


async def test_a_message_before_or_during_the_second_model_call_is_read_once(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"then {chat}")
    await page.until(type="tool-note")
    await delivered(deployment, chat, f"say between {chat}")
    deployment.tool_log.open(chat)
    is_in_reply = STEERING in str((await page.settled()).messages)
    shown = await (page.at_rest() if is_in_reply else next_turn(pages, chat, f"Said between {chat}."))
    assert str(shown.messages).count(f"'say between {chat}'") == 1


async def test_after_the_run_and_during_an_approval_nothing_is_taken_in(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"pay {chat}")
    await page.settled()
    waiting = await steer(deployment, chat, f"say {chat}")
    assert waiting.json() == {"type": "not-delivered", "id": f"{chat}-s1", "reason": "waiting-for-tool-results"}
    await page.turn(1)
    await page.approve("pay")
    assert (await page.at_rest()).text() == f"Shall I? Done {chat}."
    ended = await steer(deployment, chat, f"say {chat}", worker=0)
    assert ended.json() == {"type": "not-delivered", "id": f"{chat}-s1", "reason": "finished"}
    assert (await (await pages.page(chat, worker=0, stored=True)).at_rest()).text() == f"Shall I? Done {chat}."


async def test_a_stop_and_a_message_at_once_lose_nothing(deployment: Fleet, pages: Browser, chat: str) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"dig {chat}")
    await page.until(type="tool-dig", state="input-available")
    other = await pages.reloaded(chat, worker=1)
    response, stopped = await asyncio.gather(steer(deployment, chat, f"say {chat}"), other.stop())
    deployment.tool_log.open(chat)
    assert (response.status_code, stopped) == (200, 202)
    await page.settled()
    again = await pages.reloaded(chat, worker=1)
    expected = 1 if response.json()["type"] == "delivered" else 0
    async with asyncio.timeout(HANG):
        while str(await again.stored()).count(f"'say {chat}'") != expected:  # noqa: ASYNC110 - in the store
            await asyncio.sleep(PAUSE)
    assert f"Said {chat}." not in str(await again.stored())


async def test_a_message_whose_worker_dies_stays_in_the_chat_and_is_read(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"dig {chat}")
    await page.until(type="tool-dig", state="input-available")
    await delivered(deployment, chat, f"say {chat}")
    deployment.workers[0].kill()
    await page.settled()
    await (await pages.reloaded(chat, worker=1)).settled()  # the other worker knows the end of the run
    again = await pages.page(chat, worker=1, stored=True)
    assert users(await again.settled()) == [f"dig {chat}", f"say {chat}"]
    await delivered(deployment, chat, f"say {chat}")
    deployment.tool_log.open(chat)
    await again.send(f"dig again {chat}")
    deployment.tool_log.open(f"again {chat}")
    reply = outline(await again.settled())
    assert reply.count(f"say {chat}") == 1
    shown = await (await pages.page(chat, worker=1, stored=True)).at_rest()
    assert outline(shown) == reply
    assert users(shown) == [f"dig {chat}", f"dig again {chat}"]


async def test_an_id_is_delivered_once_and_its_text_does_not_change(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"dig {chat}")
    await page.until(type="tool-dig", state="input-available")
    for worker in (0, 1, 0):
        await delivered(deployment, chat, f"say {chat}", worker=worker)
        assert (await steer(deployment, chat, f"say other {chat}", worker=worker)).status_code == 409
    deployment.tool_log.open(chat)
    assert outline(await page.at_rest()).count(f"say {chat}") == 1
    for worker in (0, 1):
        await delivered(deployment, chat, f"say {chat}", worker=worker)
        assert (await steer(deployment, chat, f"say other {chat}", worker=worker)).status_code == 409
