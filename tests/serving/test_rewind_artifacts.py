"""Artifacts and state after a turn is taken back, by ADK's rewind."""

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts import BaseArtifactService, FileArtifactService, InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from starlette.types import ASGIApp

from stream_protocol.serving import ChatService, FilePolicy, create_app
from stream_protocol.serving.chats._chat_list import OWN_TITLE_KEY
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.chat_client import Page
from tests.serving.support import client
from tests.tools import OLD_ADK


@pytest.fixture(params=["memory", "files"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> BaseArtifactService:
    return InMemoryArtifactService() if request.param == "memory" else FileArtifactService(tmp_path)


async def draft(words: str, name: str, tool_context: ToolContext) -> dict[str, Any]:
    """Saves a draft, counts the saves, and returns the earlier values."""
    found = await tool_context.load_artifact(name)
    written = found.inline_data.data if found is not None and found.inline_data is not None else None
    tool_context.state["drafts"] = count = (tool_context.state.get("drafts") or 0) + 1
    tool_context.state["last"] = name
    tool_context.state["user:last"] = words
    await tool_context.save_artifact(name, types.Part.from_bytes(data=words.encode(), mime_type="text/plain"))
    return {"found": (written or b"").decode(), "drafts": count}


def written(words: str, name: str = "draft.txt") -> Call:
    return Call("draft", {"words": words, "name": name})


class DraftChat:
    """A chat in which every turn saves a draft."""

    def __init__(self, artifacts: BaseArtifactService, *calls: Call) -> None:
        model = ScriptedLlm(turns=[turn for call in calls for turn in (call, "Saved.")])
        runner = Runner(
            app_name="root",
            agent=LlmAgent(name="root", model=model, tools=[draft]),
            session_service=InMemorySessionService(),
            artifact_service=artifacts,
        )
        self.service = ChatService(runner, files=FilePolicy(artifact_base="/api/chat"))
        self.app: ASGIApp = create_app(self.service)
        self.page = Page(self.app)

    async def get(self, path: str) -> str | int:
        """The text of an artifact, or the status of a refusal."""
        async with client(self.app) as http:
            response = await http.get(path)
        return response.text if response.status_code == 200 else response.status_code

    async def newest(self, name: str = "draft.txt") -> str | int:
        return await self.get(f"/api/chat/c1/artifacts/{name}")

    async def linked(self) -> list[str | int]:
        """The content behind the links of the messages, in their order."""
        parts = [part for message in self.page.messages for part in message["parts"]]
        return [await self.get(part["data"]["url"]) for part in parts if part["type"] == "data-adk-artifact"]

    async def state(self) -> dict[str, Any]:
        """Without the keys that are ``None``: so ADK takes a key away."""
        session = await self.service.runner.session_service.get_session(
            app_name="root", user_id="local", session_id="c1"
        )
        assert session is not None
        return {key: value for key, value in session.state.items() if value is not None}

    def found(self) -> dict[str, Any]:
        """The tool's output in the last message."""
        (part,) = self.page.parts("output-available")
        output: dict[str, Any] = part["output"]
        return output


async def test_a_regenerated_turn_finds_the_artifact_and_the_state_of_the_turn_before(
    artifacts: BaseArtifactService,
) -> None:
    draft_chat = DraftChat(artifacts, written("one"), written("two"), written("three"), written("other"))
    for words in ("first", "second", "third"):
        await draft_chat.page.send(words)
    assert await draft_chat.linked() == ["one", "two", "three"]
    await draft_chat.page.regenerate()
    assert draft_chat.found() == {"found": "two", "drafts": 3}
    assert await draft_chat.linked() == ["one", "two", "other"]
    assert await draft_chat.newest() == "other"
    assert await draft_chat.state() == {"drafts": 3, "last": "draft.txt", "user:last": "other", OWN_TITLE_KEY: "first"}


async def test_an_edited_first_turn_finds_nothing(artifacts: BaseArtifactService) -> None:
    draft_chat = DraftChat(artifacts, written("one"), written("two"), written("three"), written("new"))
    for words in ("first", "second", "third"):
        await draft_chat.page.send(words)
    await draft_chat.page.edit(draft_chat.page.ids()[0], "otherwise")
    assert draft_chat.found() == {"found": "", "drafts": 1}
    assert await draft_chat.linked() == ["new"]
    assert await draft_chat.newest() == "new"


async def test_an_artifact_of_a_turn_that_was_taken_back_is_gone_and_the_users_own_stays(
    artifacts: BaseArtifactService,
) -> None:
    if OLD_ADK and isinstance(artifacts, FileArtifactService):
        pytest.skip("ADK 2.11 leaves an empty file of an artifact that a rewind takes back")
    draft_chat = DraftChat(
        artifacts, written("one"), written("two", "extra.txt"), written("mine", "user:me.txt"), written("x")
    )
    for words in ("first", "second", "third"):
        await draft_chat.page.send(words)
    assert await draft_chat.newest("extra.txt") == "two"
    await draft_chat.page.edit(draft_chat.page.ids()[2], "otherwise")
    assert draft_chat.found() == {"found": "one", "drafts": 2}
    assert (await draft_chat.newest("extra.txt"), await draft_chat.newest("user:me.txt")) == (404, "mine")
    assert await draft_chat.linked() == ["one", "x"]
    assert await draft_chat.state() == {"drafts": 2, "last": "draft.txt", "user:last": "x", OWN_TITLE_KEY: "first"}


async def test_versions_go_on_counting_and_what_is_stored_is_what_is_shown(artifacts: BaseArtifactService) -> None:
    """The rewind saves the old content as a new version, so the link of each message names its own."""
    draft_chat = DraftChat(artifacts, *(written(words) for words in ("one", "two", "again", "and again")))
    await draft_chat.page.send("first")
    await draft_chat.page.send("second")
    await draft_chat.page.regenerate()
    await draft_chat.page.regenerate()
    parts = [part for message in await draft_chat.page.stored() for part in message["parts"]]
    versions = [part["data"]["version"] for part in parts if part["type"] == "data-adk-artifact"]
    assert versions == [0, 5]
    assert await draft_chat.linked() == ["one", "and again"]
