"""The exit codes of every command, and its messages for wrong usage, for people and for scripts."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from stream_protocol.cli._command_options import require_free_port
from stream_protocol.server import AddressError, bind_socket
from tests.batch import batch
from tests.conformance.fixtures import FOLDER
from tests.processes import COMMAND, ENV, HANG, cli, started
from tests.terminals import in_terminal

SLOW_AGENT = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait
open("loaded", "w").close()
root_agent = LlmAgent(name="mine", model=ScriptedLlm(turns=[Wait(3600)]))
"""
BAD_STREAM = 'data: {"type":"text-delta","id":"0","delta":"x"}\n\ndata: [DONE]\n\n'
WRONG_CALLS = {
    "no such command": ["sevre"],
    "no such option": ["check", "--ai_sdk", "6", "x"],
    "no argument": ["replay"],
    "an argument too much": ["replay", "x", "y"],
    "a bad choice": ["init", "x", "--page", "vue"],
    "a bad number": ["serve", "x", "--port", "http"],
    "no value": ["record", "x", "--to"],
    "neither target nor recordings": ["serve"],
    "a file that is not there": ["check", "no\nfile"],
}


@batch(arguments=WRONG_CALLS)
def test_a_wrong_call_is_one_line_on_stderr_and_exit_code_two(arguments: list[str]) -> None:
    done = CliRunner().invoke(main, arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_option_names_the_help_that_has_the_right_one() -> None:
    done = CliRunner().invoke(main, ["check", "--ai_sdk", "6", "x"], prog_name="adk-ui-stream")
    assert done.stderr.endswith(" See adk-ui-stream check --help\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    {
        ("chek",): "No such command 'chek'. Did you mean 'check'? See adk-ui-stream --help",
        ("demo", "--inspect"): (
            "No such option '--inspect': adk-ui-stream demo always does this. See adk-ui-stream demo --help"
        ),
        ("demo", "--reload"): "No such option '--reload': it is an option of serve. See adk-ui-stream demo --help",
        ("record", "--session", "s"): (
            "No such option '--session': it is an option of check, replay, serve. See adk-ui-stream record --help"
        ),
        ("serve", "--max-runs", "3"): (
            "No such option '--max-runs': set `max-runs` in [tool.adk-ui-stream.serve] of pyproject.toml. "
            "See adk-ui-stream serve --help"
        ),
        ("serve", "-p", "8001"): "No such option '-p'. Did you mean '--port'? See adk-ui-stream serve --help",
        ("record", "http://a", "--say", "Hi", "--to", "a.jsonl"): (
            "Invalid value for 'TARGET': \"http://a\" is a URL. Only `adk-ui-stream check` takes a URL. "
            "See adk-ui-stream record --help"
        ),
        ("types", "--color"): "No such option '--color'. See adk-ui-stream types --help",
        ("demo", "--prot"): "No such option '--prot'. Did you mean '--port'? See adk-ui-stream demo --help",
        ("check", "--zzz"): "No such option '--zzz'. See adk-ui-stream check --help",
        ("replay",): "Missing argument 'FILE'. See adk-ui-stream replay --help",
    }.items(),
)
def test_a_wrong_call_is_explained_in_sentences(arguments: tuple[str, ...], text: str) -> None:
    done = CliRunner().invoke(main, arguments, prog_name="adk-ui-stream")
    assert done.stderr == f"error: {text}\n"


def test_without_a_command_there_is_help() -> None:
    done = CliRunner().invoke(main, [])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == CliRunner().invoke(main, ["--help"]).stdout


def test_who_calls_the_group_from_python_gets_its_exceptions() -> None:
    with pytest.raises(Exception, match="No such command"):
        main(["sevre"], standalone_mode=False)


