"""An image in any form, at any place in ADK's events: the client's folded message equals history."""

import asyncio
import base64
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.code_executors import BaseCodeExecutor, BuiltInCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from google.adk.events import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from starlette.applications import Starlette
from starlette.routing import Mount

from stream_protocol.serving import ChatService, FilePolicy, create_app
from stream_protocol.serving.base import TurnRecorders
from stream_protocol.serving.chats import _artifacts as artifacts
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Message, Page
from tests.serving.support import begin, chat, chunks, client, only, post, said, soon, stream

PNG = b"\x89PNG\xfb\xff"
IMAGE = types.Part.from_bytes(data=PNG, mime_type="image/png")
CODE = types.Part(executable_code=types.ExecutableCode(code="plot()", language=types.Language.PYTHON))
RAN = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="ok"))
UPLOAD = {
    "type": "file",
    "mediaType": "image/png",
    "url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
    "filename": "cat.png",
}
MODES = [StreamingMode.SSE, StreamingMode.NONE]
each_mode = pytest.mark.parametrize("mode", MODES, ids=["streamed", "whole"])


async def draw(tool_context: ToolContext) -> types.Part:
    """Draws, and saves the picture."""
    await tool_context.save_artifact("sky.png", IMAGE)
    return IMAGE


async def keep(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
    """Saves the model's picture, as apps with drawing models do."""
    for part in (llm_response.content.parts if llm_response.content is not None else None) or ():
        if part.inline_data is not None:
            await callback_context.save_artifact("drawn.png", part)


class Plotter(BaseCodeExecutor):
    """An executor whose code leaves a picture."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        picture = File(name="plot.png", content=base64.b64encode(PNG).decode(), mime_type="image/png")
        return CodeExecutionResult(stdout="ok", output_files=[picture])


def page_for(*turns: Any, mode: StreamingMode = StreamingMode.SSE, **agent: Any) -> Page:
    model = ScriptedLlm(model="gemini-2.5-flash", turns=turns)
    service = ChatService(
        LlmAgent(name="root", model=model, **agent), run_config=RunConfig(streaming_mode=mode), ai_sdk=6
    )
    return Page(create_app(service))


def shown(page: Page, kind: str) -> list[Message]:
    return [part for part in page.messages[-1]["parts"] if part["type"] == kind]


async def loaded(page: Page, url: str) -> bytes:
    async with client(page.app) as http:
        response = await http.get(url)
    assert response.status_code == 200
    return response.content


async def assert_stored_is_shown(page: Page) -> None:
    assert comparable(await page.stored()) == comparable(page.messages)


@each_mode
async def test_an_image_that_a_tool_saved_and_returned_is_a_link(mode: StreamingMode) -> None:
    page = page_for(["Look: ", Call("draw")], "Nice?", mode=mode, tools=[draw])
    await page.send("draw")
    (file,) = shown(page, "file")
    assert file["url"] == "/api/chat/c1/artifacts/sky.png?version=0"
    assert await loaded(page, file["url"]) == PNG
    await assert_stored_is_shown(page)


@each_mode
async def test_an_image_of_the_models_that_nobody_saved_is_bytes_in_its_place(mode: StreamingMode) -> None:
    page = page_for(["Look: ", IMAGE, " nice? ", IMAGE, " Or so?"], mode=mode)
    await page.send("draw")
    kinds = [part["type"] for part in page.messages[-1]["parts"]]
    assert kinds == ["step-start", "text", "file", "text", "file", "text"]
    assert {file["url"] for file in shown(page, "file")} == {UPLOAD["url"]}
    await assert_stored_is_shown(page)


@each_mode
async def test_an_image_of_the_models_that_a_callback_saved_is_a_link(mode: StreamingMode) -> None:
    page = page_for(["Look: ", IMAGE, " nice?"], mode=mode, after_model_callback=keep)
    await page.send("draw")
    (file,) = shown(page, "file")
    assert file["url"].startswith("/api/chat/c1/artifacts/drawn.png?version=")
    assert await loaded(page, file["url"]) == PNG
    await assert_stored_is_shown(page)


@each_mode
async def test_an_image_that_gemini_s_own_code_made_is_the_artifact_that_adk_makes_of_it(mode: StreamingMode) -> None:
    page = page_for(["I plot. ", CODE, RAN, IMAGE, " There."], "Well.", mode=mode, code_executor=BuiltInCodeExecutor())
    await page.send("plot")
    (artifact,) = shown(page, "data-adk-artifact")
    assert await loaded(page, artifact["data"]["url"]) == PNG
    assert shown(page, "file") == []
    await assert_stored_is_shown(page)
    await page.send("thanks")
    await assert_stored_is_shown(page)


@each_mode
async def test_an_image_that_executed_code_left_is_an_artifact(mode: StreamingMode) -> None:
    page = page_for("```tool_code\nplot()\n```", "There.", mode=mode, code_executor=Plotter())
    await page.send("plot")
    (artifact,) = shown(page, "data-adk-artifact")
    assert await loaded(page, artifact["data"]["url"]) == PNG
    stored = await page.stored()
    for kind in ("data-adk-artifact", "file", "dynamic-tool"):
        assert [part for part in stored[-1]["parts"] if part["type"] == kind] == shown(page, kind)


@pytest.mark.parametrize(
    "ran", [[], [RAN], [RAN, " There."], [RAN, IMAGE, " There."], [RAN, IMAGE, CODE, RAN], [RAN, CODE]], ids=len
)
async def test_gemini_s_own_code_whose_stream_broke_off_is_kept(ran: list[Any]) -> None:
    page = page_for(["I plot. ", CODE, *ran, RuntimeError("x")], "Better.", code_executor=BuiltInCodeExecutor())
    await page.send("plot")
    assert shown(page, "dynamic-tool")
    await assert_stored_is_shown(page)
    await page.send("again")
    await assert_stored_is_shown(page)


async def test_an_image_whose_stream_broke_off_is_kept() -> None:
    page = page_for(["Look: ", IMAGE, " nice", RuntimeError("x")], "Better.")
    await page.send("draw")
    assert [part["type"] for part in page.messages[-1]["parts"]] == ["step-start", "text", "file", "text"]
    await assert_stored_is_shown(page)
    await page.send("again")
    await assert_stored_is_shown(page)


async def test_an_image_whose_stream_was_stopped_is_kept() -> None:
    taken = asyncio.Event()

    class Listener(TurnRecorders):
        """The model runs ahead of the service: its output may still be in ADK's queue."""

        def turn(self, *_request: object, **_how: object) -> "Listener":
            return self

        def event(self, event: Event) -> None:
            if any(part.text == " nice" for part in (event.content and event.content.parts) or ()):
                taken.set()

    model = ScriptedLlm(turns=[["Look: ", IMAGE, " nice", Wait(asyncio.Event()), "?"], "Better."])
    service = ChatService(LlmAgent(name="root", model=model), recorder=Listener())
    page = Page(create_app(service))
    page.messages.append(said("draw"))
    async with begin(page.app, page.body()) as exchange:
        await exchange.status()
        await soon(taken)
        await service.stop("c1", user_id="local")
        received: list[Any] = []
        while (event := await exchange.event()) and event != "data: [DONE]":
            received += chunks(f"{event}\n\ndata: [DONE]\n\n")
    page.take(received)
    assert [part["type"] for part in page.messages[-1]["parts"]] == ["step-start", "text", "file", "text"]
    await assert_stored_is_shown(page)


UPLOADERS: dict[str, tuple[type[BaseAgent], list[BasePlugin], bool]] = {
    "plugin": (LlmAgent, [SaveFilesAsArtifactsPlugin()], True),
    "run config": (SequentialAgent, [], True),
    "run config that ADK does not look at": (LlmAgent, [], False),
}


def uploading(way: str, *, tools: Any = (), turns: Any = ("A cat.", "Still a cat.", "Still a cat.")) -> Page:
    kind, plugins, _ = UPLOADERS[way]
    model = ScriptedLlm(turns=turns)
    agent: BaseAgent = LlmAgent(name="root", model=model, tools=list(tools))
    if kind is SequentialAgent:
        agent = SequentialAgent(name="root", sub_agents=[LlmAgent(name="one", model=model, tools=list(tools))])
    config = RunConfig(streaming_mode=StreamingMode.SSE, save_input_blobs_as_artifacts=way.startswith("run config"))
    return Page(create_app(ChatService(App(name="root", root_agent=agent, plugins=plugins), run_config=config)))


def each_uploader(test: Any) -> Any:
    ignored = ["(deprecated|The 'save_input_blobs)", "SequentialAgent is deprecated"]
    for words in ignored:
        test = pytest.mark.filterwarnings(f"ignore:{words}:DeprecationWarning")(test)
    return pytest.mark.parametrize("way", UPLOADERS)(test)


@each_uploader
async def test_an_upload_that_adk_saves_as_an_artifact_is_a_file_in_history(way: str) -> None:
    page = uploading(way)
    link = {"type": "file", "mediaType": "image/jpeg", "url": "https://example.com/b.jpg", "filename": "b.jpg"}
    await page.send("what is this?", link, UPLOAD, link, {**UPLOAD, "filename": "dog.png"})
    stored = await page.stored()
    assert comparable(stored[1:]) == comparable(page.messages[1:])
    for kept, sent in zip(stored[0]["parts"], page.messages[0]["parts"], strict=True):
        if UPLOADERS[way][2] and sent.get("url") == UPLOAD["url"]:
            assert await loaded(page, kept["url"]) == PNG
            kept["url"] = sent["url"]
        assert kept == sent
    await page.send("and now?")
    assert (await page.stored())[2:] == page.messages[2:]


async def test_the_link_to_an_upload_is_right_before_the_agent_has_stored_anything() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(callback_context: CallbackContext) -> None:
        begun.set()
        await go_on.wait()

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["A cat."]), before_agent_callback=wait)
    app = App(name="root", root_agent=agent, plugins=[SaveFilesAsArtifactsPlugin()])
    page = Page(create_app(ChatService(app)))
    sending = asyncio.create_task(page.send("what is this?", UPLOAD))
    await soon(begun)
    [said, *_] = await page.stored()
    assert await loaded(page, said["parts"][0]["url"]) == PNG
    go_on.set()
    await sending
    assert (await page.stored())[0] == said


