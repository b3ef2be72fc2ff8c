"""On a terminal, ``serve`` prints a line for each run; in a pipe, in JSON and with --quiet it does not."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import httpx
import pytest

from stream_protocol.cli._run_lines import RunLines
from stream_protocol.wire import ChatRequest, parse_chat_request
from tests.processes import HANG, serving
from tests.terminals import Terminal, terminal

pytestmark = pytest.mark.servers

AGENT: Final = """
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool
from stream_protocol.testing import Call, ScriptedLlm, token_usage
def look(place: str) -> str:
    return "nothing"
def pay(amount: int) -> str:
    return "paid"
def answer(request):
    said = [part.text for content in request.contents for part in content.parts if part.text][-1]
    results = [part for part in request.contents[-1].parts if part.function_response]
    usage = token_usage(prompt=20, answer=10, thoughts=1)
    if said == "fail":
        raise ValueError("no luck")
    if results:
        return ["Done.", usage]
    if said == "look":
        return [Call("look", {"place": "here"}), Call("look", {"place": "there"}), usage]
    return [Call("pay", {"amount": 3})] if said == "pay" else ["Hello."]
root_agent = LlmAgent(
    name="mine", model=ScriptedLlm(respond=answer), tools=[look, FunctionTool(pay, require_confirmation=True)]
)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(AGENT)
    return tmp_path


@pytest.fixture
def served(folder: Path) -> Iterator[tuple[Terminal, str]]:
    """The terminal of a server behind its banner, and the server's address."""
    with terminal("serve", "mine:root_agent", "--port", "0", cwd=folder) as shown:
        yield shown, url_of(shown.read_until("Ctrl+C stops it."))


def url_of(banner: str) -> str:
    found = re.search(r"http://[\d.:]+", click.unstyle(banner))
    assert found is not None, banner
    return found[0]


def say(url: str, text: str, chat: str = "c1") -> None:
    message = {"id": f"{chat}-{text}", "role": "user", "parts": [{"type": "text", "text": text}]}
    httpx.post(f"{url}/api/chat", json={"id": chat, "messages": [message]}, timeout=HANG)


def test_a_run_is_one_dim_line(served: tuple[Terminal, str]) -> None:
    shown, url = served
    say(url, "look", "a-long-id-of-a-chat")
    line = shown.read_until(" tok").splitlines()[-1]
    assert line.startswith("\x1b[2m")
    assert re.fullmatch(r"\d\d:\d\d:\d\d  chat a-long-…  mine  2 tools  \d+\.\d s  62 tok  ✓", click.unstyle(line))
    say(url, "hi")
    assert re.fullmatch(r"[\d:]{8}  chat c1  mine  \d+\.\d s  ✓\n", click.unstyle(shown.read_until("✓")))
    say(url, "pay", "c2")
    assert "chat c2  mine  1 tool  " in (asked := click.unstyle(shown.read_until("waits")))
    assert asked.endswith("? waits for approval\n")
    say(url, "fail", "c3")
    reason, line = click.unstyle(shown.read_until("✗")).splitlines()[-2:]
    assert reason.startswith("ERROR: chat c3: ")
    assert "no luck" in reason
    assert line.endswith("✗ failed: ValueError  --verbose prints the traceback")
    say(url, "fail", "c4")
    assert click.unstyle(shown.read_until("✗")).endswith("✗ failed: ValueError\n"), "the hint is given once"


def test_the_banner_says_where_the_page_the_inspector_and_the_api_are_and_how_long_it_took(folder: Path) -> None:
    with terminal("serve", "mine:root_agent", "--port", "0", "--inspect", cwd=folder) as shown:
        banner = shown.read_until("Ctrl+C stops it.")
    url = url_of(banner)
    assert "\x1b[1mServing mine:root_agent" in banner
    headline, *lines = click.unstyle(banner)[click.unstyle(banner).index("Serving") :].splitlines()
    assert re.fullmatch(r"Serving mine:root_agent  ready in \d+\.\d s", headline)
    assert lines == [
        "",
        f"  ➜ Page       {url}",
        f"  ➜ Inspector  {'Cmd' if sys.platform == 'darwin' else 'Ctrl'}+I on the page",
        f"  ➜ API        {url}/api/chat",
        "",
        "    Agent      mine",
        "    Model      scripted",
        "    Chats      in memory; --session-service-uri sqlite:///chats.db keeps them",
        "",
        "Ctrl+C stops it.",
    ]


@pytest.mark.parametrize("options", [["--quiet"], ["--log-format", "json"]])
def test_a_server_that_is_quiet_or_logs_json_prints_no_line(folder: Path, options: list[str]) -> None:
    with terminal("serve", "mine:root_agent", "--port", "0", *options, cwd=folder) as shown:
        url = url_of(shown.read_until("http://"))
        say(url, "hi")
        shown.terminate()
        assert "✓" not in shown.read()


def test_a_pipe_gets_no_line(folder: Path) -> None:
    with serving("mine:root_agent", cwd=folder) as (process, url):
        say(url, "hi")
        process.kill()
        assert process.ended


def request(chat: str) -> ChatRequest:
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return parse_chat_request({"id": chat, "messages": [message], "trigger": "submit-message"})


def test_an_id_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    line = RunLines().turn(request("\u202eabc"), app_name="mine")
    line.end("abort")
    shown = capsys.readouterr().out
    assert "\u202eabc" not in shown
    assert "chat \\u202eabc  mine" in shown
    assert shown.endswith("stopped\n")
