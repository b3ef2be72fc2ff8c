"""``adk-ui-stream serve``, in a process of its own."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import repeat
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from stream_protocol.cli._serve_options import file_options
from stream_protocol.serving import ServiceLimits
from tests.ports import free_port
from tests.processes import COMMAND, ENV, HANG, PythonModule, cli, serving
from tests.redis_server import RedisServer
from tests.serve_settings import on_command_line

pytestmark = pytest.mark.servers

AGENT = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda request: ["Hello there. ", Wait({pause}), "Bye."]))
"""
BODY = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}


@contextmanager
def serving_fresh(*arguments: str, cwd: Path) -> Iterator[str]:
    """Serve in a new Python process, unlike ``serving``, which forks one that has imported the package."""
    command = [*COMMAND, "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENV, cwd=cwd) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


def test_the_version_of_the_client_is_six_or_seven(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["replay", "x", "--ai-sdk", "5"])
    assert result.exit_code == 2


@pytest.mark.parametrize("target", ["nowhere:agent", "nowhere", "broken:agent", "empty"])
def test_a_bad_target_is_one_line_on_stderr(tmp_path: Path, target: str) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "empty").mkdir()
    done = cli("serve", target, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: cannot load {target}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["serve"], ["record", "--say", "hi", "--to", "x.jsonl"]])
def test_a_model_that_only_does_live_runs_is_one_line_on_stderr(tmp_path: Path, command: list[str]) -> None:
    model = "gemini-2.5-flash-native-audio-preview-12-2025"
    (tmp_path / "live.py").write_text(f"from google.adk.agents import Agent\nroot = Agent(name='a', model='{model}')\n")
    done = cli(*command, "live:root", cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot run live:root: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("seconds", ["nan", "-1", "soon"])
def test_seconds_that_are_no_time_are_one_line_on_stderr(seconds: str) -> None:
    done = CliRunner().invoke(main, ["serve", "agent:root_agent", "--drain", seconds])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: Invalid value for '--drain': ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("options", "messages"), [((), 4), (("--truncated-history", "rewind"), 2)])
def test_a_history_that_was_cut_means_what_the_app_says(
    tmp_path: Path, options: tuple[str, ...], messages: int
) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    with serving("agent:root_agent", *options, cwd=tmp_path) as (_, url):
        for message_id in ("u1", "u2"):
            words = {"id": message_id, "role": "user", "parts": [{"type": "text", "text": "hi"}]}
            body = {"id": "c1", "messages": [words]}
            httpx.post(f"{url}/api/chat", json=body, timeout=HANG).raise_for_status()
        assert len(httpx.get(f"{url}/api/chat/c1").json()["messages"]) == messages


