"""``adk-ui-stream serve`` informs its operator: the log in JSON, metrics for Prometheus, spans for a collector."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

import httpx
import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from tests.ports import free_port
from tests.processes import HANG, started
from tests.serve_settings import write_settings

pytestmark = pytest.mark.servers

AGENT = """
import logging
logging.basicConfig()  # text, which JSON takes the place of
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm

def answer(request):
    logging.getLogger("my_app").warning("asked for %s", "Rome")
    return ["Hello there."]

root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=answer))
"""
BODY = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}


@contextmanager
def collector() -> Iterator[tuple[str, Queue[bytes]]]:
    """A collector of OTLP: its address, and the bodies that it gets."""
    bodies = Queue[bytes]()

    class Collect(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.put(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base names it
            pass

    server = HTTPServer(("127.0.0.1", 0), Collect)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def told(bodies: Queue[bytes], what: bytes) -> bytes:
    """All that a collector got until this was in it."""
    got = b""
    while what not in got:
        got += bodies.get(timeout=HANG)
    return got


def test_a_server_tells_of_its_chats_in_its_log_at_metrics_and_to_a_collector(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    write_settings(tmp_path, {"log-whole": ["my_app"]})
    options = ("--metrics", "--log-format", "json", "--port", str(port))
    with collector() as (endpoint, bodies), ExitStack() as held:
        # The receiver of its spans, which are sent only at the end.
        env = {**os.environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "600000"}
        command = ("stream_protocol", "serve", "agent:root_agent", *options)
        process = held.enter_context(started(*command, cwd=tmp_path, env=env))
        with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=9), timeout=HANG) as http:
            http.post("/api/chat", json=BODY).raise_for_status()
            assert http.get("/readyz").json() == {"status": "ok"}
            numbers = http.get("/metrics").raise_for_status().text
        process.send_signal(signal.SIGTERM)
        assert b"adk-ui-stream" in told(bodies, b"chat run")
        assert process.read() == ""
        process.wait()
        lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert "\nadk_ui_stream_run_duration_seconds_count{" in numbers
    assert [line["message"] for line in lines].count(f"Serving agent:root_agent at {url}") == 1
    (ended,) = [line for line in lines if line.get("outcome") and line["chat_id"] == "c1"]
    assert (ended["outcome"], ended["user_id"]) == ("finish", "local")
    assert [line["message"] for line in lines if line["logger"] == "my_app"] == ["asked for Rome"]


def test_numbers_are_those_of_one_process(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["serve", "agent", "--run-log", "redis://x", "--workers", "2", "--metrics"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --metrics cannot be combined with --workers: ")
    assert done.stderr.count("\n") == 1
