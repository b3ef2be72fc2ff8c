"""Messages with files are sent, regenerated or edited, on a server that ends at each event."""

from __future__ import annotations

import asyncio
import base64
import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.artifacts import FileArtifactService
from google.adk.models import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stream_protocol.serving import ChatService, FilePolicy, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm, Turn
from tests.comparable_messages import comparable
from tests.durable.shared_state import USER, SharedState
from tests.durable.test_every_event import NEVER, EndingSessions, no_end
from tests.serving.chat_client import Page
from tests.serving.support import HANG, soon

if TYPE_CHECKING:
    from stream_protocol.durable import DbosEngine

PNG: Final = b"\x89PNG picture"

UPLOAD: Final = {
    "type": "file",
    "mediaType": "image/png",
    "url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
    "filename": "cat.png",
}


class PictureServers:
    """Run servers one after the other whose agent gets an image and notes it. ``saves``: files become artifacts."""

    def __init__(self, shared: SharedState, engine: DbosEngine, *, saves: bool) -> None:
        self._world = shared
        self._engine = engine
        self._saves = saves
        self.noted: list[str] = []
        self.seen: list[list[str]] = []
        """The user's texts in each request to a model that begins a response."""

    def service(self, sessions: BaseSessionService) -> ChatService:
        plugins: list[BasePlugin] = [SaveFilesAsArtifactsPlugin()] if self._saves else []
        agent = LlmAgent(name="root", model=ScriptedLlm(respond=self._respond), tools=[self.note])
        runner = Runner(
            app=App(name="app", root_agent=agent, plugins=plugins),
            session_service=sessions,
            artifact_service=FileArtifactService(self._world.folder / "artifacts"),
        )
        return ChatService(
            runner,
            run_log=self._world.run_log(),
            engine=self._engine,
            files=FilePolicy(artifact_base="/api/chat"),
            times=ServiceTimes(answering=0.2, stop=0.2),
        )

    async def page(self, shared: SharedState, kind: str, chat_id: str) -> Page:
        """Return a reloaded client. Unless a message is to be ``sent``, the chat has a first message with a file."""
        service = self.service(SqliteSessionService(shared.chats))
        page = Page(create_app(service, identify=lambda _: USER), chat_id=chat_id)
        if kind != "sent":
            await page.send("a cat", UPLOAD)
            page.messages = await page.stored()
        await service.aclose()
        return page

    def note(self, text: str) -> str:
        """Notes it."""
        self.noted.append(text)
        return f"noted {text}"

    def _respond(self, request: LlmRequest) -> Turn:
        parts = [part for content in request.contents for part in content.parts or []]
        if parts[-1].function_response is not None:
            return "Done."
        user = [content for content in request.contents if content.role == "user"][-1]
        self.seen.append(
            ["file" if part.inline_data or part.file_data else part.text or "" for part in user.parts or []]
        )
        return ["I look. ", Call("note", {"text": "cat"})]


async def ask(page: Page, kind: str) -> None:
    match kind:
        case "sent":
            await page.send("a cat", UPLOAD)
        case "answered again":
            await page.regenerate()
        case "edited":
            (file,) = [part for part in page.messages[0]["parts"] if part["type"] == "file"]
            await page.edit(page.ids()[0], "a dog", file)


