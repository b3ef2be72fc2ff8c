"""Artifacts: only their user gets them, and no code in them runs."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.artifacts import FileArtifactService, InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from httpx import Response
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, FilePolicy, create_app
from stream_protocol.serving.chats._artifacts import artifact_url
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, client, only, said, stream


class ArtifactApp:
    """An app whose user Ann has a chat c1, and its artifacts."""

    def __init__(self, artifacts: Any = None, **options: Any) -> None:
        self.artifacts = artifacts or InMemoryArtifactService()
        agent = LlmAgent(
            name="root",
            model=ScriptedLlm(turns=[Call("draw"), "Done."]),
            tools=[FunctionTool(self.draw)],
        )
        runner = Runner(
            app_name="root", agent=agent, session_service=InMemorySessionService(), artifact_service=self.artifacts
        )
        self.service = ChatService(runner, **options)
        self.app = Starlette(
            routes=chat_routes(self.service, identify=lambda request: request.headers.get("x-user", "ann"))
        )

    async def draw(self, tool_context: ToolContext) -> types.Part:
        """Draws."""
        picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"PNG", display_name="a/sky 1.png"))
        await tool_context.save_artifact("a/sky 1.png", picture)
        return picture

    async def save(self, name: str, part: types.Part) -> None:
        if not self.service.runner.session_service.sessions:  # type: ignore[attr-defined]  # it is the one in memory
            await self.service.runner.session_service.create_session(app_name="root", user_id="ann", session_id="c1")
        await self.artifacts.save_artifact(
            app_name="root", user_id="ann", session_id="c1", filename=name, artifact=part
        )

    async def get(self, path: str, user: str = "ann") -> Response:
        async with client(self.app) as http:
            return await http.get(path, headers={"x-user": user})


def blob(data: bytes, mime_type: str) -> types.Part:
    return types.Part(inline_data=types.Blob(mime_type=mime_type, data=data))


@pytest.mark.parametrize("name", ["a.png", "charts/2024/a b.png", "user:me.png", "ключ.png", "100%.png", "a?b#c.png"])
async def test_an_artifact_is_served_under_its_url(name: str) -> None:
    artifact_app = ArtifactApp()
    for content in (b"old", b"new"):
        await artifact_app.save(name, blob(content, "image/png"))
    old, new = [await artifact_app.get(artifact_url("/api/chat", "c1", name, version)) for version in (0, 1)]
    assert [(r.status_code, r.content, r.headers["content-type"]) for r in (old, new)] == [
        (200, b"old", "image/png"),
        (200, b"new", "image/png"),
    ]
    newest = await artifact_app.get(artifact_url("/api/chat", "c1", name, 0).partition("?")[0])
    assert newest.content == b"new"


async def test_a_text_that_ends_within_a_character_is_served() -> None:
    artifact_app = ArtifactApp()
    await artifact_app.save("note.txt", types.Part(text="a\ud83d"))
    assert (await artifact_app.get("/api/chat/c1/artifacts/note.txt")).text == "a\ufffd"


async def test_a_chat_with_a_file_whose_name_ends_within_a_character_stays_readable() -> None:
    async def save(tool_context: ToolContext) -> None:
        """Saves."""
        await tool_context.save_artifact("a\ud83d.txt", types.Part(text="x"))

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[Call("save"), "Done."]), tools=[save])
    runner = Runner(
        app_name="root",
        agent=agent,
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    page = Page(create_app(runner))
    await page.send("save")
    (saved,) = [part for part in page.messages[-1]["parts"] if part["type"] == "data-adk-artifact"]
    assert saved["data"] == {
        "filename": "a\ufffd.txt",
        "version": 0,
        "url": "/api/chat/c1/artifacts/a%EF%BF%BD.txt?version=0",
    }
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_a_text_is_served_as_text() -> None:
    artifact_app = ArtifactApp()
    await artifact_app.save("note.txt", types.Part(text="grüß dich <script>"))
    response = await artifact_app.get("/api/chat/c1/artifacts/note.txt")
    assert response.text == "grüß dich <script>"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("media_type", "served_as", "disposition"),
    [
        ("image/png", "image/png", "inline"),
        ("image/svg+xml", "image/svg+xml", "attachment"),
        ("text/html", "text/html; charset=utf-8", "attachment"),
        ("application/xhtml+xml", "application/xhtml+xml", "attachment"),
        ("application/pdf", "application/pdf", "attachment"),
        ("text/javascript", "text/javascript; charset=utf-8", "attachment"),
        ("audio/wav", "audio/wav", "inline"),
        ("Image/PNG; x=1", "image/png", "inline"),
        ("image/png\r\nset-cookie: a=b", "application/octet-stream", "attachment"),
        ("", "application/octet-stream", "attachment"),
    ],
)
async def test_nothing_in_an_artifact_runs_in_the_pages_origin(
    media_type: str, served_as: str, disposition: str
) -> None:
    artifact_app = ArtifactApp()
    await artifact_app.save('dir/evil".html', blob(b"<script>alert(1)</script>", media_type))
    response = await artifact_app.get(artifact_url("/api/chat", "c1", 'dir/evil".html', 0))
    assert response.status_code == 200
    assert response.headers["content-type"] == served_as
    assert response.headers["content-disposition"] == f"{disposition}; filename*=utf-8''evil%22.html"
    assert response.headers["x-content-type-options"] == "nosniff"
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
    assert response.headers["content-security-policy"] == policy
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["cache-control"].startswith("private")
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("service", ["memory", "files"])
async def test_what_is_not_there_and_what_is_anothers_look_the_same(service: str, tmp_path: Any) -> None:
    artifact_app = ArtifactApp(FileArtifactService(tmp_path) if service == "files" else None)
    await artifact_app.save("a.png", blob(b"1", "image/png"))
    await artifact_app.save("user:b.png", blob(b"1", "image/png"))
    seen = {
        (response.status_code, response.text)
        for response in [
            await artifact_app.get("/api/chat/c1/artifacts/a.png", user="bob"),
            await artifact_app.get("/api/chat/c1/artifacts/user:b.png", user="bob"),
            await artifact_app.get("/api/chat/never/artifacts/a.png"),
            await artifact_app.get("/api/chat/never/artifacts/user:b.png"),
            await artifact_app.get("/api/chat/c1/artifacts/never.png"),
            await artifact_app.get("/api/chat/c1/artifacts/a.png?version=1"),
            await artifact_app.get("/api/chat/c1/artifacts/a.png?version=-1"),
            await artifact_app.get("/api/chat/c1/artifacts/a.png?version=x"),
            await artifact_app.get("/api/chat/c1/artifacts/a.png?version=99999999999999999999"),
            await artifact_app.get("/api/chat/c1/artifacts/%2e%2e/%2e%2e/c1/a.png"),
            await artifact_app.get("/api/chat/c1/artifacts/%00"),
        ]
    }
    assert seen == {(404, "There is no such artifact.")}


async def test_a_server_without_an_artifact_service_has_none() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."]))
    service = ChatService(Runner(app_name="root", agent=agent, session_service=InMemorySessionService()))
    app = Starlette(routes=chat_routes(service))
    await stream(app, chat(said("hi")))
    async with client(app) as http:
        assert (await http.get("/api/chat/c1/artifacts/a.png")).status_code == 404


async def test_a_file_in_the_artifact_service_goes_out_as_a_link_that_works() -> None:
    artifact_app = ArtifactApp()
    answer = await stream(artifact_app.app, chat(said("draw")))
    (artifact,) = only(answer, "data-adk-artifact")
    assert artifact["data"]["url"] == "/api/chat/c1/artifacts/a/sky%201.png?version=0"
    (file,) = only(answer, "file")
    assert file == {"type": "file", "url": artifact["data"]["url"], "mediaType": "image/png"}
    assert (await artifact_app.get(file["url"])).content == b"PNG"


async def test_an_app_that_wants_no_links_sends_bytes() -> None:
    answer = await stream(ArtifactApp(files=FilePolicy(artifact_links=False)).app, chat(said("draw")))
    (file,) = only(answer, "file")
    assert file["url"].startswith("data:image/png;base64,")
    (artifact,) = only(answer, "data-adk-artifact")
    assert "url" not in artifact["data"]


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_an_artifact_of_an_agent_stays_before_the_stopped_text_of_its_sub_agent() -> None:
    """ADK stores the end of the agent before the text of the sub-agent is stored."""

    async def save(callback_context: CallbackContext) -> None:
        await callback_context.save_artifact("notes.txt", types.Part(text="notes"))
        callback_context.state["saved"] = True  # without it, older versions of ADK yield no event

    speaker = LlmAgent(name="speaker", model=ScriptedLlm(turns=[["Half", Wait(0.2), " and half."]]))
    line = SequentialAgent(name="line", sub_agents=[speaker], before_agent_callback=save)
    service = ChatService(
        Runner(
            app_name="root",
            agent=line,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
        )
    )
    page = Page(create_app(service))
    page.messages.append(said("hi"))
    async with begin(page.app, page.body()) as exchange:
        await exchange.status()
        seen = [await exchange.chunk()]
        while seen[-1]["type"] != "text-delta":
            seen.append(await exchange.chunk())
        await service.stop("c1", user_id="local")
        while seen[-1]["type"] != "abort":
            seen.append(await exchange.chunk())
    page.take(seen)
    assert [part["type"] for part in page.messages[-1]["parts"]] == ["data-adk-artifact", "step-start", "text"]
    assert comparable(await page.stored()) == comparable(page.messages)