async def regenerate(page: Page) -> None:
    await page.regenerate()


async def edit(page: Page) -> None:
    *kept, _ = page.messages[0]["parts"]
    await page.edit(page.messages[0]["id"], "what are those?", *kept)


def upload(data: bytes, name: str = "cat.png") -> Message:
    return {**UPLOAD, "url": f"data:image/png;base64,{base64.b64encode(data).decode()}", "filename": name}


async def files(page: Page) -> list[bytes]:
    """The files of the first message, as history has them."""
    [said, *_] = await page.stored()
    urls = [part["url"] for part in said["parts"] if part["type"] == "file"]
    return [base64.b64decode(url.partition(",")[2]) if url[:5] == "data:" else await loaded(page, url) for url in urls]


@each_uploader
@pytest.mark.parametrize("reloads", [1, 2])
@pytest.mark.parametrize("again", [regenerate, edit])
async def test_uploads_are_still_there_when_a_page_that_was_reloaded_says_them_again(
    way: str, again: Any, reloads: int
) -> None:
    page = uploading(way)
    await page.send("what are these?", upload(b"first"), upload(b"second"), upload(b"other", "dog.png"))
    for number in range(2):
        if number < reloads:
            page.messages = await page.stored()
        await again(page)
        assert await files(page) == [b"first", b"second", b"other"]
        [said, answer] = await page.stored()
        assert [part.get("filename") for part in said["parts"]] == ["cat.png", "cat.png", "dog.png", None]
        assert only(answer["parts"], "text")[0]["text"] == "Still a cat."


