"""``adk-ui-stream serve --reload``: a change of the agent is there with the next message."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from watchfiles import Change

from stream_protocol.cli._broken_agent import AgentFiles
from stream_protocol.cli._reload import watched_folder
from tests.batch import batch
from tests.processes import COMMAND, ENV, HANG

pytestmark = pytest.mark.servers

AGENT = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda request: "{words}"))
"""
BODY = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}


@contextmanager
def reloading(target: str, cwd: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The server. Its stderr comes with its stdout."""
    command = [*COMMAND, "serve", target, "--reload", "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, cwd=cwd, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def read_until(process: subprocess.Popen[str], beginning: str) -> str:
    """The next line of the server that begins so."""
    assert process.stdout is not None
    return next(line for line in process.stdout if line.startswith(beginning)).strip()


def test_a_change_of_the_agent_is_served_at_the_same_address_also_after_one_that_was_broken(tmp_path: Path) -> None:
    file = tmp_path / "my_agent" / "agent.py"
    file.parent.mkdir()
    file.write_text(AGENT.format(words="First."))
    with reloading("my_agent", tmp_path) as process:
        first = read_until(process, "Serving my_agent at ")
        url = first.split()[-1]
        read_until(process, "Ctrl+C")

        def answer() -> str:
            return httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG).raise_for_status().text

        assert '"delta":"First."' in answer()
        file.write_text(AGENT.format(words="Second."))
        assert read_until(process, "agent.py") == "agent.py changed"
        assert read_until(process, "Serving") == first
        assert '"delta":"Second."' in answer()
        file.write_text("1 / 0")
        said = read_until(process, "error: cannot load my_agent: ").removeprefix("error: ")
        assert said == "cannot load my_agent: ZeroDivisionError: division by zero (agent.py, line 1)"
        assert_unavailable(httpx.post(f"{url}/api/chat", json=BODY, timeout=HANG), said)
        file.write_text(AGENT.format(words="Third."))
        assert '"delta":"Third."' in answer()
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 0
        with pytest.raises(httpx.ConnectError):
            answer()


def assert_unavailable(response: httpx.Response, said: str) -> None:
    assert (response.status_code, response.text) == (503, said)
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize("kind", ["broken", "without an agent", "dying"])
def test_while_an_agent_cannot_be_loaded_requests_say_why_and_the_next_one_after_a_change_works(
    kind: str, tmp_path: Path
) -> None:
    code, reason = {
        "broken": ("x = 1\n\ny = (\n", "cannot load my_agent: SyntaxError: '(' was never closed (agent.py, line 3)"),
        "without an agent": ("x = 1\n", "cannot load my_agent: my_agent/agent.py does not define `root_agent`"),
        "dying": ("import os\nos._exit(0)\n", "the agent's process ended with exit code 0"),
    }[kind]
    file = tmp_path / "my_agent" / "agent.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").write_text("from . import agent\n")
    file.write_text(code)
    with reloading("my_agent", tmp_path, "--cors-origin", "https://page.example") as process:
        assert read_until(process, "error: ") == f"error: {reason}"
        url = read_until(process, "http://").split()[0]
        with httpx.Client(base_url=url, timeout=HANG, headers={"origin": "https://page.example"}) as http:
            large = {**BODY, "padding": "x" * 3_000_000}
            for response in (http.get("/"), http.post("/api/chat", json=large), http.delete("/api/chat/c1")):
                assert_unavailable(response, reason)
                assert response.headers["access-control-allow-origin"] == "https://page.example"
                assert response.headers["x-content-type-options"] == "nosniff"
            asked = {"access-control-request-method": "POST"}
            assert http.options("/api/chat", headers=asked).status_code == 200
            assert http.get("/", headers={"host": "evil.example"}).status_code == 403
            file.write_text(f"{code}\n")
            assert_unavailable(http.get("/readyz"), reason)  # the change mends nothing
            file.write_text(AGENT.format(words="Mended."))
            assert '"delta":"Mended."' in http.post("/api/chat", json=BODY).raise_for_status().text
        read_until(process, f"Serving my_agent at {url}")
        assert read_until(process, "    Model") == "Model      scripted"


@pytest.mark.skipif(sys.platform == "win32", reason="has other signals")
def test_a_target_that_cannot_be_loaded_at_first_ends_it(tmp_path: Path) -> None:
    with reloading("nowhere", tmp_path) as process:
        assert read_until(process, "").startswith("error: cannot load nowhere: ")
        assert process.wait(HANG) == 2


@batch(
    path={
        "agent.py": True,
        "root_agent.yaml": True,
        ".env": True,
        "prompts/hello.md": True,
        "chats.db": False,
        "chats.db-wal": False,
        "recordings/chat.jsonl": False,
        "__pycache__/agent.py": False,
        ".venv/lib/x.py": False,
        "node_modules/x/readme.md": False,
    }.items()
)
def test_files_of_the_agent_count_and_those_of_its_chats_do_not(path: tuple[str, bool], tmp_path: Path) -> None:
    name, counts = path
    assert AgentFiles()(Change.modified, str(tmp_path / name)) is counts


def test_the_folder_of_the_agent_is_watched_or_that_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents" / "weather").mkdir(parents=True)
    targets = ["agents/weather", "agents.weather:root_agent", "agent:root_agent"]
    assert [watched_folder(target) for target in targets] == [Path("agents/weather"), Path("agents"), Path()]
