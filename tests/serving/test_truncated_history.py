"""Edits that truncate the history, as assistant-ui sends them: the rewound turns, and outdated tabs."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService

from stream_protocol import StreamProtocolError
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chat, chunks, post, said, stream, text


class CuttingPage(Page):
    """A page that edits as assistant-ui does: ``setMessages`` to those before, then ``sendMessage`` without an id."""

    def __init__(self, *turns: Any, truncated_history: Any = "rewind", **options: Any) -> None:
        self.model = ScriptedLlm(turns=turns)
        agent = LlmAgent(name="root", model=self.model)
        self.service = InstrumentedService(agent, truncated_history=truncated_history, **options)
        super().__init__(create_app(self.service))

    async def cut(self, index: int, words: str) -> None:
        del self.messages[index:]
        await self.send(words)

    async def texts(self) -> list[str]:
        return ["".join(part.get("text", "") for part in message["parts"]) for message in await self.stored()]

    def asked(self) -> list[str]:
        """The texts that the model was last shown."""
        contents = self.model.requests[-1].contents
        return [part.text for content in contents for part in content.parts or [] if part.text]


CUTS = [
    (4, ["a", "1", "b", "2", "new", "4"]),
    (2, ["a", "1", "new", "4"]),
    (0, ["new", "4"]),
    (6, ["a", "1", "b", "2", "c", "3", "new", "4"]),
]


@pytest.mark.parametrize(("index", "stored"), CUTS)
async def test_page_model_and_history_agree_after_a_cut(index: int, stored: list[str]) -> None:
    page = CuttingPage("1", "2", "3", "4", "5")
    for words in "abc":
        await page.send(words)
    before = page.ids()
    await page.cut(index, "new")
    assert comparable(await page.stored()) == comparable(page.messages)
    assert await page.texts() == stored
    assert page.asked() == stored[:-1]
    assert page.ids()[:index] == before[:index]
    await page.send("on")
    assert await page.texts() == [*stored, "on", "5"]


async def test_by_default_nothing_is_lost_of_what_a_tab_does_not_have() -> None:
    page = CuttingPage("1", "2", "3", truncated_history="append")
    await page.send("a")
    await page.send("b")
    await page.cut(2, "new")
    assert await page.texts() == ["a", "1", "b", "2", "new", "3"]


async def test_the_last_message_alone_never_means_a_cut() -> None:
    page = CuttingPage("1", "2")
    await page.send("a")
    assert text(await stream(page.app, {"id": "c1", "message": said("b", "u2")})) == "2"
    assert await page.texts() == ["a", "1", "b", "2"]


async def test_history_that_the_client_brings_is_cut_as_it_is_sent() -> None:
    page = CuttingPage("1", "2", "3", history="client")
    await page.send("a")
    await page.send("b")
    await page.cut(2, "new")
    assert page.asked() == ["a", "1", "new"]


HALF = ["Half ", Wait(3600), "and whole."]


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_cut_interrupts_the_run_that_it_takes_back(leaves: bool) -> None:
    page = CuttingPage("1", HALF, "3")
    await page.send("a")
    kept = list(page.messages)
    async with begin(page.app, chat(*kept, said("b", "u2"))) as running:
        await running.status()
        await running.until("text-delta")
        if leaves:
            running.leave()
        assert text(await stream(page.app, chat(*kept, said("new", "u3")))) == "3"
        if not leaves:
            await running.until("abort")
    assert await page.texts() == ["a", "1", "new", "3"]
    assert page.asked() == ["a", "1", "new"]


async def test_messages_after_a_stop_take_nothing_back() -> None:
    """The page has the shown part of the answer, or nothing of it."""
    page = CuttingPage("1", HALF, HALF, "4")
    await page.send("a")
    for words in ("b", "c"):
        body = chat(*page.messages, said(words, f"u-{words}"))
        async with begin(page.app, body) as running:
            await running.status()
            await running.until("text-delta")
            running.leave()
        page.messages.append(said(words, f"u-{words}"))
    await page.send("on")
    assert await page.texts() == ["a", "1", "b", "Half ", "c", "Half ", "on", "4"]


async def test_a_retry_of_a_cut_joins_its_run_and_takes_nothing_back() -> None:
    go_on = asyncio.Event()
    page = CuttingPage("1", "2", ["Whole ", Wait(go_on), "now."])
    await page.send("a")
    await page.send("b")
    body = chat(*page.messages[:2], said("new", "u3"), trigger="submit-message")
    async with begin(page.app, body) as first:
        await first.status()
        await first.until("text-delta")
        joined = asyncio.create_task(stream(page.app, body))
        await asyncio.sleep(0)
        go_on.set()
        await first.until("finish")
    assert text(await joined) == "Whole now."
    assert await page.texts() == ["a", "1", "new", "Whole now."]
    session = await page.service.runner.session_service.get_session(
        app_name=page.service.runner.app_name, user_id="local", session_id="c1"
    )
    assert session is not None
    assert sum(bool(event.actions.rewind_before_invocation_id) for event in session.events) == 1


async def test_a_page_that_goes_back_to_a_branch_which_was_taken_back_is_refused() -> None:
    page = CuttingPage("1", "2", "3")
    await page.send("a")
    await page.send("b")
    branch = list(page.messages)
    await page.cut(2, "new")
    stored = await page.stored()
    refused = await post(page.app, chat(*branch, said("more", "u9")))
    assert (refused.status_code, refused.text) == (
        409,
        "A message before yours was taken back. Reload the page to go on.",
    )
    assert await page.stored() == stored


async def test_what_is_refused_takes_nothing_back_and_interrupts_nothing() -> None:
    go_on = asyncio.Event()
    page = CuttingPage("1", ["Half ", Wait(go_on), "and whole."])
    await page.send("a")
    kept = list(page.messages)
    async with begin(page.app, chat(*kept, said("b", "u2"))) as running:
        await running.status()
        await running.until("text-delta")
        assert (await post(page.app, chat(*kept, {**said("x", "u3"), "parts": []}))).status_code == 422
        go_on.set()
        await running.until("finish")
    assert await page.texts() == ["a", "1", "b", "Half and whole."]


async def test_a_cut_within_an_answer_that_began_earlier_is_refused() -> None:
    booker = LlmAgent(
        name="booker", mode="task", description="Books.", model=ScriptedLlm(turns=["Which day?", "And when?"])
    )
    root = LlmAgent(
        name="root", model=ScriptedLlm(turns=[Call("booker", {"request": "a table"}), "Well."]), sub_agents=[booker]
    )
    page = Page(create_app(ChatService(root, truncated_history="rewind")))
    await page.send("book")
    await page.send("Monday")
    refused = await post(page.app, chat(*page.messages[:2], said("Tuesday", "u9")))
    assert (refused.status_code, refused.text) == (
        409,
        "This message belongs to an answer that began earlier; it stays.",
    )
    assert len(await page.stored()) == 4


async def test_a_file_of_the_message_that_was_cut_off_is_said_again() -> None:
    """The edited message has a link in its place, as the history has."""
    model = ScriptedLlm(turns=["1", "2"])
    runner = Runner(
        app=App(name="app", root_agent=LlmAgent(name="root", model=model), plugins=[SaveFilesAsArtifactsPlugin()]),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    page = Page(create_app(ChatService(runner, truncated_history="rewind")))
    await page.send("look", {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"})
    (question, _answer) = await page.stored()
    (link,) = [part for part in question["parts"] if part["type"] == "file"]
    assert "/artifacts/" in link["url"]
    response = await post(page.app, chat({**question, "id": "u9", "parts": [link, {"type": "text", "text": "see"}]}))
    assert text(chunks(response.text)) == "2"
    (again, _answer) = await page.stored()
    assert [part["type"] for part in again["parts"]] == ["file", "text"]


def test_a_cut_means_one_of_two_things() -> None:
    with pytest.raises(StreamProtocolError, match="truncated_history"):
        CuttingPage("Never.", truncated_history="drop")
