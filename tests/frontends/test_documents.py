"""Runs the code of README and docs as a reader does. Servers run by their own commands, pages in a fresh Next app in
Chromium, and commands in a shell.

Blocks are used as printed: the browser maps the addresses in them.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from stream_protocol import iter_sse
from tests.chromium import launched, opened_tab
from tests.documents import block, shown_file
from tests.frontends.builds import BUILD_SECONDS, serving_by, serving_fresh_next_app
from tests.frontends.chat_page import ChatPage
from tests.frontends.gemini_server import LONG, serving_gemini
from tests.frontends.scripted_chats import STORY, Backend, serving_scripted_chats
from tests.processes import COMMAND, HANG, ROOT, cli, serving
from tests.redis_server import RedisServer
from tests.serving.support import chunks, text
from website.events import turns
from website.paths import recording

pytestmark = [pytest.mark.frontends, pytest.mark.timeout(BUILD_SECONDS)]

PAGE: Final = "http://localhost:3000"
SERVER: Final = "http://localhost:8000"
UVICORN: Final = [sys.executable, "-m", "uvicorn", "main:app"]
AGENT: Final = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm
def answer(request):
    return ["You said: ", request.contents[-1].parts[0].text]
root_agent = LlmAgent(name="assistant", model=ScriptedLlm(respond=answer))
"""
BOOKS: Final = """
from stream_protocol.testing import Call, ScriptedLlm
def answer(request):
    response = request.contents[-1].parts[0].function_response
    if response is None:
        return [Call("book_trip", {"city": "Kyoto", "nights": 2})]
    booked = response.response.get("reference")
    return [f"Booked {booked}." if booked else "Not booked."]
root_agent.model = ScriptedLlm(respond=answer)
"""
FETCH: Final = "([url, init]) => fetch(url, init).then(({ status }) => status)"
COMPONENT: Final = ROOT / "examples" / "chat-page"
"""The component to copy, and its page."""

PASSING_ON: Final = ("app/api/[...path]/route.ts", "lib/agent.ts", "lib/chat-types.ts")
"""The file with which the Next.js example passes `/api` on to the agent's server."""


def asking(chat_id: str, words: str, *earlier: dict[str, Any]) -> dict[str, Any]:
    """A request with a new message after these messages."""
    message = {"id": words, "role": "user", "parts": [{"type": "text", "text": words}]}
    return {"id": chat_id, "messages": [*earlier, message]}


@pytest.fixture(scope="module")
def gemini() -> Iterator[Mapping[str, str]]:
    with serving_gemini() as environment:
        yield environment


@contextmanager
def pasted(code: str, folder: Path, *command: str, env: Mapping[str, str]) -> Iterator[str]:
    """The address of the server that runs this code, from a file ``main.py`` of its own."""
    folder.mkdir()
    (folder / "main.py").write_text(code, encoding="utf-8")
    with serving_by(command or UVICORN, cwd=folder, env={"PYTHONPATH": str(ROOT), **env}) as url:
        yield url


def streamed(url: str, chat: str = "c1", **headers: str) -> str:
    """The response to the first message of a chat, which must arrive in pieces."""
    with httpx.stream("POST", f"{url}/api/chat", json=asking(chat, "Hi"), headers=headers, timeout=HANG) as response:
        told = response.read().decode()
        assert response.status_code == 200, told
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert told.count('"text-delta"') > 1
    return text(chunks(told))


def test_routes_of_ones_own_answer(tmp_path: Path, gemini: Mapping[str, str]) -> None:
    with pasted(shown_file("examples/fastapi_app.py"), tmp_path / "app", env=gemini) as url:
        assert "You said: Hi" in streamed(url, **{"x-user": "ann"})
        stored = httpx.get(f"{url}/api/chat/c1", headers={"x-user": "ann"}).json()["messages"]
    assert [message["role"] for message in stored] == ["user", "assistant"]


def test_the_converter_alone_answers(tmp_path: Path, gemini: Mapping[str, str]) -> None:
    with pasted(shown_file("examples/converter/starlette_app.py"), tmp_path / "app", env=gemini) as url:
        assert "You said: Hi" in streamed(url)


def test_flask_answers(tmp_path: Path, gemini: Mapping[str, str]) -> None:
    flask = [sys.executable, "-m", "flask", "--app", "main:app", "run"]
    with pasted(shown_file("examples/flask_app.py"), tmp_path / "app", *flask, env=gemini) as url:
        assert "You said: Hi" in streamed(url, **{"x-user": "ann"})


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    with serving_scripted_chats() as backend:
        yield backend


