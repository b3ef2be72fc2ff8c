"""A worker that is stopped while pages poll their histories."""

import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.postgres import postgres_server
from tests.processes import HANG, serving
from tests.redis_server import RedisServer, redis_server

pytestmark = pytest.mark.fleet

AGENT: Final = f"""
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda _: ["Half. ", Wait({HANG})]))
"""

PAGES: Final = 8


def question(chat: str) -> dict[str, object]:
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return {"id": chat, "messages": [said], "trigger": "submit-message"}


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_pages_that_poll_get_their_histories_until_no_connection_is_accepted(kind: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with redis_server(tmp_path) if kind == "redis" else postgres_server() as server:
        run_log = server.url if isinstance(server, RedisServer) else server.new_database()
        stores = ("--session-service-uri", "sqlite:///chats.db", "--run-log", run_log, "--drain", "0.5")
        with serving("agent:root_agent", "--no-page", *stores, cwd=tmp_path) as (worker, url):
            answers = Counter[int | str]()
            polling = threading.Barrier(PAGES + 1)

            def poll(chat: str) -> None:
                with httpx.Client(timeout=HANG) as page:
                    assert page.get(f"{url}/api/chat/{chat}").status_code == 200
                    polling.wait(HANG)
                    while True:
                        try:
                            answers[page.get(f"{url}/api/chat/{chat}").status_code] += 1
                        except httpx.TransportError:
                            return

            with httpx.stream("POST", f"{url}/api/chat", json=question("c0"), timeout=HANG) as reading:
                pieces = reading.iter_text()
                assert '"start"' in next(pieces)
                pages = [threading.Thread(target=poll, args=("c0",)) for _ in range(PAGES)]
                for page in pages:
                    page.start()
                polling.wait(HANG)
                worker.send_signal(signal.SIGTERM)
                assert '"abort"' in "".join(pieces)
                for page in pages:
                    page.join(HANG)
            worker.wait()
            assert [*answers] == [200]
            assert "ERROR" not in worker.log.read_text()
