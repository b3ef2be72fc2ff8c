"""The real clients with two real servers, without sticky sessions: one server continues the other's responses."""

import asyncio
import signal

import pytest

from tests.conformance.test_resume_against_client import without_approvals
from tests.fleet.browser import CLIENT_VERSIONS, Browser, Page
from tests.fleet.workers import Fleet

pytestmark = [pytest.mark.fleet, pytest.mark.node, CLIENT_VERSIONS]

MASKED = "An error occurred."


async def asks_again(page: Page) -> None:
    """The chat continues."""
    await page.send("say again")
    shown = await page.settled()
    assert (shown.status, shown.error, shown.text()) == ("ready", None, "Said again.")


@pytest.mark.parametrize(
    ("kind", "half"),
    [("slow", {"type": "text"}), ("argument", {"type": "tool-note", "state": "input-streaming"})],
    ids=["text", "argument"],
)
async def test_what_one_worker_says_is_read_on_at_the_other(
    kind: str, half: dict[str, str], deployment: Fleet, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat, worker=0)
    await first.send(f"{kind} {chat}")
    await first.until(**half)
    readers = [first, await pages.reloaded(chat, worker=1), await pages.reloaded(chat, worker=0)]
    for page in readers:
        await page.until(**half)
    deployment.tool_log.open(chat)
    first_shown, *others = [await page.at_rest() for page in readers]
    assert first_shown.text().endswith(f"{chat}.")
    assert [without_approvals(shown.messages) for shown in others] == [without_approvals(first_shown.messages)] * 2
    assert [tool_run.key for tool_run in deployment.tool_log.tool_runs(chat)] == ([chat] if kind == "argument" else [])


async def test_what_one_worker_asked_is_approved_at_the_other(deployment: Fleet, pages: Browser, chat: str) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"pay {chat}")
    await page.until(type="tool-pay", state="approval-requested")
    await page.settled()
    assert deployment.tool_log.tool_runs(chat) == []
    await page.turn(1)
    await page.approve("pay")
    shown = await page.at_rest()
    assert shown.text() == f"Shall I? Done {chat}."
    assert [tool_run.tool for tool_run in deployment.tool_log.tool_runs(chat)] == ["pay"]


async def test_two_pages_that_approve_by_two_workers_have_it_done_once(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat, worker=0)
    await first.send(f"pay {chat}")
    await first.settled()
    second = await pages.page(chat, worker=1, stored=True)
    await first.approve("pay")
    await second.approve("pay")
    for page in (first, second):
        shown = await page.settled()
        assert shown.status in {"ready", "error"}
    assert [tool_run.tool for tool_run in deployment.tool_log.tool_runs(chat)] == ["pay"]
    await asks_again(await pages.page(chat, worker=1, stored=True))


async def test_what_one_worker_asks_the_page_is_answered_to_the_other(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"where {chat}")
    await page.until(type="tool-where", state="input-available")
    await page.settled()
    await page.turn(1)
    await page.answer("where", "Oslo")
    shown = await page.at_rest()
    assert (shown.text(), shown.tool("where")["output"]) == (f"Where? Done {chat}.", "Oslo")


@pytest.mark.parametrize("kind", ["later", "dig"])
async def test_what_one_worker_runs_is_stopped_at_the_other(
    kind: str, deployment: Fleet, pages: Browser, chat: str
) -> None:
    running = {"type": "tool-dig", "state": "input-available"} if kind == "dig" else {"type": "text"}
    first = await pages.page(chat, worker=0)
    await first.send(f"{kind} {chat}")
    await first.until(**running)
    second = await pages.reloaded(chat, worker=1)
    await second.until(**running)
    assert await second.stop() == 202
    for page in (first, second):
        assert (await page.settled()).status == "ready"
    deployment.tool_log.open(chat)
    await asks_again(second)
    assert [tool_run.tool for tool_run in deployment.tool_log.tool_runs(chat)] == (["dig"] if kind == "dig" else [])
    assert without_approvals((await first.settled()).messages)[-1] == without_approvals(await first.stored())[1]


async def test_a_redis_that_comes_back_soon_is_not_missed(deployment: Fleet, pages: Browser, chat: str) -> None:
    page = await pages.page(chat, worker=0)
    await page.send(f"argument {chat}")
    await page.until(type="tool-note", state="input-streaming")
    deployment.redis.kill()
    deployment.redis.start()
    deployment.tool_log.open(chat)
    shown = await page.at_rest()
    assert shown.text() == f"Done {chat}."
    assert [tool_run.key for tool_run in deployment.tool_log.tool_runs(chat)] == [chat]
    await page.turn(1)
    await asks_again(page)