@pytest.fixture(scope="module")
def server(gemini: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the quick start's server."""
    code = block("docs/quick-start.md", "app.include_router(chat_router(")
    with pasted(code, tmp_path_factory.mktemp("quick-start") / "server", env=gemini) as url:
        yield url


@pytest.fixture(scope="module")
def browser(backend: Backend, server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One to which the addresses in the quick start are those of the page and the server that run here."""
    folder = tmp_path_factory.mktemp("pages")
    proxy = ROOT / "examples" / "nextjs"
    files = {
        "app/page.tsx": block("docs/quick-start.md", "export default function Page()"),
        "app/readme/page.tsx": block("README.md", "export default function Page()"),
        "app/approvals.tsx": block("docs/approvals.md", "export function Approvals()"),
        "app/component/chat-page.tsx": (COMPONENT / "chat-page.tsx").read_text(),
        "app/component/chat/[id]/page.tsx": (COMPONENT / "page.tsx").read_text(),
        **{path: (proxy / path).read_text() for path in PASSING_ON},
    }
    with ExitStack() as running:
        page = running.enter_context(serving_fresh_next_app(folder, files, agent_url=backend.url))
        rules = [f"MAP {name} 127.0.0.1:{httpx.URL(url).port}" for name, url in ((PAGE, page), (SERVER, server))]
        yield running.enter_context(launched("--host-resolver-rules=" + ",".join(rules).replace("http://", "")))


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    with opened_tab(browser) as tab:
        yield tab


@pytest.mark.browser
@pytest.mark.node
class TestPages:
    """The pages, in one app that is made, built and started by the commands of Next.js. The quick start's is at
    ``/``.
    """

    def test_the_page_of_the_quick_start_talks_with_its_server(self, tab: Page) -> None:
        tab.goto(PAGE)
        for words in ("Hi", "And now?"):
            tab.get_by_role("textbox").fill(words)
            tab.get_by_role("textbox").press("Enter")
            expect(tab.get_by_text(f"You said: {words}")).to_be_visible()
        expect(tab.locator("form p")).to_have_count(4)

    def test_the_page_of_the_quick_start_shows_that_the_server_is_down_and_tries_again(self, tab: Page) -> None:
        tab.route(f"{SERVER}/**", lambda route: route.abort("connectionrefused"), times=1)
        tab.goto(PAGE)
        tab.get_by_role("textbox").fill("Hi")
        tab.get_by_role("textbox").press("Enter")
        alert = tab.get_by_role("alert").filter(has_text="No connection to the server.")
        expect(alert).to_be_visible()
        tab.get_by_role("button", name="Retry").click()
        expect(tab.get_by_text("You said: Hi")).to_be_visible()
        expect(alert).to_have_count(0)

    def test_the_page_of_the_quick_start_reconnects_after_a_cut(
        self, tab: Page, server: str, gemini: Mapping[str, str]
    ) -> None:
        def cut(route: Route) -> None:
            with httpx.stream("POST", f"{server}/api/chat", json=route.request.post_data_json, timeout=HANG):
                route.abort("connectionreset")

        tab.route(f"{SERVER}/api/chat", cut, times=1)
        tab.goto(PAGE)
        tab.get_by_role("textbox").fill(LONG)
        tab.get_by_role("textbox").press("Enter")
        tab.get_by_role("button", name="Reconnect").click()
        expect(tab.get_by_text("Answer briefly.")).to_be_visible()
        httpx.post(gemini["GOOGLE_GEMINI_BASE_URL"] + "/go-on").raise_for_status()
        expect(tab.get_by_text(f"You said: {LONG}")).to_be_visible()
        expect(tab.get_by_role("alert").filter(has_text="connection")).to_have_count(0)

    def test_the_page_of_the_readme_talks_and_shows_an_error(self, tab: Page) -> None:
        tab.route(f"{SERVER}/**", lambda route: route.abort("connectionrefused"), times=1)
        tab.goto(f"{PAGE}/readme")
        message = tab.get_by_label("Message")
        message.fill("Hi")
        message.press("Enter")
        expect(tab.get_by_role("alert").filter(has_text="Failed to fetch")).to_be_visible()
        message.fill("And now?")
        message.press("Enter")
        expect(tab.get_by_text("You said: And now?")).to_be_visible()
        expect(tab.get_by_text("Failed to fetch")).to_have_count(0)

    @pytest.mark.parametrize(("button", "reply"), [("Approve", "Booked Kyoto-2."), ("Deny", "Not booked.")])
    def test_the_page_of_the_readme_asks_before_its_tool_runs(
        self, tab: Page, tmp_path: Path, button: str, reply: str
    ) -> None:
        with pasted(block("README.md", "chat_router(") + BOOKS, tmp_path / "server", env={}) as server:
            tab.route(f"{SERVER}/**", lambda route: route.continue_(url=route.request.url.replace(SERVER, server)))
            tab.goto(f"{PAGE}/readme")
            tab.get_by_label("Message").fill("Book two nights in Kyoto")
            tab.get_by_label("Message").press("Enter")
            expect(tab.get_by_text('book_trip {"city":"Kyoto","nights":2}')).to_be_visible()
            tab.get_by_role("button", name=button).click()
            expect(tab.get_by_text(reply)).to_be_visible()
            expect(tab.get_by_role("button", name=button)).to_have_count(0)

    def test_the_page_may_use_every_route(self, tab: Page) -> None:
        tab.goto(PAGE)
        for method, path, status in (
            ("POST", "chat", 422),
            ("GET", "chats", 200),
            ("GET", "chat/c9", 404),
            ("GET", "chat/c9/stream", 204),
            ("POST", "chat/c9/stop", 404),
            ("PATCH", "chat/c9", 404),
            ("DELETE", "chat/c9", 404),
        ):
            headers = {"content-type": "application/json", "authorization": "Bearer x"}
            body = {"POST": '{"id": "c9"}', "PATCH": '{"archived": true}'}.get(method)
            sent = {"method": method, "headers": headers, "body": body}
            fetched = tab.evaluate(FETCH, [f"{SERVER}/api/{path}", sent])
            assert (method, path, fetched) == (method, path, status)


@pytest.mark.browser
@pytest.mark.node
class TestTheChatComponent:
    """The component to copy works, in the same app."""

    @pytest.fixture
    def chat(self, tab: Page, backend: Backend) -> ChatPage:
        return ChatPage(tab, f"{PAGE}/component/chat/{uuid4()}", backend)

    def test_it_approves_denies_and_runs_a_client_tool_also_after_a_reload(self, chat: ChatPage) -> None:
        self.say(chat, "pay")
        chat.press("Approve")
        expect(chat.answer).to_contain_text("Done: 5.0.")
        self.say(chat, "pay")
        expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
        chat.tab.reload()
        chat.press("Deny")
        expect(chat.answer).to_contain_text("Done: None.")
        self.say(chat, "time")
        chat.press("Allow")
        expect(chat.answer).to_contain_text("Your zone is")
        assert self.states(chat) == ["output-available", "output-denied", "output-available"]

    def test_it_stops_and_marks_the_answer_then_interrupts_and_edits(self, chat: ChatPage, backend: Backend) -> None:
        self.say(chat, "story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.press("Stop")
        expect(chat.answer).to_contain_text("This answer is incomplete.")
        self.say(chat, "story")
        expect(chat.answer).to_contain_text(STORY[0])
        self.say(chat, "hello")
        expect(chat.answer).to_contain_text("You said: hello")
        chat.press("Edit")
        self.say(chat, "instead", "Replace the message and its answers")
        expect(chat.answer).to_contain_text("You said: instead")
        story = [("user", "story"), ("assistant", STORY[0])]
        assert backend.stored(chat.chat_id) == [*story, *story, ("user", "instead"), ("assistant", "You said: instead")]

    def test_it_sends_files_and_continues_after_a_reload(self, chat: ChatPage, backend: Backend) -> None:
        file = FilePayload(name="some.bin", mimeType="application/octet-stream", buffer=b"12345")
        chat.tab.get_by_label("Files").set_input_files(file)
        self.say(chat, "files")
        expect(chat.answer).to_contain_text("application/octet-stream, 5 bytes")
        expect(chat.tab.get_by_role("link", name="some.bin")).to_be_visible()
        self.say(chat, "story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.tab.reload()
        expect(chat.answer).to_contain_text(STORY[0])
        backend.script.go_on()
        expect(chat.answer).to_contain_text(STORY[1])

    def test_it_shows_failures_and_tries_again(self, chat: ChatPage) -> None:
        self.say(chat, f"fail {chat.chat_id}")
        expect(chat.tab.get_by_role("alert").filter(has_text="An error occurred.")).to_be_visible()
        chat.press("Retry")
        expect(chat.answer).to_contain_text(f"You said: fail {chat.chat_id}")

    @pytest.mark.parametrize("arrived", [True, False])
    def test_it_loads_what_the_server_has_after_a_lost_connection(
        self, chat: ChatPage, backend: Backend, *, arrived: bool
    ) -> None:
        def cut(route: Route) -> None:
            if arrived:
                httpx.post(f"{backend.url}/api/chat", json=route.request.post_data_json, timeout=HANG)
            route.abort()

        chat.tab.route("**/api/chat", cut, times=1)
        self.say(chat, "hello")
        chat.press("Reconnect")
        expect(chat.answer).to_contain_text("You said: hello")
        expect(chat.tab.get_by_role("alert").filter(has_text="fetch")).to_have_count(0)
        assert backend.stored(chat.chat_id) == [("user", "hello"), ("assistant", "You said: hello")]

    def test_it_reconnects_to_a_reply_that_is_still_written(self, chat: ChatPage, backend: Backend) -> None:
        def cut(route: Route) -> None:
            with httpx.stream("POST", f"{backend.url}/api/chat", json=route.request.post_data_json, timeout=HANG):
                route.abort("connectionreset")

        chat.tab.route("**/api/chat", cut, times=1)
        self.say(chat, "story")
        chat.press("Reconnect")
        expect(chat.answer).to_contain_text(STORY[0])
        backend.script.go_on()
        expect(chat.answer).to_contain_text(STORY[1])
        expect(chat.tab.get_by_role("alert").filter(has_text="fetch")).to_have_count(0)

    def test_a_late_page_shows_the_running_reply_and_stops_it(self, chat: ChatPage, backend: Backend) -> None:
        asked = asking(chat.chat_id, "story")
        with httpx.stream("POST", f"{backend.url}/api/chat", json=asked, timeout=HANG) as response:
            assert response.status_code == 200
            chat.tab.reload()
            expect(chat.answer).to_contain_text(STORY[0])
            chat.press("Stop")
            expect(chat.tab.get_by_role("button", name="Stop")).to_have_count(0)
        assert backend.stored(chat.chat_id) == [("user", "story"), ("assistant", STORY[0])]

    def say(self, chat: ChatPage, words: str, button: str = "Send") -> None:
        chat.field.fill(words)
        chat.press(button)

    def states(self, chat: ChatPage) -> list[str | None]:
        return [call.get_attribute("data-state") for call in chat.tab.get_by_role("region", name="Tool ").all()]


class TestCommands:
    """Shell commands, in a folder with the files that they need."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for agent in (tmp_path / "my_package" / "agent.py", tmp_path / "agent" / "agent.py"):
            agent.parent.mkdir()
            agent.write_text(AGENT, encoding="utf-8")
        return tmp_path

    def test_the_commands_of_the_quick_start(self, folder: Path) -> None:
        for arguments in [*shown("docs/quick-start.md", "serve agent"), *shown("docs/quick-start.md", "--say")]:
            self.run(arguments, folder)
        assert "You said: Hi" in done(folder, "replay", "hi.jsonl", "--to", "messages")

    def test_a_stream_of_ones_own_is_checked(self, folder: Path) -> None:
        (folder / "capture.sse").write_bytes(b"".join(iter_sse([])))
        ((command, *arguments),) = shown("docs/coming-from/a-hand-written-bridge.md", "capture.sse")
        assert "valid for" in done(folder, command, *arguments)

    def test_a_recording_of_the_table_of_events_is_opened(self, folder: Path) -> None:
        ((_, _, file, *options),) = shown("docs/events.md", "--replay")
        (folder / file).write_text(recording(Path(file).stem))
        with serving("--replay", file, *options, cwd=folder) as (_, url):
            (listed,) = httpx.get(f"{url}/api/chats").json()["chats"]
            answered = httpx.post(f"{url}/api/chat", json=asking(listed["id"], listed["title"]), timeout=HANG)
        assert [chunk["type"] for chunk in chunks(answered.text)] == next(turns(Path(file).stem))

    def test_the_commands_at_a_glance(self, folder: Path, shared_redis: RedisServer) -> None:
        done(folder, "record", "agent", "--say", "Hi", "--to", "events.jsonl")
        (folder / "capture.sse").write_text(done(folder, "replay", "events.jsonl"))
        with serving("agent", "--session-service-uri", "sqlite:///sessions.db", cwd=folder) as (_, url):
            httpx.post(f"{url}/api/chat", json=asking("s1", "Hi"), timeout=HANG)
        for command in shown("docs/operations.md", "--user-header"):
            self.run([word.replace("host:6379", f"127.0.0.1:{shared_redis.port}") for word in command], folder)

    def test_the_agents_server_of_the_template(self, folder: Path) -> None:
        ((_, *serve),) = shown("docs/chatbot-template.md", "--user-header")
        self.run(["serve", *serve], folder)

    def test_a_target_that_cannot_be_loaded_ends_with_the_line_that_is_shown(self, tmp_path: Path) -> None:
        (tmp_path / "agent.py").write_text('import os\n\n\nCITY = os.environ["WEATHER_URL"]\n', encoding="utf-8")
        asked, told = block("docs/errors.md", "cannot load agent:root_agent").splitlines()
        refused = cli(*asked.split()[2:], cwd=tmp_path)
        assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", f"{told}\n")

    def test_a_chat_is_recorded_and_replayed(self, folder: Path) -> None:
        for arguments in shown("docs/recording.md", "--record recordings/"):
            self.run(arguments, folder)
        assert "And tomorrow?" in done(folder, "replay", "weather.jsonl", "--to", "messages")

    def run(self, arguments: Sequence[str], folder: Path) -> None:
        """Runs a command: a server must answer, and any other command must succeed."""
        if arguments[0] != "serve":
            done(folder, *arguments)
            return
        has_users = "--user-header" in arguments
        chat = uuid4().hex  # servers that were killed may hold theirs in Redis for the time of a lease
        with serving(*arguments[1:], cwd=folder) as (_, url):
            if has_users:
                assert httpx.post(f"{url}/api/chat", json=asking(chat, "Hi"), timeout=HANG).status_code == 401
            assert "You said: " in streamed(url, chat, **({"X-User": "ann"} if has_users else {}))

    def test_a_response_of_a_running_server_is_checked(self, folder: Path) -> None:
        (folder / "request.json").write_text(json.dumps(asking("c1", "Hi")))
        with serving("agent", cwd=folder) as (_, url):
            told = shell(block("docs/check.md", "curl --no-buffer").replace(SERVER, url), folder)
        assert "capture.sse: valid for v6 and v7" in told

    def test_the_replay_server_holds_back_what_is_not_let_go(self, folder: Path) -> None:
        example = ROOT / "examples" / "frontend-tests"
        (folder / "recordings").symlink_to(example / "recordings")
        ((_, *serve),) = shown("examples/frontend-tests/README.md", "--pace held")
        step = block("docs/replay-server.md", "__replay/weather--7/step?to=tool-input-delta")
        with serving(*serve, cwd=folder) as (_, url), ExitStack() as open_:
            asked = asking("weather--7", "weather?")
            open_.enter_context(httpx.stream("POST", f"{url}/api/chat", json=asked, timeout=HANG))
            told = [json.loads(shell(step.replace("http://127.0.0.1:8000", url), folder)) for _ in range(2)]
        assert told[1] == json.loads(block("docs/replay-server.md", '"released"'))

    def test_the_recordings_of_a_folder_are_served_and_another_word_is_refused(self, folder: Path) -> None:
        (folder / "recordings").mkdir()
        done(folder, "record", "agent", "--say", "weather?", "--say", "hi", "--to", "recordings/weather.jsonl")
        ((_, *serve),) = shown("docs/replay-server.md", "or one file")
        with serving(*serve, cwd=folder) as (_, url):
            answered = httpx.post(f"{url}/api/chat", json=asking("weather", "weather?"), timeout=HANG)
            earlier = httpx.get(f"{url}/api/chat/weather").json()["messages"]
            refused = httpx.post(f"{url}/api/chat", json=asking("weather", "hello", *earlier), timeout=HANG)
        assert text(chunks(answered.text)) == "You said: weather?"
        assert f"{refused.text}\n" == block("docs/replay-server.md", "No recorded turn matches.")

    def test_a_recording_is_printed_as_a_stream(self, tmp_path: Path) -> None:
        example = ROOT / "examples" / "frontend-tests"
        (tmp_path / "recordings").symlink_to(example / "recordings")
        (tmp_path / "streams").mkdir()
        shell(block("examples/frontend-tests/README.md", "> streams/weather.sse"), tmp_path)
        assert (tmp_path / "streams" / "weather.sse").read_bytes() == (example / "streams" / "weather.sse").read_bytes()


def shown(file: str, mark: str) -> list[list[str]]:
    """The arguments of each command of a block of ``adk-ui-stream`` commands."""
    lines = block(file, mark).replace("\\\n", "").splitlines()
    commands = [command for line in lines if (command := shlex.split(line, comments=True))]
    assert {command[0] for command in commands} == {"adk-ui-stream"}
    return [command[1:] for command in commands]


def done(folder: Path, *arguments: str) -> str:
    """The output of the command, which must succeed."""
    told = cli(*arguments, cwd=folder)
    assert told.exit_code == 0, told
    return told.stdout


def shell(commands: str, folder: Path) -> str:
    """The shell's output for these commands, each of which must succeed."""
    bin_ = folder / "bin"
    bin_.mkdir(exist_ok=True)
    (bin_ / "adk-ui-stream").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    (bin_ / "adk-ui-stream").chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=folder, env=env, capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