async def crop(tool_context: ToolContext) -> str:
    """Puts another picture in the place of the upload."""
    await tool_context.save_artifact("cat.png", types.Part.from_bytes(data=b"cropped", mime_type="image/png"))
    return "Cropped."


@each_uploader
async def test_a_file_of_a_tools_by_the_name_of_an_upload_is_not_that_upload(way: str) -> None:
    page = uploading(way, tools=[crop], turns=[Call("crop"), "Done.", "Again."])
    await page.send("crop it", upload(b"whole"))
    assert await files(page) == [b"whole"]
    await page.regenerate()
    assert await files(page) == [b"whole"]


async def test_a_link_stands_for_a_file_once_and_all_files_together_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = uploading("plugin")
    await page.send("look", upload(b"12345"), upload(b"67890"))
    stored = page.messages = await page.stored()
    first, second, _ = stored[0]["parts"]
    for parts, status in (([first, first], 422), ([first, second], 413)):
        monkeypatch.setattr(artifacts, "MAX_FILES_BYTES", 9)
        body = chat({**stored[0], "parts": parts}, messageId=stored[0]["id"])
        assert (await post(page.app, body)).status_code == status
    assert await page.stored() == stored


async def test_a_name_that_is_a_path_stays_in_its_link() -> None:
    page = uploading("plugin")
    await page.send("look", upload(b"file", "../../../../logout"))
    [said, _] = await page.stored()
    assert said["parts"][0]["url"] == "/api/chat/c1/artifacts/..%2F..%2F..%2F..%2Flogout?version=0"
    assert await files(page) == [b"file"]


