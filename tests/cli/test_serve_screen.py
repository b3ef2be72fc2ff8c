"""The start screen of a server: its address, its agent, and missing settings."""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner
from google.adk.agents import LlmAgent

from stream_protocol.cli import main
from stream_protocol.cli._serve_screen import show_screen
from stream_protocol.serving.adk_runner import used_models
from stream_protocol.serving.adk_runner._agent_details import GOOGLE_CLOUD
from stream_protocol.testing import ScriptedLlm
from tests.documents import block
from tests.replay_server.fixture_recordings import write_recordings
from tests.serve_settings import write_settings
from tests.terminals import terminal

AGENT = """
from google.adk.agents import LlmAgent
helper = LlmAgent(name="helper", model="gemini-2.5-flash")
root_agent = LlmAgent(name="chief", sub_agents=[helper], model="gemini-2.5-pro")
"""
KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", *GOOGLE_CLOUD)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def screen_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """``adk-ui-stream serve``, which ends after its start screen."""
    (tmp_path / "screen_agent.py").write_text(AGENT)
    write_recordings(tmp_path / "recordings", "text", "error_at_once")
    monkeypatch.chdir(tmp_path)

    def run_server(
        _app: object, _service: object, listener: socket.socket, *, announce: Callable[[str], None], **_: object
    ) -> None:
        listener.close()
        announce("http://127.0.0.1:8000")

    for module in ("_serve_agent", "_serve_recordings"):
        monkeypatch.setattr(f"stream_protocol.cli.{module}.run_server", run_server)
        monkeypatch.setattr(f"stream_protocol.cli.{module}.log_to_terminal", lambda **_: None)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(main, ["serve", *arguments, "--port", "0"])
        assert (done.exit_code, done.stderr) == (0, "")
        return done.stdout

    return run


def test_one_screen_says_where_what_and_what_is_missing(screen_of: Callable[..., str]) -> None:
    assert (
        screen_of("screen_agent:root_agent")
        == """\
Serving screen_agent:root_agent at http://127.0.0.1:8000

  ➜ Page       http://127.0.0.1:8000
  ➜ Inspector  --inspect adds it to the page
  ➜ API        http://127.0.0.1:8000/api/chat

    Agent      chief and 1 more below it
    Model      gemini-2.5-pro, gemini-2.5-flash
    Chats      in memory; --session-service-uri sqlite:///chats.db keeps them
    Missing    No API key for gemini-2.5-pro: set GOOGLE_API_KEY in the environment of this server.
    Missing    No API key for gemini-2.5-flash: set GOOGLE_API_KEY in the environment of this server.

Ctrl+C stops it.
"""
    )


FLOW = """
from google.adk.agents import LlmAgent
from google.adk.workflow import START, Workflow, node
def split(node_input: str) -> list[str]:
    return node_input.split()
