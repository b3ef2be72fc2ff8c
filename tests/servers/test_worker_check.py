import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream_protocol.serving.base._worker_check import WARNING, warn_of_other_workers

pytestmark = pytest.mark.servers

APP = """
import logging, sys
sys.path.insert(0, {root!r})
logging.basicConfig(stream=sys.stderr, format="%(message)s")
from google.adk.agents import LlmAgent
from stream_protocol.serving import ChatService, MemoryRunLog, create_app
from stream_protocol.testing import ScriptedLlm
app = create_app(ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."])){log}))
"""
ROOT = Path(__file__).parents[2]
STARTED = "Application startup complete."


def started(folder: Path, workers: int, log: str = "") -> str:
    """The output of a real server's workers while they start."""
    (folder / "app.py").write_text(APP.format(root=str(ROOT), log=log))
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", "0", "--workers", str(workers)]
    said = ""
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True) as server:
        assert server.stderr is not None
        try:
            while said.count(STARTED) < workers:
                line = server.stderr.readline()
                said += line
                assert line, said
                assert "Error" not in line, said
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # uvicorn can miss a politer signal while it starts its workers
    return said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lists the children of a process")
def test_workers_with_logs_of_their_own_are_warned_of(tmp_path: Path) -> None:
    assert WARNING in started(tmp_path, workers=2)


def test_a_single_worker_is_not_warned_of(tmp_path: Path) -> None:
    assert WARNING not in started(tmp_path, workers=1)


def test_a_declared_number_of_workers_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for workers in ("1", "many", "4"):
            monkeypatch.setenv("WEB_CONCURRENCY", workers)
            warn_of_other_workers()
    assert [record.message for record in caplog.records] == [WARNING]