async def conversation(
    servers: PictureServers, shared: SharedState, kind: str, number: int, *, after: bool
) -> tuple[list[Any], list[str], bool]:
    """Start a chat whose server ends at this event of the last turn. The client repeats the request to the next server.

    Returns the messages, the notes of the last turn, and True if the first server reached the event.
    """
    chat_id = f"{kind}{number}{after}"
    page = await servers.page(shared, kind, chat_id)
    servers.noted.clear()
    sessions = EndingSessions(shared.chats, number, after=after)
    service = servers.service(sessions)
    page.app = create_app(service, identify=lambda _: USER)
    sending, reached = asyncio.create_task(ask(page, kind)), asyncio.create_task(sessions.reached.wait())
    async with asyncio.timeout(HANG):
        await asyncio.wait([sending, reached], return_when="FIRST_COMPLETED")
    reached.cancel()
    await service.aclose()
    sending.cancel()  # without this, the request would wait for its store until the time limit
    await asyncio.gather(sending, return_exceptions=True)
    service = servers.service(SqliteSessionService(shared.chats))
    page.app = create_app(service, identify=lambda _: USER)
    async with asyncio.timeout(HANG):
        if sessions.reached.is_set():
            del page.messages[1:]
            more = {"answered again": {"trigger": "regenerate-message"}, "edited": {"messageId": page.ids()[0]}}
            await page.submit(**more.get(kind, {}))
        stored = await page.stored()
    assert comparable(page.messages[1:]) == comparable(stored[1:]), (number, after)
    session = await service.runner.session_service.get_session(app_name="app", user_id=USER, session_id=chat_id)
    assert session is not None
    assert len(session.events) < 30, "each try stores events"
    await service.aclose()
    return stored, [*servers.noted], sessions.reached.is_set()


def without_ids(messages: list[Any]) -> list[Any]:
    """Return the texts, calls and files. The URL of a file is left out, because it contains chat and version."""
    return [
        [(part["type"], part.get("text"), part.get("output"), part.get("filename")) for part in message["parts"]]
        for message in messages
    ]


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("saves", [True, False], ids=["artifact", "in the event"])
@pytest.mark.parametrize("kind", ["answered again", "sent", "edited"])
async def test_the_next_server_answers_a_message_with_its_file(
    kind: str, saves: bool, tmp_path: Path, engine_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = SharedState(tmp_path, engine_url)
    engine = shared.engine()
    leave = engine.aclose
    monkeypatch.setattr(engine, "aclose", no_end)  # starting an engine takes a second
    servers = PictureServers(shared, engine, saves=saves)
    try:
        whole, noted, _ = await conversation(servers, shared, kind, NEVER, after=False)
        assert noted == ["cat"]
        for number in count(1):
            for after in (False, True):
                told, ran, was_reached = await conversation(servers, shared, kind, number, after=after)
                assert without_ids(told) == without_ids(whole), (number, after)
                assert ran in (["cat"], ["cat", "cat"]), (number, after)
            if not was_reached:
                break
        files = [[said for said in words if said == "file" or "Uploaded" in said] for words in servers.seen]
        assert all(files), "each model has seen the file"
    finally:
        await leave()


@pytest.mark.parametrize("kind", ["answered again", "edited"])
async def test_what_is_kept_of_a_message_with_a_saved_file_has_its_name_and_not_its_bytes(
    kind: str, tmp_path: Path, engine_url: str
) -> None:
    shared = SharedState(tmp_path, engine_url)
    engine = shared.engine()
    servers = PictureServers(shared, engine, saves=True)
    page = await servers.page(shared, kind, "c1")
    sessions = EndingSessions(shared.chats, 4, after=True)
    service = servers.service(sessions)
    page.app = create_app(service, identify=lambda _: USER)
    sending = asyncio.create_task(ask(page, kind))
    await soon(sessions.reached)
    (kept,) = [json.loads(status.input["args"][0]) for status in await runs()]
    assert kept["record"]["words"][0] == {
        "artifact": "cat.png",
        "version": 0,
        "line": '[Uploaded Artifact: "cat.png"]',
        "mediaType": "image/png",
        "name": "cat.png",
    }
    assert base64.b64encode(PNG).decode() not in json.dumps(kept)
    await service.aclose()
    await asyncio.gather(sending, return_exceptions=True)


async def runs() -> list[Any]:
    from dbos import DBOS  # noqa: PLC0415 - may be missing

    return await DBOS.list_workflows_async(status="PENDING", name="adk_ui_stream.run.2")
