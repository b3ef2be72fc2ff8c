"""A durable run whose session database is restarted in the middle."""

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.postgres import postgres_server
from tests.processes import HANG, serving
from tests.tools import missing

pytestmark = pytest.mark.fleet

AGENT: Final = """
import asyncio
from pathlib import Path
from google.adk.agents import LlmAgent
from stream_protocol.testing import Call, ScriptedLlm
async def look() -> str:
    "Looks."
    with Path("began").open("a") as file:
        file.write("x")
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return "seen"
def respond(request):
    seen = any(part.function_response for content in request.contents for part in content.parts)
    return ["Bye."] if seen else ["Hello. ", Call("look", {})]
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=respond), tools=[look])
"""

LEFT: Final = "The session store is unreachable"


def test_a_durable_run_survives_a_restart_of_its_session_database(tmp_path: Path) -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    (tmp_path / "agent.py").write_text(AGENT)
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    body = {"id": "c1", "messages": [said], "trigger": "submit-message"}
    with postgres_server() as database:
        stores = ("--session-service-uri", database.new_database(), "--durable", "sqlite:///runs.db")
        with serving("agent:root_agent", "--no-page", *stores, cwd=tmp_path) as (worker, url):
            with httpx.stream("POST", f"{url}/api/chat", json=body, timeout=HANG) as reading:
                pieces = reading.iter_text()
                _until((tmp_path / "began").exists)
                with database.away():
                    (tmp_path / "go").touch()
                    _until(lambda: LEFT in worker.log.read_text())
                try:
                    shown = "".join(pieces)
                except httpx.RemoteProtocolError:  # cut off: the page comes back
                    shown = ""
                assert '"error"' not in shown
            _until(lambda: "Bye." in httpx.get(f"{url}/api/chat/c1", timeout=HANG).text)
            user, assistant = httpx.get(f"{url}/api/chat/c1", timeout=HANG).json()["messages"]
            (call,) = (part for part in assistant["parts"] if part["type"] == "tool-look")
            assert (user["id"], call["state"]) == ("u1", "output-available")
            assert (tmp_path / "began").read_text() == "x", "a tool begins at most once"
            assert httpx.get(f"{url}/readyz", timeout=HANG).status_code == 200


def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