@pytest.mark.parametrize(
    ("env", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)],
    ids=["a pipe", "FORCE_COLOR", "NO_COLOR"],
)
def test_colours_are_as_the_environment_says(
    env: dict[str, str], colored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bad.sse").write_text(BAD_STREAM)
    found = CliRunner().invoke(main, ["check", str(tmp_path / "bad.sse")], env=env)
    refused = CliRunner().invoke(main, ["check", str(tmp_path / "none")], env=env)
    assert (found.exit_code, refused.exit_code) == (1, 2)
    assert ["\x1b[" in text for text in (found.stdout, refused.stderr)] == [colored, colored]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_has_colours_unless_it_shall_not(no_color: str, tmp_path: Path) -> None:
    (tmp_path / "bad.sse").write_text(BAD_STREAM)
    code, shown = in_terminal("check", str(tmp_path / "bad.sse"), cwd=tmp_path, NO_COLOR=no_color)
    assert (code, "\x1b[31merror\x1b[0m" in shown) == (1, not no_color)
    code, shown = in_terminal("check", "none", cwd=tmp_path, NO_COLOR=no_color)
    label = "error:" if no_color else "\x1b[31m\x1b[1merror:\x1b[0m"
    assert (code, f"{label} none: No such file or directory\n" in shown) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("arguments", [("--help",), ("check", "none")])
def test_a_dumb_terminal_gets_no_escape_sequence(arguments: tuple[str, ...], tmp_path: Path) -> None:
    _, shown = in_terminal(*arguments, cwd=tmp_path, TERM="dumb")
    assert "\x1b" not in shown


def test_targets_to_choose_from_are_on_lines_below_the_error(tmp_path: Path) -> None:
    for name in "abcdefg":
        (tmp_path / f"agent_{name}").mkdir()
        (tmp_path / f"agent_{name}" / "agent.py").write_text(
            "from google.adk.agents import Agent\nroot_agent = Agent(name='a')"
        )
    done = cli("serve", "unknown", cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: cannot load unknown: there is no such folder. Found here:",
        *(f"  agent_{name}" for name in "abcde"),
        "  and 2 more",
    ]


HOSTILE = "\x1b]0;x\x07\x9b31m\u202e\u2028\x7f\u200e"
"""Sets a title, colours, turns the direction, breaks a line."""


def hostile_recording(folder: Path) -> Path:
    file = folder / "hostile.jsonl"
    call = {"functionCall": {"id": HOSTILE, "name": f"look{HOSTILE}", "args": {HOSTILE: HOSTILE}}}
    lost = {"functionResponse": {"id": f"lost{HOSTILE}", "name": HOSTILE, "response": {}}}
    event = {
        "author": f"root{HOSTILE}",
        "invocationId": "e-1",
        "content": {"parts": [{"text": f"Zoë {HOSTILE} 👩\u200d🚀"}, call, lost]},
        "finishReason": HOSTILE,
        HOSTILE: 1,
    }
    asked = {"author": "user", "invocationId": "e-1", "content": {"role": "user", "parts": [{"text": HOSTILE}]}}
    file.write_text(f"{json.dumps(asked)}\n{json.dumps(event)}\n")
    return file


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("to", ["text", "sse", "chunks", "messages"])
def test_no_character_of_a_file_controls_the_terminal(to: str, tmp_path: Path) -> None:
    file = hostile_recording(tmp_path)
    code, shown = in_terminal("replay", str(file), "--to", to, cwd=tmp_path, NO_COLOR="1")
    assert code == 0
    assert {character for character in shown if not character.isprintable()} <= {"\r", "\n", "\u200d"}
    assert f"Zoë {json.dumps(HOSTILE)[1:-1]} 👩\u200d🚀" in shown
    assert "Skipped a response of" in shown


@pytest.mark.parametrize("to", ["sse", "chunks", "messages"])
def test_a_pipe_gets_each_byte_as_it_is(to: str, tmp_path: Path) -> None:
    file = hostile_recording(tmp_path)
    piped = cli("replay", str(file), "--to", to, cwd=tmp_path)
    assert all(character in piped.stdout for character in HOSTILE[-5:])
    assert {character for character in piped.stderr if not character.isprintable()} <= {"\n"}


@pytest.mark.parametrize("command", ["replay", "check"])
def test_a_refusal_that_quotes_a_file_controls_nothing(command: str, tmp_path: Path) -> None:
    file = tmp_path / f"a{HOSTILE[4:].replace('/', '')}"
    file.write_text(json.dumps([{"id": HOSTILE, "events": []}, {"id": "b", "events": []}]))
    refused = cli(command, str(file), cwd=tmp_path)
    assert refused.exit_code == 2
    assert {character for character in refused.stderr if not character.isprintable()} <= {"\n"}


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes of this kind")
def test_ctrl_c_ends_a_command_without_a_word(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "loaded")
    (tmp_path / "slow.py").write_text(SLOW_AGENT)
    record = ("record", "slow:root_agent", "--say", "hi", "--to", "chat.jsonl")
    with started("stream_protocol", *record, cwd=tmp_path) as process:
        (tmp_path / "loaded").read_text()  # waits until the agent writes it
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert (process.read(), process.log.read_text().strip()) == ("", "")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["replay", str(FOLDER / "text" / "turn1.jsonl")], 0),
        (["check", str(FOLDER / "text" / "turn1.jsonl")], 0),
        (["check", str(FOLDER.parent / "bad-streams" / "call-restarted.sse")], 1),
        (["--help"], 0),
    ],
    ids=["replay", "a legal stream", "another", "help"],
)
def test_a_reader_that_closes_the_pipe_hears_nothing(arguments: list[str], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, env=ENV, timeout=HANG, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, b"")


