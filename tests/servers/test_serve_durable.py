"""``adk-ui-stream serve --durable``: which stores it takes, and the version of an agent."""

import signal
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from stream_protocol import StreamProtocolError
from stream_protocol.serving.engine._recovery import OTHER_VERSION_TEXT
from tests.processes import HANG, PythonModule, cli, serving
from tests.tools import missing

pytestmark = pytest.mark.servers

AGENT = f"""
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait
agent_version = {{version!r}}
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda request: ["Hello there. ", Wait({HANG}), "Bye."]))
"""

FILES = ("--session-service-uri", "sqlite:///chats.db", "--durable", "sqlite:///runs.db", "--no-page")


@pytest.fixture(autouse=True)
def _engine() -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - may be missing

    if sqlite_is_too_old():
        pytest.skip("SQLite is too old for DBOS")


def write_agent(folder: Path, version: Any = "1") -> None:
    (folder / "agent.py").write_text(AGENT.format(version=version))


IN_USE = (
    "error: The engine's file runs.db is in use by another process, and takes one at a time: "
    "give each server a file of its own, or take PostgreSQL.\n"
)


@pytest.mark.parametrize("end", [PythonModule.kill, lambda process: process.send_signal(signal.SIGTERM)])
def test_a_file_is_for_one_process_until_that_ends(tmp_path: Path, end: Any) -> None:
    write_agent(tmp_path)
    with serving("agent:root_agent", *FILES, cwd=tmp_path) as (first, _):
        refused = cli("serve", "agent:root_agent", *FILES, cwd=tmp_path)
        assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", IN_USE)
        assert oct((tmp_path / "runs.db").stat().st_mode & 0o777) == "0o600"
        end(first)
        first.wait()
        with serving("agent:root_agent", *FILES, cwd=tmp_path) as (_, url):
            assert httpx.get(f"{url}/healthz", timeout=HANG).status_code == 200


def test_chats_in_memory_do_not_outlive_a_worker(tmp_path: Path) -> None:
    write_agent(tmp_path)
    for options in ((), ("--session-service-uri", "memory://"), ("--session-service-uri", "sqlite:///:memory:")):
        done = cli("serve", "agent:root_agent", "--durable", "sqlite:///runs.db", *options, cwd=tmp_path)
        told = "--durable needs stored chats: add --session-service-uri with a file or a database"
        assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {told}\n")
    assert [*tmp_path.glob("runs.db*")] == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--durable", "postgresql://127.0.0.1:1/db"),
            "--durable on PostgreSQL needs --run-log: workers must see each other's runs",
        ),
        (
            (*FILES, "--run-log", "redis://127.0.0.1:1/0", "--workers", "2"),
            "--durable with a file cannot be combined with --workers: use a PostgreSQL URL",
        ),
    ],
)
def test_stores_that_do_not_fit_are_told_in_one_line(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    write_agent(tmp_path)
    done = cli("serve", "agent:root_agent", *options, cwd=tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {told}\n")


NO_STORE = (
    "The engine's store must be a URL like sqlite:///runs.db or postgresql://user@host/db. "
    "The path of a file follows a third slash."
)


@pytest.mark.parametrize("url", ["", "runs.db", "sqlite://runs.db", "mysql://ada:secret@127.0.0.1/db"])
def test_a_url_of_no_store_is_told_in_one_line_and_leaves_no_file(tmp_path: Path, url: str) -> None:
    write_agent(tmp_path)
    done = cli("serve", "agent:root_agent", "--durable", url, cwd=tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: --durable: {NO_STORE}\n")
    assert {path.name for path in tmp_path.iterdir()} <= {"agent.py", "__pycache__"}


@pytest.mark.parametrize("url", ["sqlite:runs.db", "postgresq://127.0.0.1/db", "postgresql://127.0.0.1:port/db"])
def test_an_engine_refuses_a_url_of_no_store(url: str) -> None:
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    with pytest.raises(StreamProtocolError) as raised:
        DbosEngine(url)
    assert str(raised.value) == NO_STORE


def test_a_version_that_is_no_text_is_told_in_one_line(tmp_path: Path) -> None:
    write_agent(tmp_path, version=2)
    done = cli("serve", "agent:root_agent", *FILES, cwd=tmp_path)
    told = 'cannot use agent:root_agent: `agent_version` in agent must be a text, such as "2"'
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {told}\n")


@pytest.mark.parametrize("target", ["agent:root_agent", "mine"], ids=["a module", "a folder"])
def test_a_run_of_another_version_of_the_module_is_ended(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "mine" if target == "mine" else tmp_path
    folder.mkdir(exist_ok=True)
    write_agent(folder)
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    body = {"id": "c1", "messages": [said], "trigger": "submit-message"}
    with (
        serving(target, *FILES, cwd=tmp_path) as (first, url),
        httpx.stream("POST", f"{url}/api/chat", json=body, timeout=HANG) as reading,
    ):
        assert any("Hello" in line for line in reading.iter_lines())
        first.kill()
    write_agent(folder, version="another")  # another size: Python's cached bytecode tells files of one second by it
    with serving(target, *FILES, cwd=tmp_path) as (second, url):
        deadline = time.monotonic() + HANG
        while OTHER_VERSION_TEXT not in (log := second.log.read_text()):
            assert time.monotonic() < deadline, log
            time.sleep(0.05)
        (question,) = httpx.get(f"{url}/api/chat/c1", timeout=HANG).json()["messages"]
    assert question["parts"] == said["parts"]