async def test_a_redis_that_stays_away_ends_the_run_and_all_works_when_it_is_back(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat, worker=0)
    await first.send(f"later {chat}")
    await first.until(type="text")
    second = await pages.reloaded(chat, worker=1)
    await second.until(type="text")
    deployment.redis.kill()
    for page in (first, second):
        shown = await page.settled()
        assert (shown.status, shown.error, shown.text().strip()) == ("error", MASKED, "Soon.")
    deployment.tool_log.open(chat)
    assert await first.stop() == 503
    deployment.redis.start()
    await asks_again(second)
    await first.turn(1)
    await asks_again(first)
    assert deployment.tool_log.tool_runs(chat) == []


async def test_a_chat_goes_round_the_workers_turn_by_turn(deployment: Fleet, pages: Browser, chat: str) -> None:
    page = await pages.page(chat)
    for turn in range(3):
        await page.send(f"pay {chat}.{turn}")
        await page.settled()
        await page.approve("pay")
        shown = await page.at_rest()
        assert shown.text() == f"Shall I? Done {chat}.{turn}."
    assert [tool_run.key for tool_run in deployment.tool_log.tool_runs(chat)] == [f"{chat}.{turn}" for turn in range(3)]


async def test_a_worker_that_is_killed_frees_its_chat_and_its_readers_are_told(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    running = {"type": "tool-dig", "state": "input-available"}
    first = await pages.page(chat, worker=0)
    await first.send(f"dig {chat}")
    await first.until(**running)
    second = await pages.page(chat, worker=1)  # with nothing: what it shows has come to the other worker
    await second.resume()
    await second.until(**running)
    deployment.workers[0].kill()
    assert (await first.settled()).status == "error"
    told = await second.settled()
    assert (told.status, told.error, told.tool("dig")["state"]) == ("error", MASKED, "output-error")
    stored = await second.stored()
    assert [part["text"] for part in stored[1]["parts"] if part["type"] == "text"] == ["I dig. "]
    deployment.tool_log.open(chat)
    await first.turn(None)
    await asks_again(first)
    assert [tool_run.tool for tool_run in deployment.tool_log.tool_runs(chat)] == ["dig"]


async def test_a_rolling_restart_loses_no_message_and_shows_no_error(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    """Each worker in turn is stopped while it runs and reads, and other users send all the time."""
    opened = {f"{chat}.{number}": await pages.page(f"{chat}-{number}") for number in range(6)}
    turns = 0
    for worker in deployment.workers:
        for key, page in opened.items():
            await page.send(f"stroll {key}.{turns}")
        for page in opened.values():
            await page.until(type="tool-note")
        readers = [await pages.reloaded(f"{chat}-{number}", worker=number % 2) for number in range(len(opened))]
        worker.end()
        late = [await pages.page(f"{chat}-{turns}-{number}") for number in range(6)]
        for page in late:
            await page.send(f"stroll {chat}.late")
        for key, page in opened.items():
            assert (await page.at_rest()).text().endswith(f"Home again {key}.{turns}.")
        for page in readers:
            assert (await page.settled()).status == "ready"
        for page in late:
            assert (await page.at_rest()).text().endswith(f"Home again {chat}.late.")
        assert await asyncio.to_thread(worker.ended) == -signal.SIGTERM
        for key, page in opened.items():
            await page.send(f"say {key}")
            assert (await page.at_rest()).text() == f"Said {key}."
        deployment.mend()
        turns += 1
    for key, page in opened.items():
        assert len((await page.settled()).messages) == 4 * turns, key


async def test_who_reads_another_workers_run_stays_until_the_grace_is_over_and_resumes(
    deployment: Fleet, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat, worker=1)
    await first.send(f"slow {chat}")
    await first.until(type="text")
    reader = await pages.reloaded(chat, worker=0)
    await reader.until(type="text")
    deployment.workers[0].end()
    assert await asyncio.to_thread(deployment.workers[0].ended) == -signal.SIGTERM
    assert (await reader.settled()).text() == "One "
    await reader.turn(None)
    await reader.resume()
    await reader.until(type="text")
    deployment.tool_log.open(chat)
    for page in (first, reader):
        assert (await page.at_rest()).text() == f"One two {chat}."