LOADED = """
import sys
from stream_protocol.cli import main
try:
    main(sys.argv[1:])
finally:
    print("google.adk" in sys.modules)
"""


@pytest.mark.parametrize("command", [("demo",), ("serve", "agent")], ids=["demo", "serve"])
def test_a_port_in_use_is_reported_before_adk_is_loaded(command: tuple[str, ...]) -> None:
    with bind_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        arguments = [sys.executable, "-c", LOADED, *command, "--port", str(port)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=ENV, timeout=HANG)
    assert (done.returncode, done.stdout) == (2, "False\n")
    assert f"cannot listen on 127.0.0.1:{port}: " in done.stderr


def test_an_empty_host_is_refused_before_adk_is_loaded() -> None:
    done = CliRunner().invoke(main, ["serve", "agent", "--host", ""])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "Invalid value for '--host': The address must not be empty." in done.stderr


@pytest.mark.parametrize("host", ["\ud800", "a\0b"], ids=["a surrogate", "a null character"])
def test_a_text_that_is_no_host_name_cannot_be_listened_on(host: str) -> None:
    require_free_port(host, 8000)
    with pytest.raises(AddressError, match=r"^cannot listen on .*: it is not a host name$"):
        bind_socket(host, 8000)


def test_a_word_is_not_a_port() -> None:
    done = CliRunner().invoke(main, ["serve", "agent", "--port", "http"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert '"http" is not a port: use a number from 0 to 65535' in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere"),
        ("replay", "nowhere"),
        ("serve", "--replay", "nowhere"),
        ("record", "agent", "--say", "Hi", "--to", "nowhere/hi.jsonl"),
        ("types", "agent", "--check", "nowhere"),
    ],
    ids=" ".join,
)
def test_a_wrong_path_is_refused_before_adk_is_loaded(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run_without_adk(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("error: nowhere")


def test_a_port_in_use_is_refused_before_adk_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "recordings").mkdir()
    with bind_socket("127.0.0.1", 0) as listener:
        port = str(listener.getsockname()[1])
        for target in (("agent",), ("--replay", "recordings")):
            done = run_without_adk("serve", *target, "--port", port, cwd=tmp_path)
            assert (done.returncode, done.stdout) == (2, "")
            assert port in done.stderr
            assert "Traceback" not in done.stderr


def run_without_adk(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``adk-ui-stream`` in a process in which the import of ADK fails."""
    code = "import sys; sys.modules['google.adk'] = None; from stream_protocol.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, env=ENV, capture_output=True, text=True, timeout=HANG, check=False)