worker = LlmAgent(name="worker", model="gemini-2.5-pro", mode="single_turn")
root_agent = Workflow(name="flow", edges=[(START, split, node(worker, parallel_worker=True))])
"""


def test_of_a_workflow_the_agents_are_counted(screen_of: Callable[..., str]) -> None:
    Path("screen_flow.py").write_text(FLOW)
    assert screen_of("screen_flow:root_agent").splitlines()[6:8] == [
        "    Agent      flow and 1 more below it",
        "    Model      gemini-2.5-pro",
    ]


@pytest.mark.parametrize(("env", "colored"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_the_screen_has_the_colours_of_the_environment_without_a_command_line_too(
    env: str, colored: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(env, "1")
    show_screen("Serving", "http://a", {}, {"Agent": "chief"}, seconds=1, missing=())
    assert ("\x1b[" in capsys.readouterr().out) is colored


def test_what_the_options_say_is_on_the_screen(screen_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    options = ("--no-page", "--session-service-uri", "sqlite:///chats.db", "--record", "kept")
    write_settings(Path.cwd(), {"audit": "audit.jsonl"})
    assert screen_of("screen_agent:root_agent", *options).splitlines()[2:-2] == [
        "  ➜ API        http://127.0.0.1:8000/api/chat",
        "",
        "    Agent      chief and 1 more below it",
        "    Model      gemini-2.5-pro, gemini-2.5-flash",
        "    Chats      in sqlite:///chats.db",
        "    Recorded   into kept",
        "    Audited    into audit.jsonl",
    ]


def test_recordings_have_a_screen_too(screen_of: Callable[..., str]) -> None:
    assert screen_of("--replay", "recordings").splitlines()[:6] == [
        "Replaying recordings at http://127.0.0.1:8000",
        "",
        "  ➜ Page       http://127.0.0.1:8000",
        "  ➜ API        http://127.0.0.1:8000/api/chat",
        "",
        "    Chats      2 recorded",
    ]


@pytest.mark.parametrize("target", [("screen_agent:root_agent",), ("--replay", "recordings")])
def test_the_page_is_opened_if_it_shall_be(
    target: tuple[str, ...], screen_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    screen_of(*target)
    screen_of(*target, "--open")
    assert opened == ["http://127.0.0.1:8000"]


def test_a_narrow_terminal_wraps_beside_the_label(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_protocol.cli._serve_screen.sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((40, 20)))
    rows = {"Chats": "in memory, until the server ends"}
    show_screen("Serving", "http://a", {}, rows, seconds=1, missing=["a key"])
    shown = capsys.readouterr().out
    lines = click.unstyle(shown).splitlines()
    assert lines[2:] == [
        "",
        "    Chats      in memory, until the",
        "               server ends",
        "    Missing    a key",
        "",
        "Ctrl+C stops it.",
    ]


def test_each_agent_of_the_tree_is_asked_for_its_model() -> None:
    unknown = LlmAgent(name="unknown", model="nonsense-1")
    script = LlmAgent(name="script", model=ScriptedLlm(turns=["Hello."]))
    heir = LlmAgent(name="heir")
    parent = LlmAgent(name="parent", model="gemini-2.5-flash", sub_agents=[heir])
    models = used_models(LlmAgent(name="all", model="gemini-2.5-flash", sub_agents=[script, unknown, parent]))
    assert set(models.names) == {"scripted", "nonsense-1", "gemini-2.5-flash"}
    assert [sentence.split(":")[0] for sentence in sorted(models.missing)] == [
        "ADK knows no model nonsense-1",
        "No API key for gemini-2.5-flash",
    ]


@pytest.mark.parametrize("name", GOOGLE_CLOUD)
def test_credentials_of_google_cloud_are_not_looked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert used_models(LlmAgent(name="a", model="gemini-2.5-flash")).missing == ()


def test_the_quick_start_shows_the_screen(
    screen_of: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "a key")
    (tmp_path / "agent").mkdir()
    agent = block("docs/quick-start.md", "chat_router(").partition("\napp = ")[0]
    (tmp_path / "agent" / "agent.py").write_text(agent)
    (tmp_path / "agent" / "__init__.py").touch()
    headline, *screen = block("docs/quick-start.md", "Serving agent").splitlines()
    assert re.fullmatch(r"Serving agent  ready in \S+ s", headline)  # on a terminal
    assert screen_of("agent").splitlines()[1:] == screen


@pytest.mark.parametrize(
    "command", [("serve", "screen_agent:root_agent"), ("serve", "--replay", "recordings"), ("demo",)]
)
def test_ctrl_c_leaves_the_line_for_the_prompt(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "screen_agent.py").write_text(AGENT)
    write_recordings(tmp_path / "recordings", "text")
    with terminal(*command, "--port", "0", cwd=tmp_path) as shown:
        address = re.search(r"http://127\.0\.0\.1:\d+", shown.read_until("Ctrl+C stops it."))
        assert address is not None
        assert httpx.get(f"{address[0]}/healthz").status_code == 200
        shown.interrupt()
        assert shown.read() == "\nStopped.\n"  # after the terminal's own ^C
        assert shown.wait() == 0


@pytest.mark.parametrize(
    ("options", "is_warned"),
    [
        (("--inspect", "--user-header", "X-User"), True),
        (("--inspect",), False),
        (("--user-header", "X-User"), False),
    ],
)
def test_an_inspector_for_signed_in_users_is_warned_of_at_the_start(
    options: tuple[str, ...], is_warned: bool, tmp_path: Path
) -> None:
    (tmp_path / "screen_agent.py").write_text(AGENT)
    with terminal("serve", "screen_agent:root_agent", *options, "--port", "0", cwd=tmp_path) as shown:
        warning = "warning: --inspect shows each signed-in user the prompts and tracebacks of their chats"
        assert (warning in click.unstyle(shown.read_until("Ctrl+C stops it."))) == is_warned
