"""docs/cli.md is the help of the commands, and its examples work."""

import asyncio
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from google.adk.events import Event
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stream_protocol.backend_check import Result
from stream_protocol.cli import main
from stream_protocol.cli.init_command import TEMPLATE
from stream_protocol.recording import load_recording, replay
from tests.batch import batch
from tests.cli.reference import documented, reference
from tests.documents import block
from tests.processes import ENV, HANG, ROOT
from tests.replay_server.fixture_recordings import write_recordings
from tests.tools import require_command

AGENT = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda request: "Hello there."))
"""
EXAMPLES = [line for name in main.commands for line in documented(name).examples.values()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with the files of the examples. Servers end at once."""
    for package in ("my_agent", "my_package"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "agent.py").write_text(AGENT)
    recording = TEMPLATE / "tests" / "recordings" / "shopping.jsonl"
    shutil.copy(recording, tmp_path / "weather.jsonl")
    write_recordings(tmp_path / "recordings", "text")
    (tmp_path / "capture.sse").write_bytes(b"".join(replay(load_recording(recording))))
    lines = map(json.loads, recording.read_text(encoding="utf-8").splitlines())
    events = [Event.model_validate(line["event"]) for line in lines if "event" in line]
    asyncio.run(write_store(events, tmp_path / "sessions.db"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def close(*given: object, **_: object) -> None:
        (listener,) = (each for each in given if isinstance(each, socket.socket))
        listener.close()

    def nothing(**_: object) -> None:
        pass

    async def no_results(*_: object, **__: object) -> list[Result]:
        return []

    (tmp_path / "prompts.toml").write_text('text = "Hello"\n')
    monkeypatch.setattr("stream_protocol.cli._check_backend.run_checks", no_results)

    for module in ("_serve_agent", "_serve_recordings"):
        monkeypatch.setattr(f"stream_protocol.cli.{module}.run_server", close)
        monkeypatch.setattr(f"stream_protocol.cli.{module}.log_to_terminal", nothing)
    monkeypatch.setattr("stream_protocol.server.log_to_terminal", nothing)
    monkeypatch.setattr("stream_protocol.cli._workers.prepare_processes", nothing)
    monkeypatch.setattr("stream_protocol.cli._reload.serve_with_reload", close)
    yield tmp_path
    for name in [each for each in sys.modules if each.split(".")[0] in ("my_agent", "my_package")]:
        del sys.modules[name]


async def write_store(events: Iterable[Event], store: Path) -> None:
    """The events as the session ``c1``."""
    sessions = SqliteSessionService(str(store))
    session = await sessions.create_session(app_name="app", user_id="me", session_id="c1")
    for event in events:
        await sessions.append_event(session, event)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@batch(line=EXAMPLES)
def test_the_examples_of_each_command_work(line: str) -> None:
    other, _, line = line.rpartition(" | ")
    command, _, output = line.partition(" > ")
    program, *arguments = shlex.split(command)
    if arguments[0] in ("demo", "serve"):
        arguments += ["--port", "0"]
    piped = Path("capture.sse").read_bytes() if other else None  # the output of the other command
    done = CliRunner().invoke(main, arguments, input=piped)
    assert (program, done.exit_code, done.stderr) == ("adk-ui-stream", 0, ""), done.output
    if output:
        Path(output).write_text(done.stdout, encoding="utf-8")


def test_the_page_is_what_the_commands_say_now() -> None:
    message = "run `python -m tests.cli.reference > docs/cli.md`"
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference(), message


@pytest.mark.slow
def test_bash_completes_with_the_line_that_is_shown(tmp_path: Path) -> None:
    require_command("bash")
    script = f"""
        {block("docs/cli.md", "bash_source")}
        complete_words() {{
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _adk_ui_stream_completion adk-ui-stream
            echo "${{COMPREPLY[@]}}"
        }}
        complete_words adk-ui-stream re
        complete_words adk-ui-stream serve --op
    """
    env = {**ENV, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=HANG, check=True
    )
    assert done.stdout.splitlines() == ["record replay", "--open"]
    assert done.stderr == ""
