"""Versions of messages: answers that were generated again, and words that were edited, chosen once more."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from stream_protocol.serving import AuditRecord, ChatService, FilePolicy, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.documents import block
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, client, said, why


class VersionPage(Page):
    """A page with arrows at its messages."""

    def __init__(
        self, *turns: Any, tools: Any = (), sessions: BaseSessionService | None = None, **options: Any
    ) -> None:
        self.model = ScriptedLlm(turns=turns)
        agent = LlmAgent(name="root", model=self.model, tools=list(tools))
        runner = Runner(
            app_name="root",
            agent=agent,
            session_service=sessions or InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
        )
        self.service = ChatService(runner, files=FilePolicy(artifact_base="/api/chat"), **options)
        super().__init__(create_app(self.service))

    async def load(self) -> dict[str, Any]:
        async with client(self.app) as http:
            response = await http.get(f"/api/chat/{self.chat_id}")
        assert response.status_code == 200, response.text
        loaded: dict[str, Any] = response.json()
        return loaded

    async def versions(self) -> dict[str, tuple[int, list[str]]]:
        listed = (await self.load()).get("versions", [])
        return {each["messageId"]: (each["current"], each["ids"]) for each in listed}

    async def post_choice(self, body: Any, chat_id: str = "c1") -> httpx.Response:
        async with client(self.app) as http:
            return await http.post(f"/api/chat/{chat_id}/branch", json=body)

    async def choose(self, message_id: str, index: int) -> None:
        """Clicks the arrow at a message, up to this version."""
        _, ids = (await self.versions())[message_id]
        response = await self.post_choice({"version": ids[index]})
        assert response.status_code == 200, response.text
        self.messages = response.json()["messages"]

    def texts(self) -> list[str]:
        return ["".join(part.get("text", "") for part in message["parts"]) for message in self.messages]

    def asked(self) -> list[str]:
        """The texts that the model was last shown."""
        contents = self.model.requests[-1].contents
        return [part.text for content in contents for part in content.parts or [] if part.text]

    async def session(self) -> Any:
        store = self.service.runner.session_service
        return await store.get_session(app_name="root", user_id="local", session_id=self.chat_id)


async def test_a_chat_whose_messages_have_one_version_each_lists_none() -> None:
    page = VersionPage("1", "2")
    await page.send("a")
    await page.send("b")
    assert (await page.load()).keys() == {"messages"}


async def test_an_answer_that_was_generated_again_keeps_its_earlier_versions() -> None:
    page = VersionPage("one", "two", "three")
    await page.send("a")
    await page.regenerate()
    await page.regenerate()
    ((message_id, (current, ids)),) = (await page.versions()).items()
    assert (message_id, current, len(set(ids))) == (page.messages[-1]["id"], 2, 3)
    for index, answer in ((0, "one"), (1, "two"), (2, "three"), (1, "two")):
        await page.choose(page.messages[-1]["id"], index)
        assert page.texts() == ["a", answer]
        assert await page.versions() == {page.messages[-1]["id"]: (index, ids)}


async def test_words_that_were_edited_keep_their_earlier_versions_with_what_followed() -> None:
    page = VersionPage("1", "2", "3")
    await page.send("a")
    await page.send("b")
    (first, *_) = page.ids()
    await page.edit(first, "other")
    ((message_id, (current, ids)),) = (await page.versions()).items()
    assert (message_id, current, len(ids)) == (first, 1, 2)
    await page.choose(first, 0)
    assert page.texts() == ["a", "1", "b", "2"]
    await page.choose(first, 1)
    assert page.texts() == ["other", "3"]


async def test_the_next_prompt_follows_the_chosen_version(sessions: BaseSessionService) -> None:
    page = VersionPage("one", "two", "on", sessions=sessions)
    await page.send("a")
    await page.regenerate()
    await page.choose(page.messages[-1]["id"], 0)
    await page.send("b")
    assert page.asked() == ["a", "one", "b"]
    assert page.texts() == ["a", "one", "b", "on"]
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_words_under_a_new_id_are_a_version_of_those_that_they_replaced() -> None:
    """assistant-ui edits with a new id."""
    page = VersionPage("1", "2", truncated_history="rewind")
    await page.send("a")
    page.messages.clear()
    await page.send("b")
    assert {message_id: current for message_id, (current, _) in (await page.versions()).items()} == {"c1-u2": 1}
    await page.choose("c1-u2", 0)
    assert (page.ids()[0], page.texts()) == ("c1-u1", ["a", "1"])


async def test_versions_three_deep_are_each_found_again() -> None:
    page = VersionPage(*map(str, range(1, 9)))
    await page.send("a")
    await page.send("b")
    await page.send("c")
    await page.regenerate()  # a1 b2 c4
    await page.edit(page.ids()[2], "B")  # a1 B5
    await page.send("C")  # a1 B5 C6
    await page.edit(page.ids()[0], "A")  # A7
    first, *_ = page.ids()
    assert page.texts() == ["A", "7"]
    await page.choose(first, 0)
    assert page.texts() == ["a", "1", "B", "5", "C", "6"]
    second = page.ids()[2]
    await page.choose(second, 0)
    assert page.texts() == ["a", "1", "b", "2", "c", "4"]
    await page.choose(page.ids()[5], 0)
    assert page.texts() == ["a", "1", "b", "2", "c", "3"]
    assert [current for current, _ in (await page.versions()).values()] == [0, 0, 0]
    await page.choose(first, 1)
    await page.choose(first, 0)
    assert page.texts() == ["a", "1", "b", "2", "c", "3"]
    await page.send("d")
    assert page.asked() == ["a", "1", "b", "2", "c", "3", "d"]


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look(place: str) -> dict[str, str]:
    """Looks."""
    return {"seen": place}


@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_of_a_chosen_version_is_given_after_all(sessions: BaseSessionService, approved: bool) -> None:
    tools = [FunctionTool(pay, require_confirmation=True), look]
    turns = [Call("pay", {"amount": 5}), "other", Call("look", {"place": "sea"}), "done"]
    page = VersionPage(*turns, tools=tools, sessions=sessions)
    await page.send("pay")
    await page.regenerate()
    assert page.texts() == ["pay", "other"]
    await page.choose(page.messages[-1]["id"], 0)
    page.approve(approved)
    await page.submit()
    paid, looked = [part for part in page.messages[-1]["parts"] if part["type"].startswith("tool-")]
    assert paid["state"] == ("output-available" if approved else "output-denied")
    assert looked["output"] == {"seen": "sea"}
    assert page.texts() == ["pay", "done"]
    assert comparable(await page.stored()) == comparable(page.messages)
    answer = page.messages[-1]["id"]
    await page.choose(answer, 1)
    assert page.texts() == ["pay", "other"]
    await page.choose(page.messages[-1]["id"], 0)
    assert (page.messages[-1]["id"], page.texts()) == (answer, ["pay", "done"])


async def test_ids_of_calls_stay_those_of_their_version() -> None:
    page = VersionPage(
        Call("look", {"place": "a"}, id="x"), "1", Call("look", {"place": "b"}, id="x"), "2", tools=[look]
    )
    await page.send("a")
    first = list(page.messages)
    await page.send("b")
    both = list(page.messages)
    await page.edit(page.ids()[0], "other")
    await page.choose(page.ids()[0], 0)
    assert comparable(page.messages) == comparable(both)
    assert comparable(page.messages[:2]) == comparable(first)


async def draft(words: str, tool_context: ToolContext) -> dict[str, Any]:
    """Saves a draft and counts the drafts."""
    found = await tool_context.load_artifact("draft.txt")
    before = found.inline_data.data if found is not None and found.inline_data is not None else None
    tool_context.state["drafts"] = count = (tool_context.state.get("drafts") or 0) + 1
    tool_context.state[words] = True
    await tool_context.save_artifact("draft.txt", types.Part.from_bytes(data=words.encode(), mime_type="text/plain"))
    return {"found": (before or b"").decode(), "drafts": count}


async def test_state_and_artifacts_are_those_of_the_chosen_version(sessions: BaseSessionService) -> None:
    calls = [Call("draft", {"words": words}) for words in ("one", "two", "three", "four")]
    page = VersionPage(*(turn for call in calls for turn in (call, "ok")), tools=[draft], sessions=sessions)
    await page.send("a")
    await page.send("b")
    await page.edit(page.ids()[0], "other")

    async def found() -> tuple[Any, ...]:
        state = (await page.session()).state
        async with client(page.app) as http:
            newest = (await http.get("/api/chat/c1/artifacts/draft.txt")).text
            parts = [part for message in page.messages for part in message["parts"]]
            links = [part["data"]["url"] for part in parts if part["type"] == "data-adk-artifact"]
            linked = [(await http.get(link)).text for link in links]
        written = [key for key in ("one", "two", "three", "four") if state.get(key)]
        return state["drafts"], written, newest, linked

    assert await found() == (1, ["three"], "three", ["three"])
    await page.choose(page.ids()[0], 0)
    assert await found() == (2, ["one", "two"], "two", ["one", "two"])
    await page.choose(page.ids()[0], 1)
    assert await found() == (1, ["three"], "three", ["three"])
    await page.choose(page.ids()[0], 0)
    await page.send("c")
    (output,) = [part["output"] for part in page.messages[-1]["parts"] if "output" in part]
    assert output == {"found": "two", "drafts": 3}


async def test_a_choice_is_one_rewind_and_the_same_choice_again_is_none() -> None:
    page = VersionPage("one", "two")
    await page.send("a")
    await page.regenerate()
    _, ids = (await page.versions())[page.messages[-1]["id"]]
    before = (await page.session()).events
    assert (await page.post_choice({"version": ids[0]})).status_code == 200
    after = (await page.session()).events
    rewinds = [bool(event.actions.rewind_before_invocation_id) for event in after[len(before) :]]
    assert rewinds == [False, True]  # the first event makes the sessions of other workers outdated
    loaded = await page.load()
    again = await asyncio.gather(*(page.post_choice({"version": ids[0]}) for _ in range(3)))
    assert [response.json() for response in again] == [loaded] * 3
    assert (await page.session()).events == after


async def test_choices_at_once_are_made_one_after_the_other() -> None:
    page = VersionPage(*"123456")
    await page.send("a")
    for _ in range(5):
        await page.regenerate()
    _, ids = (await page.versions())[page.messages[-1]["id"]]
    answers = await asyncio.gather(*(page.post_choice({"version": version}) for version in ids))
    assert {response.status_code for response in answers} == {200}
    (listed,) = (await page.load())["versions"]
    assert listed["ids"] == ids


async def test_a_choice_is_refused_while_an_answer_is_written_and_stops_nothing() -> None:
    go_on = asyncio.Event()
    page = VersionPage("one", "two", ["Half ", Wait(go_on), "and whole."])
    await page.send("a")
    await page.regenerate()
    current, ids = (await page.versions())[page.messages[-1]["id"]]
    async with begin(page.app, chat(*page.messages, said("b", "u2"))) as running:
        await running.status()
        await running.until("text-delta")
        refused = await page.post_choice({"version": ids[0]})
        assert (refused.status_code, bool(why(refused))) == (409, True)
        assert (await page.post_choice({"version": ids[current]})).status_code == 200  # it is chosen
        go_on.set()
        await running.until("finish")
    page.messages = await page.stored()
    assert page.texts() == ["a", "two", "b", "Half and whole."]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"version": "none"}, 404),
        ({"version": "__proto__"}, 404),
        ({"version": ""}, 404),
        ({"version": 1}, 422),
        ({"version": ["x"]}, 422),
        ({}, 422),
        ({"version": "x", "more": 1}, 422),
        (["x"], 400),
        ({"version": "x" * 2000}, 413),
    ],
)
async def test_a_choice_of_nothing_that_there_is_is_refused(body: Any, status: int) -> None:
    page = VersionPage("one", "two")
    await page.send("a")
    await page.regenerate()
    before = (await page.session()).events
    refused = await page.post_choice(body)
    assert refused.status_code == status
    assert why(refused)
    assert (await page.session()).events == before


async def test_another_users_chat_and_a_deleted_one_have_no_versions() -> None:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["one", "two"])))
    user = {"id": "ann"}
    page = Page(create_app(service, identify=lambda _: user["id"]))
    await page.send("a")
    await page.regenerate()
    async with client(page.app) as http:
        (listed,) = (await http.get("/api/chat/c1")).json()["versions"]
        choice = {"version": listed["ids"][0]}
        user["id"] = "eve"
        assert (await http.post("/api/chat/c1/branch", json=choice)).status_code == 404
        user["id"] = "ann"
        assert (await http.post("/api/chat/c2/branch", json=choice)).status_code == 404
        assert (await http.get("/api/chat/c1")).json()["versions"] == [listed]
        await http.delete("/api/chat/c1")
        assert (await http.post("/api/chat/c1/branch", json=choice)).status_code == 404


async def test_choices_are_audited() -> None:
    records: list[AuditRecord] = []
    page = VersionPage("one", "two", on_audit=records.append)
    await page.send("a")
    await page.regenerate()
    await page.choose(page.messages[-1]["id"], 0)
    await page.post_choice({"version": "none"})
    await page.service.aclose()
    assert [(each.action, each.outcome, each.status) for each in records] == [
        ("branch", "accepted", None),
        ("branch", "refused", 404),
    ]


async def test_versions_of_a_failed_answer_are_found() -> None:
    page = VersionPage(RuntimeError("no"), "two")
    await page.send("a")
    await page.regenerate(page.ids()[0])
    assert page.texts() == ["a", "two"]
    await page.choose(page.messages[-1]["id"], 0)
    assert page.texts()[0] == "a"
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_the_list_has_the_documented_form() -> None:
    documented = json.loads(block("docs/versions.md", '"versions"'))
    page = VersionPage("1", "2")
    await page.send("a")
    await page.edit(page.ids()[0], "b")
    loaded = await page.load()
    assert loaded.keys() == documented.keys()
    (listed,), (shown,) = loaded["versions"], documented["versions"]
    assert listed.keys() == shown.keys()
    assert (listed["current"], len(listed["ids"])) == (shown["current"], len(shown["ids"]))


async def test_a_version_with_a_steering_message_is_chosen_again() -> None:
    async def note() -> str:
        """Notes, while the user steers."""
        async with client(page.app) as http:
            steered = await http.post("/api/chat/c1/steer", json=said("Stop at one.", "s1"))
        assert steered.json()["type"] == "delivered"
        return "noted"

    page = VersionPage(Call("note", {}), "Stopped.", "Other.", "On.", "Over.", tools=[note])
    await page.send("Go.")
    steered = [*page.messages]
    assert "data-adk-steering" in [part["type"] for part in steered[-1]["parts"]]
    await page.regenerate()
    assert page.texts() == ["Go.", "Other."]
    for index, reply in ((0, "On."), (1, "Over.")):
        await page.choose(page.messages[1]["id"], index)
        shown = comparable(page.messages)
        assert (shown == comparable(steered)) == (index == 0)
        await page.send("Go on.")
        assert page.texts()[-1] == reply
        assert ("Stop at one." in page.asked()) == (index == 0)
