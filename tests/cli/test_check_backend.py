"""``adk-ui-stream check URL``: the grid, the report, and the exit codes."""

import json
import signal
from asyncio import to_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import parse_headers
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread

import pytest
from click.testing import CliRunner, Result
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stream_protocol.backend_check import PROFILES, Outcome, Result as CheckResult, checks_of
from stream_protocol.cli import main
from stream_protocol.wire import printable
from tests.backend_check.fake_backend import SETTINGS, FakeBackend
from tests.ports import free_port
from tests.processes import HANG, started
from tests.served import served

PROMPTS = "\n".join(f"{name} = {json.dumps(SETTINGS.prompts(name))}" for name in ("tool", "approval", "client_tool"))


@contextmanager
def raw_server(response: bytes | None) -> Iterator[str]:
    """Run a server that sends these bytes and closes the connection; ``None``: it sends nothing. Yields its address."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            # The whole request: a connection that is closed with bytes unread may lose its response.
            self.rfile.readline()
            self.rfile.read(int(parse_headers(self.rfile).get("content-length", "0")))
            if response is None:
                self.rfile.read()  # until the client gives up
            else:
                self.wfile.write(response)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    file = tmp_path / "prompts.toml"
    file.write_text(PROMPTS, encoding="utf-8")
    return str(file)


def test_a_server_that_holds_all_is_exit_0(prompts: str) -> None:
    with served(FakeBackend().app()) as address:
        result = run(f"{address}/api/chat", "--prompts", prompts, "--profile", "stream")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == f"{address}/api/chat, as clients of AI SDK v6 and v7 use it"
    assert lines[2:4] == ["stream", "  holds        text answer               A response is a valid stream with text."]
    assert lines[-1] == "AI SDK v6 and v7: stream 9/9"


def test_a_broken_rule_is_shown_with_its_chunk_and_its_source_and_is_exit_1(prompts: str) -> None:
    with served(FakeBackend("edit").app()) as address:
        result = run(f"{address}/api/chat", "--prompts", prompts, "--profile", "chat", "--ai-sdk", "7")
    lines = result.stdout.splitlines()
    at = lines.index("  broken       edit                      An edit does not overwrite the user message.")
    assert lines[at + 1].strip() == "The response has the id of the user message, and overwrites it."
    assert lines[at + 2].strip().startswith('chunk: {"type":"start","messageId":')
    assert lines[at + 3].strip() == "source: ai: ui/chat.ts"
    assert lines[-1] == "AI SDK v7: chat 9/10"
    assert result.exit_code == 1


def test_a_profile_is_a_claim(prompts: str) -> None:
    app = Starlette(routes=FakeBackend().routes("")[:1])
    with served(app) as address:
        arguments = (f"{address}/api/chat", "--prompts", prompts)
        claimed = run(*arguments, "--profile", "durable")
        Path(prompts).write_text(f"{PROMPTS}\nresume = false\nstop = false\n", encoding="utf-8")
        declared = run(*arguments, "--profile", "durable")
    assert claimed.exit_code == 1
    assert (
        "Required by --profile, but the server does not offer: resume, second reader, resume without run, stop,"
        in claimed.stdout
    )
    assert (declared.exit_code, "Claimed" in declared.stdout) == (0, False)


def test_the_report_is_json(prompts: str) -> None:
    with served(FakeBackend("headers").app()) as address:
        result = run(f"{address}/api/chat", "--prompts", prompts, "--profile", "stream", "--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["passed"], report["claimed"]) == (1, False, ["stream"])
    assert (report["url"], report["aiSdk"]) == (f"{address}/api/chat", [6, 7])
    badge = {"schemaVersion": 1, "label": "AI SDK v6 and v7", "message": "stream 8/9", "color": "red"}
    assert report["badge"] == badge
    assert report["checks"][:2] == [
        {
            "name": "text answer",
            "profile": "stream",
            "rule": "A response is a valid stream with text.",
            "outcome": "holds",
        },
        {
            "name": "headers",
            "profile": "stream",
            "rule": "The response has the headers of the protocol.",
            "outcome": "broken",
            "reason": "The header x-vercel-ai-ui-message-stream is '' instead of 'v1'.",
            "source": "ai: docs/04-ai-sdk-ui/50-stream-protocol.mdx",
            "chunk": None,
        },
    ]


def test_an_interrupted_run_shows_what_it_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = checks_of(["stream"])

    async def interrupted(*_: object, on_result: Callable[[CheckResult], None], **__: object) -> None:
        on_result(CheckResult(second, Outcome.BROKEN, "It is gone.", source="a source"))
        on_result(CheckResult(first, Outcome.HOLDS))
        raise KeyboardInterrupt

    monkeypatch.setattr("stream_protocol.cli._check_backend.run_checks", interrupted)
    shown = run("http://a/api/chat")
    assert shown.exit_code == 130
    assert [line.split()[:2] for line in shown.stdout.splitlines()[3:5]] == [["holds", "text"], ["broken", "headers"]]
    assert shown.stderr.splitlines()[-1].startswith("warning: Interrupted: 2 of ")
    assert run("http://a/api/chat", "--json").stdout == ""


def test_a_pipe_gets_a_line_for_each_finished_check(prompts: str) -> None:
    with served(FakeBackend("edit").app()) as address:
        arguments = (f"{address}/api/chat", "--prompts", prompts, "--profile", "chat")
        results = run(*arguments), run(*arguments, "--json")
    for result in results:
        lines = result.stderr.splitlines()
        assert lines[0] == "1 of 10: chat: several turns: holds"
        assert [line.partition(":")[0] for line in lines] == [f"{number} of 10" for number in range(1, 11)]
        assert any(line.endswith(": chat: edit: broken") for line in lines)


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])  # SIGHUP may be ignored, as by `nohup`
def test_an_interrupted_command_deletes_its_chats(number: signal.Signals, tmp_path: Path) -> None:
    created, silent = Event(), Event()
    ids: dict[str, set[str]] = {"created": set(), "deleted": set()}

    async def chat(request: Request) -> Response:
        body = await request.json()
        if not body:
            return Response(status_code=400)
        ids["created"].add(body["id"])
        created.set()
        await to_thread(silent.wait, HANG)
        return Response()

    async def delete(request: Request) -> Response:
        ids["deleted"].add(request.path_params["id"])
        return Response(status_code=204)

    routes = [Route("/api/chat", chat, methods=["POST"]), Route("/api/chat/{id}", delete, methods=["DELETE"])]
    with served(Starlette(routes=routes)) as address:
        with started("stream_protocol", "check", f"{address}/api/chat", cwd=tmp_path) as process:
            assert created.wait(HANG)
            process.send_signal(number)
            assert process.wait() == 130
        silent.set()
    assert ids["deleted"] == ids["created"] != set()


def test_a_server_cannot_write_to_the_terminal() -> None:
    async def chat(_: Request) -> Response:
        return Response("\x1b[31m\nred\x9b", 500)

    with served(Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])) as address:
        result = run(f"{address}/api/chat", "--profile", "stream")
    assert result.exit_code == 1
    assert result.stdout.replace("\n", "").isprintable()


STATUSES = [
    (404, "POST gets HTTP 404: pass the URL of the chat endpoint"),
    (405, "POST gets HTTP 405: pass the URL of the chat endpoint"),
    (401, "HTTP 401: set a user's `headers` in the file of --prompts"),
]


@pytest.mark.parametrize(("status", "reason"), STATUSES)
def test_an_address_without_a_chat_is_exit_2(status: int, reason: str) -> None:
    async def chat(_: Request) -> Response:
        return Response(status_code=status)

    with served(Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])) as address:
        result = run(f"{address}/api/chat")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {address}/api/chat: {reason}\n"


@pytest.mark.parametrize("path", ["", "/", "/chat?a=b"])
def test_an_address_without_the_usual_path_gets_a_hint(path: str) -> None:
    with served(Starlette()) as address:
        result = run(f"{address}{path}")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"pass the URL of the chat endpoint, such as {address}/api/chat\n")


def test_a_server_that_cannot_be_reached_is_exit_2() -> None:
    url = f"http://127.0.0.1:{free_port()}/api/chat"
    result = run(url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {url}: cannot connect: start the server, or correct the URL\n"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"", "the server closes the connection without a response"),
        (None, "no response within 0.5 seconds"),
        (b"HTTP/1.1 307 X\r\nlocation: /api/chat\r\ncontent-length: 0\r\n\r\n", "too many redirects"),
    ],
)
def test_a_server_without_a_response_is_exit_2(response: bytes | None, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text("timeout = 0.5")
    with raw_server(response) as address:
        result = run(f"{address}/api/chat", "--prompts", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {address}/api/chat: {reason}\n"


def test_a_header_that_http_forbids_is_exit_2(tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text('headers = { "a b" = "x" }')
    with raw_server(b"") as address:
        result = run(f"{address}/api/chat", "--prompts", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the request cannot be sent: Illegal header name" in result.stderr


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("text/plain", "Hello!", "The response is not a stream (text/plain; charset=utf-8): Hello!"),
        (
            "text/event-stream",
            'data: {"choices": []}\n\ndata: [DONE]\n\n',
            '{"choices":[]} is not an object with a type.',
        ),
        ("text/event-stream", "data: 5\n\ndata: [DONE]\n\n", "5 is not an object with a type."),
    ],
)
def test_a_response_that_is_not_a_stream_of_chunks_is_exit_1(kind: str, body: str, reason: str) -> None:
    async def chat(_: Request) -> Response:
        return Response(body, media_type=kind)

    with served(Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])) as address:
        result = run(f"{address}/api/chat", "--profile", "stream")
    assert result.exit_code == 1
    assert reason in result.stdout


@pytest.mark.parametrize("url", ["ftp://localhost/x", "http://", "http://a:b/", "http://localhost/\udcff"])
def test_a_text_that_is_not_an_address_is_exit_2(url: str) -> None:
    result = run(url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: {printable(url)} is not an HTTP address: pass the chat endpoint, such as http://localhost:8000/api/chat\n"
    )


def test_an_address_without_its_scheme_gets_a_hint() -> None:
    result = run("localhost:8000/api/chat")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: localhost:8000/api/chat: No such file. To check a running server, pass its URL: "
        "http://localhost:8000/api/chat\n"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Nothing to check: pass the URL of a chat endpoint, or FILE"),
        (("file", "http://a/b"), "A URL is checked alone: pass one URL, or one or more FILE"),
        (("http://a/b", "http://a/c"), "A URL is checked alone: pass one URL, or one or more FILE"),
        (("http://a/b", "--session", "s"), "--session needs FILE: it cannot be combined with a URL"),
        (("file", "--json"), "--prompts, --profile and --json need a URL: they cannot be combined with FILE"),
        (
            ("file", "--profile", "chat"),
            "--prompts, --profile and --json need a URL: they cannot be combined with FILE",
        ),
        (("file", "--prompts", "x"), "--prompts, --profile and --json need a URL: they cannot be combined with FILE"),
        (("http://a/b", "--profile", "fast"), "'fast' is not one of 'stream', 'chat', 'tools', 'durable'"),
        (("http://a/b", "--prompts", "missing.toml"), "missing.toml: No such file or directory"),
    ],
)
def test_bad_usage_is_exit_2_with_one_line(arguments: tuple[str, ...], reason: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert reason in result.stderr


def test_the_option_has_the_profiles_that_exist() -> None:
    (option,) = [each for each in main.commands["check"].params if each.name == "profiles"]
    assert tuple(getattr(option.type, "choices", ())) == PROFILES