@each_uploader
async def test_an_edit_may_link_to_the_files_of_its_own_message_only(way: str) -> None:
    page = uploading(way)
    await page.send("what is this?", UPLOAD)
    await page.send("and now?")
    stored = page.messages = await page.stored()
    url = "/api/chat/c1/artifacts/cat.png?version=0"
    file = {"type": "file", "mediaType": "image/png", "url": url}
    body = chat({"id": stored[2]["id"], "role": "user", "parts": [file]}, messageId=stored[2]["id"])
    response = await post(page.app, body)
    assert (response.status_code, response.text) == (422, "Attached files must be data URLs or http(s) URLs.")
    assert await page.stored() == stored


async def test_an_upload_whose_artifact_is_gone_is_the_line_that_stands_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = InMemoryArtifactService()
    runner = Runner(
        app=App(
            name="root",
            root_agent=LlmAgent(name="root", model=ScriptedLlm(turns=["A cat.", "A line."])),
            plugins=[SaveFilesAsArtifactsPlugin()],
        ),
        artifact_service=service,
        session_service=InMemorySessionService(),
    )
    page = Page(create_app(ChatService(runner)))
    await page.send("what is this?", UPLOAD)
    service.artifacts.clear()
    await page.regenerate()
    [said, answer] = await page.stored()
    assert [part.get("text") for part in said["parts"]] == ['[Uploaded Artifact: "cat.png"]', "what is this?"]
    assert answer["parts"][-1]["text"] == "A line."
    assert "cat.png" in caplog.text


def drawing(**options: Any) -> ChatService:
    model = ScriptedLlm(respond=lambda request: "Nice?" if len(request.contents) > 1 else Call("draw"))
    return ChatService(LlmAgent(name="root", model=model, tools=[draw]), **options)


BYTES = UPLOAD["url"]
PATH = "/api/chat/c1/artifacts/sky.png?version=0"
WHOLE = "http://app" + PATH


@pytest.mark.parametrize(
    ("headers", "url"),
    [
        ({}, PATH),
        ({"origin": "http://app"}, PATH),
        ({"origin": "http://localhost:3000"}, WHOLE),
        ({"origin": "https://app.example", "sec-fetch-site": "same-origin"}, PATH),
        ({"origin": "https://app.example", "sec-fetch-site": "same-site"}, WHOLE),
        ({"origin": "https://app.example", "sec-fetch-site": "cross-site"}, WHOLE),
        ({"authorization": "Bearer x"}, BYTES),
    ],
    ids=str,
)
async def test_links_are_such_as_the_page_can_load(headers: dict[str, str], url: str) -> None:
    async with client(create_app(drawing(), allow_origins=["https://app.example", "http://localhost:3000"])) as http:
        answer = await http.post("/api/chat", json=chat(said("draw")), headers=headers)
        (file,) = only(chunks(answer.text), "file")
        history = await http.get("/api/chat/c1", headers=headers)
    assert file["url"] == url
    assert [part["url"] for part in history.json()["messages"][1]["parts"] if part["type"] == "file"] == [url]


async def test_links_go_through_a_mount() -> None:
    app = Starlette(routes=[Mount("/v1", routes=chat_routes(drawing(), path="/{tenant}/chat"))])
    async with client(app) as http:
        answer = await http.post("/v1/acme/chat", json=chat(said("draw")))
        (file,) = only(chunks(answer.text), "file")
        assert (await http.get(file["url"])).content == PNG
        history = await http.get("/v1/acme/chat/c1")
    assert file["url"] in history.text


@pytest.mark.parametrize(
    ("files", "url"),
    [
        (FilePolicy(artifact_links=False), BYTES),
        (FilePolicy(artifact_base="https://x.example/chat"), "https://x.example/chat/c1/artifacts/sky.png?version=0"),
    ],
    ids=["off", "elsewhere"],
)
async def test_an_app_may_say_where_its_artifacts_are_or_that_they_are_not_linked(files: FilePolicy, url: str) -> None:
    page = Page(create_app(drawing(files=files)))
    await page.send("draw")
    assert [file["url"] for file in shown(page, "file")] == [url]
    await assert_stored_is_shown(page)


async def test_a_server_that_keeps_no_chats_links_nothing() -> None:
    (file,) = only(await stream(create_app(drawing(history="client")), chat(said("draw"))), "file")
    assert file["url"] == BYTES


async def test_without_an_artifact_service_nothing_waits_and_nothing_is_linked() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Look: ", IMAGE, " nice?"]]))
    runner = Runner(app_name="root", agent=agent, session_service=InMemorySessionService(), auto_create_session=True)
    page = Page(create_app(ChatService(runner)))
    await page.send("draw")
    assert [file["url"] for file in shown(page, "file")] == [BYTES]
    await assert_stored_is_shown(page)
