import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from google.adk.agents import LlmAgent

from stream_protocol.cli.types_command import types
from tests.documents import block, install_my_package
from tests.processes import COMMAND, ENV, HANG, cli

MODULE = '''
from typing_extensions import TypedDict

from google.adk.agents import LlmAgent
from google.adk.tools.base_toolset import BaseToolset
from stream_protocol.agents import data_part, emit_data


class Seat(TypedDict):
    row: int


def parts():
    return [data_part("never_named", Seat)]


seat = data_part("seat", Seat)


def reserve(row: int, **more) -> Seat:
    """Reserves a seat."""


class Broken(BaseToolset):
    async def get_tools(self, readonly_context=None):
        raise ConnectionError("no server\\nat all")

    async def close(self):
        pass


class Unready:
    """As Django's ``settings`` before they are configured."""

    @property
    def __class__(self):
        raise RuntimeError("not configured")


unready = Unready()
root_agent = LlmAgent(name="root", model="gemini-2.5-flash", tools=[reserve])
broken = LlmAgent(name="root", model="gemini-2.5-flash", tools=[Broken()])
'''


NOISE = """
import atexit, ctypes, os, subprocess, sys, threading
print("by print")
sys.__stdout__.write("by write\\n")
os.write(1, b"by number\\n")
subprocess.run([sys.executable, "-S", "-c", "print('by a process')"], check=True)
ctypes.CDLL(None).puts(b"by C")
atexit.register(print, "at the end")
threading.Thread(target=lambda: (threading.main_thread().join(), print("by a thread"))).start()
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("app")
    (folder / "seats_app.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        __import__("seats_app")
    return "seats_app:root_agent"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(types, arguments)


def test_the_types_have_the_tools_and_the_named_parts(target: str) -> None:
    result = run(target)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "export type ChatMessage = UIMessage<ChatMetadata, ChatDataParts, ChatTools>;" in result.stdout
    assert (
        "  /** Reserves a seat. */\n  reserve: {\n    input: {\n      row: number;\n    };\n    output: Seat;"
        in result.stdout
    )
    assert "\n  seat: Seat;\n" in result.stdout
    assert "never_named" not in result.stdout
    assert "zod" not in result.stdout
    assert run(target).stdout == result.stdout


def test_schemas_are_written_if_asked(target: str) -> None:
    result = run(target, "--schemas")
    assert 'import { z } from "zod/v4";' in result.stdout
    assert '  "data-seat": SeatSchema,\n' in result.stdout


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="has another C library")
def test_what_an_agent_prints_goes_to_stderr(target: str, tmp_path: Path) -> None:
    sources = {"quiet": MODULE, "loud": f"{NOISE}\n{MODULE}\nprint('last')\n"}
    for name, source in sources.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "seats_app.py").write_text(source)
    quiet = cli("types", target, cwd=tmp_path / "quiet")
    command = [*COMMAND, "types", target]
    done = subprocess.run(
        command, cwd=tmp_path / "loud", env=ENV, capture_output=True, text=True, check=False, timeout=HANG
    )
    assert (done.returncode, done.stdout) == (0, quiet.stdout)
    assert "export type ChatMessage" in quiet.stdout
    printed = {"by print", "by write", "by number", "by a process", "by C", "by a thread", "at the end", "last"}
    assert printed <= {*done.stderr.splitlines()}


def test_check_is_exit_0_for_what_was_written_and_1_for_anything_else(target: str, tmp_path: Path) -> None:
    file = tmp_path / "chat-types.ts"
    file.write_text(run(target).stdout)
    fresh = run(target, "--check", str(file))
    assert (fresh.exit_code, fresh.stdout, fresh.stderr) == (0, f"{file}: up to date\n", "")
    other = run(target, "--check", str(file), "--schemas")
    assert other.exit_code == 1
    file.write_text(file.read_text().replace("row: number;", "row: string;"))
    stale = run(target, "--check", str(file))
    expected = f"{file}: not up to date: 2 lines to add, 2 to remove, the first is `- row: string;`\n"
    assert (stale.exit_code, stale.stdout, stale.stderr) == (1, expected, "")


def test_the_commands_of_the_page_write_a_file_that_is_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_my_package(monkeypatch, LlmAgent(name="root", model="gemini-2.5-flash"))
    write, check = block("docs/types.md", "--check chat-types.ts").splitlines()
    command, _, file = write.partition(" > ")
    (tmp_path / file).write_text(run(*shlex.split(command)[2:]).stdout)
    arguments = shlex.split(check)[2:]
    assert arguments[-1] == file
    monkeypatch.chdir(tmp_path)
    assert run(*arguments).exit_code == 0


def test_lines_may_end_as_windows_ends_them(target: str, tmp_path: Path) -> None:
    file = tmp_path / "chat-types.ts"
    file.write_bytes(run(target).stdout.encode().replace(b"\n", b"\r\n"))
    assert run(target, "--check", str(file)).exit_code == 0


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_exit_2(target: str, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "chat-types.ts"
    if content is not None:
        file.write_bytes(content)
    result = run(target, "--check", str(file))
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"error: {file}: ")


def test_a_target_that_cannot_be_loaded_is_exit_2() -> None:
    result = run("no_such_module:agent")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: cannot load no_such_module:agent: ")


def test_a_toolset_that_cannot_be_asked_is_exit_2(target: str) -> None:
    result = run("seats_app:broken")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: cannot list the tools of agent 'root': ConnectionError: no server at all\n"
