"""Two ``adk-ui-stream serve`` that share nothing but a PostgreSQL."""

from pathlib import Path

import httpx
import pytest

from tests.postgres import Postgres
from tests.processes import HANG, serving

pytestmark = pytest.mark.fleet

AGENT = f"""
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait
root_agent = LlmAgent(
    name="mine", model=ScriptedLlm(respond=lambda request: ["Hello there. ", Wait({HANG}), "Bye."])
)
"""


@pytest.fixture
def options(postgres: Postgres, tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "agent.py").write_text(AGENT)
    url = postgres.new_database()
    return ("agent:root_agent", "--no-page", "--session-service-uri", url, "--run-log", url, "--lease", "5")


def question(chat_id: str) -> dict[str, object]:
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return {"id": chat_id, "messages": [message]}


def test_what_runs_at_one_is_resumed_and_stopped_at_the_other(options: tuple[str, ...], tmp_path: Path) -> None:
    with (
        serving(*options, cwd=tmp_path) as (_, one),
        serving(*options, cwd=tmp_path) as (_, two),
        httpx.stream("POST", f"{one}/api/chat", json=question("stopped"), timeout=HANG) as first,
    ):
        pieces = first.iter_text()
        assert '"start"' in next(pieces)
        with httpx.stream("GET", f"{two}/api/chat/stopped/stream", timeout=HANG) as second:
            resumed = second.iter_text()
            read = next(resumed)
            assert httpx.get(f"{two}/readyz", timeout=HANG).status_code == 200
            assert httpx.post(f"{two}/api/chat/stopped/stop", timeout=HANG).status_code == 202
            read += "".join(resumed)
        assert '"abort"' in read
        assert '"abort"' in "".join(pieces)


def test_the_readers_of_a_server_that_was_killed_are_told_by_the_other(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    with (
        serving(*options, cwd=tmp_path) as (process, one),
        serving(*options, cwd=tmp_path) as (_, two),
        httpx.stream("POST", f"{one}/api/chat", json=question("killed"), timeout=HANG) as first,
    ):
        assert '"start"' in next(first.iter_text())
        with httpx.stream("GET", f"{two}/api/chat/killed/stream", timeout=HANG) as second:
            pieces = second.iter_text()
            read = next(pieces)
            process.kill()
            read += "".join(pieces)
        assert read.endswith("data: [DONE]\n\n")
        assert read.count('"type":"error"') == 1
        with httpx.stream("POST", f"{two}/api/chat", json=question("killed"), timeout=HANG) as again:
            assert again.status_code == 200