def test_an_agent_is_served_and_streams_and_a_second_server_finds_the_port_taken(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    with serving_fresh("agent:root_agent", "--cors-origin", "https://page.example", cwd=tmp_path) as url:
        headers = {"origin": "https://page.example"}
        with httpx.stream("POST", f"{url}/api/chat", json=BODY, headers=headers, timeout=HANG) as response:
            assert response.headers["access-control-allow-origin"] == "https://page.example"
            lines = [line for line in response.iter_lines() if line]
        assert lines[0].startswith('data: {"type":"start"')
        assert lines[-1] == "data: [DONE]"
        assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{url}/api/chats", headers={"host": "localhost:3000"}).status_code == 200
        rebound = httpx.get(f"{url}/api/chats", headers={"host": "evil.example"})
        assert (rebound.status_code, "--allowed-host evil.example" in rebound.text) == (403, True)
        port = url.rpartition(":")[2]
        taken = cli("serve", "agent:root_agent", "--port", port, cwd=tmp_path)
    assert (taken.exit_code, taken.stdout) == (2, "")
    words = f"error: cannot listen on 127.0.0.1:{port}: Address already in use; --port "
    assert taken.stderr.startswith(words)
    free, rest = taken.stderr.removeprefix(words).split(maxsplit=1)
    assert (int(port) < int(free), rest) == (True, "is free\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_ends_its_streams_with_abort_and_its_audit_trail_is_whole(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "agent.py").write_text(AGENT.format(pause=3600))
    options = ("--no-page", "--audit", "audit.jsonl", *(["--drain", "0"] if number == signal.SIGTERM else []))
    with serving("folder", *options, cwd=tmp_path) as (process, url):
        with httpx.stream("POST", f"{url}/api/chat", json=BODY, timeout=HANG) as response:
            lines = (line for line in response.iter_lines() if line)
            while "text-delta" not in next(lines):
                pass
            assert httpx.delete(f"{url}/api/chat/none", timeout=HANG).status_code == 404
            process.send_signal(number)
            rest = list(lines)
        assert rest[-2:] == ['data: {"type":"abort"}', "data: [DONE]"]
        process.wait()
    (record,) = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (record["action"], record["status"], record["chat_id"]) == ("delete", 404, "none")


def test_a_server_that_is_told_to_end_lets_its_runs_go_on_until_a_second_signal(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=3600))
    with serving("agent:root_agent", "--no-page", "--drain", "3600", cwd=tmp_path) as (process, url):
        with httpx.stream("POST", f"{url}/api/chat", json=BODY, timeout=HANG) as response:
            lines = (line for line in response.iter_lines() if line)
            while "text-delta" not in next(lines):
                pass
            assert httpx.get(f"{url}/readyz").status_code == 200
            process.send_signal(signal.SIGTERM)
            while httpx.get(f"{url}/readyz").status_code == 200:
                pass
            refused = httpx.post(f"{url}/api/chat", json=BODY | {"id": "c2"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
            process.send_signal(signal.SIGTERM)
            rest = list(lines)
        assert rest[-2:] == ['data: {"type":"abort"}', "data: [DONE]"]
        process.wait()


STUBBORN_AGENT = """
import asyncio
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai.types import Content, Part
class Stubborn(BaseAgent):
    async def _run_async_impl(self, ctx):
        yield Event(author=self.name, content=Content(parts=[Part(text="Hello.")]))
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(3600)
root_agent = Stubborn(name="mine")
"""


def test_a_second_ctrl_c_ends_the_server_without_an_empty_line(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(STUBBORN_AGENT)
    with serving("agent:root_agent", "--no-page", cwd=tmp_path) as (process, url):
        with httpx.stream("POST", f"{url}/api/chat", json=BODY, timeout=HANG) as response:
            lines = (line for line in response.iter_lines() if line)
            while "text-delta" not in next(lines):
                pass
            process.send_signal(signal.SIGINT)
            with suppress(httpx.TransportError):  # it takes no more requests; one may be under way
                while httpx.get(f"{url}/readyz").status_code == 200:
                    pass
            process.send_signal(signal.SIGINT)
            process.wait()
        assert process.log.read_text() == ""


def test_a_server_that_is_told_to_end_has_said_all_before(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0.5))
    with serving("agent:root_agent", "--no-page", cwd=tmp_path) as (process, url):
        with httpx.stream("POST", f"{url}/api/chat", json=BODY, timeout=HANG) as response:
            lines = (line for line in response.iter_lines() if line)
            while "text-delta" not in next(lines):
                pass
            process.send_signal(signal.SIGTERM)
            rest = list(lines)
        assert any("Bye." in line for line in rest)
        assert ['"finish"' in rest[-2], rest[-1]] == [True, "data: [DONE]"]
        process.wait()


def test_an_allowed_host_that_is_no_name_is_one_line_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    done = cli("serve", "agent:root_agent", "--port", "0", "--allowed-host", "https://chat.example", cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'https://chat.example' is not a host name")
    assert done.stderr.count("\n") == 1


def peak_memory(process: PythonModule) -> int:
    """Bytes."""
    (line,) = (line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's memory from /proc")
@pytest.mark.parametrize("announced", [True, False])
def test_a_server_refuses_100_mb_and_does_not_keep_them(announced: bool, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    size, piece = 100_000_000, b" " * 100_000
    headers = {"content-type": "application/json"} | ({"content-length": str(size)} if announced else {})
    with serving("agent:root_agent", "--no-page", cwd=tmp_path) as (process, url):
        assert httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).status_code == 200
        before = peak_memory(process)
        body = repeat(piece, size // len(piece))
        refused = httpx.post(f"{url}/api/chat", content=body, headers=headers, timeout=HANG)
        assert refused.status_code == 413
        assert peak_memory(process) - before < size * 3 // 4
        assert httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).status_code == 200


def test_a_server_behind_a_proxy_knows_its_users_by_a_header(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    with serving("agent:root_agent", "--no-page", "--user-header", "X-User", cwd=tmp_path) as (_, url):
        refused = httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG)
        accepted = httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG, headers={"X-User": "ann"})
    assert (refused.status_code, refused.text) == (401, "Sign in first.")
    assert accepted.status_code == 200


def test_the_limits_of_a_server_are_options_whose_defaults_are_those_of_the_service(tmp_path: Path) -> None:
    defaults = {option.name: option.default for option in file_options().values()}
    limits = ServiceLimits()
    names = ("max_runs", "max_runs_per_user", "requests_per_minute")
    assert [defaults[name] for name in names] == [
        limits.max_runs,
        limits.max_runs_per_user,
        limits.max_requests_per_minute,
    ]
    (tmp_path / "agent.py").write_text(AGENT.format(pause=3600))
    options = ("--max-runs", "2", "--max-runs-per-user", "1", "--requests-per-minute", "3")
    with (
        serving("agent:root_agent", "--no-page", "--user-header", "X-User", *options, cwd=tmp_path) as (_, url),
        httpx.Client(base_url=url, timeout=HANG) as http,
        ExitStack() as runs,
    ):

        def begin(user: str, chat_id: str) -> httpx.Response:
            response = http.stream("POST", "/api/chat", json=BODY | {"id": chat_id}, headers={"X-User": user})
            return runs.enter_context(response)

        asked = [("ann", "a"), ("ann", "b"), ("bob", "a"), ("eve", "a")]
        assert [begin(*each).status_code for each in asked] == [200, 429, 200, 503]
        polled = [http.get("/api/chats", headers={"X-User": "ann"}) for _ in range(2)]
    assert [each.status_code for each in polled] == [200, 429]
    assert polled[1].headers["retry-after"] in polled[1].text


KEYLESS = """
import os
for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
    os.environ.pop(name, None)
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="mine", model="gemini-2.5-flash")
"""
NO_KEY = "No API key for gemini-2.5-flash: set GOOGLE_API_KEY in the environment of this server."


def test_without_a_key_the_terminal_and_the_page_say_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(KEYLESS)
    with serving("agent:root_agent", cwd=tmp_path) as (process, url):
        answers = [httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).text for _ in range(2)]
        assert process.log.read_text() == f"ERROR: chat {BODY['id']}: {NO_KEY}\n" * 2
        elsewhere = httpx.post(
            f"{url}/api/chat", json=BODY, headers={"X-Forwarded-For": "203.0.113.9"}, timeout=HANG
        ).text
    assert all(f'"errorText":"{NO_KEY}"' in answer for answer in answers)
    assert '"errorText":"An error occurred."' in elsewhere


def test_the_page_has_the_cause_and_the_terminal_the_traceback_if_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(KEYLESS)
    with serving("agent:root_agent", "--show-errors", "--verbose", cwd=tmp_path) as (process, url):
        answer = httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).text
        log = process.log.read_text()
    assert f'"errorText":"{NO_KEY}"' in answer
    assert f"ERROR: chat {BODY['id']}: {NO_KEY}\n" in log
    assert "Traceback (most recent call last):" in log


@pytest.mark.parametrize(("option", "scheme"), [("--run-log", "redis"), ("--run-log", "postgresql")])
def test_a_store_that_cannot_be_reached_is_told_in_one_line_without_its_password(
    tmp_path: Path, option: str, scheme: str
) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    url = f"{scheme}://ann:s3cret@127.0.0.1:{free_port()}/0"
    done = cli("serve", "agent:root_agent", option, url, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert f"{scheme}://127.0.0.1" in done.stderr
    assert "s3cret" not in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--run-log", "redis://127.0.0.1:1/0", "--run-log-prefix", "a{b}"),
            "--run-log: The prefix in Redis must be 1 to 64 of these: ASCII letters, digits, and . _ : / @ -",
        ),
        (
            ("--run-log", "postgresql://127.0.0.1:1/db", "--run-log-prefix", "a-b"),
            "--run-log: The prefix in PostgreSQL must be 1 to 24 of these: a to z, _ and, but first, digits",
        ),
        (
            ("--run-log", "mysql://127.0.0.1:1/db"),
            "--run-log: The URL of a run log must be like redis://host:6379/0 or postgresql://user@host/db.",
        ),
        (
            ("--run-log", ""),
            "--run-log: The URL of a run log must be like redis://host:6379/0 or postgresql://user@host/db.",
        ),
        (
            ("--session-service-uri", ""),
            "cannot use : it is empty: write memory://, sqlite:///chat.db or postgresql://user@host/db",
        ),
        (("--audit", "nowhere/audit.jsonl"), "cannot write nowhere/audit.jsonl: No such file or directory"),
        (("--audit", "."), "cannot write .: Is a directory"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    done = cli("serve", "agent:root_agent", *on_command_line(options, tmp_path), cwd=tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {told}\n")


def test_two_servers_over_one_redis_know_of_each_others_runs(tmp_path: Path, shared_redis: RedisServer) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=HANG))
    shared = ("--session-service-uri", "sqlite:///chat.db", "--run-log", shared_redis.url)
    options = ("agent:root_agent", "--no-page", *shared)
    with (
        serving(*options, cwd=tmp_path) as (_, one),
        serving(*options, cwd=tmp_path) as (_, two),
        httpx.stream("POST", f"{one}/api/chat", json=BODY, timeout=HANG) as first,
    ):
        pieces = first.iter_text()
        assert '"start"' in next(pieces)
        assert httpx.post(f"{two}/api/chat/c1/stop", timeout=HANG).status_code == 202
        assert '"abort"' in "".join(pieces)


def test_the_readers_of_a_server_that_was_killed_are_told_by_another(tmp_path: Path, shared_redis: RedisServer) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=HANG))
    shared = ("--session-service-uri", "sqlite:///chat.db", "--run-log", shared_redis.url)
    options = ("agent:root_agent", "--no-page", *shared, "--lease", "2")
    body = {**BODY, "id": "killed"}
    with (
        serving(*options, cwd=tmp_path) as (process, one),
        serving(*options, cwd=tmp_path) as (_, two),
        httpx.stream("POST", f"{one}/api/chat", json=body, timeout=HANG) as first,
    ):
        assert '"start"' in next(first.iter_text())
        with httpx.stream("GET", f"{two}/api/chat/killed/stream", timeout=HANG) as second:
            pieces = second.iter_text()
            read = next(pieces)
            process.kill()
            read += "".join(pieces)
        assert read.endswith("data: [DONE]\n\n")
        assert read.count('"type":"error"') == 1
        with httpx.stream("POST", f"{two}/api/chat", json=body, timeout=HANG) as again:
            assert again.status_code == 200


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_chats_are_kept_where_the_uri_says(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    uri = request.getfixturevalue("postgres").new_database() if database == "postgres" else "sqlite:///chat.db"
    options = ("agent:root_agent", "--no-page", "--session-service-uri", uri)
    with serving(*options, cwd=tmp_path) as (_, url):
        assert httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).status_code == 200
    with serving(*options, cwd=tmp_path) as (_, url):
        (kept,) = httpx.get(f"{url}/api/chats", timeout=HANG).json()["chats"]
    assert (kept["id"], kept["title"]) == ("c1", "hi")


@pytest.mark.parametrize("url", ["", "chats"])
@pytest.mark.parametrize("option", ["--session-service-uri", "--run-log", "--durable"])
def test_a_url_of_a_store_that_is_none_is_refused_in_one_line(tmp_path: Path, option: str, url: str) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    done = cli("serve", "agent:root_agent", "--port", "0", option, url, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_session_service_that_cannot_be_had_is_one_line_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    done = cli("serve", "agent:root_agent", "--session-service-uri", "sqlite:///no/such/chat.db", cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot use sqlite:///no/such/chat.db: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--inspect",)])
def test_an_inspector_is_there_if_it_is_asked_for_beside_a_recording(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(pause=0))
    with serving("agent:root_agent", "--no-page", "--record", "kept", *options, cwd=tmp_path) as (_, url):
        assert httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).is_success
        answer = httpx.get(f"{url}/api/chat/c1/inspect")
    assert answer.status_code == (200 if options else 404)
    assert not options or len(answer.json()["entries"]) > 4
    assert len([*(tmp_path / "kept").iterdir()]) == 1
