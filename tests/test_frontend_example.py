"""The example for frontend teams, as its own commands run it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from stream_protocol.recording import load_recording, replay
from tests.chromium import require_chromium
from tests.ports import free_port
from tests.tools import require_command, require_node_project

ROOT: Final = Path(__file__).parent.parent
EXAMPLE: Final = ROOT / "examples" / "frontend-tests"
TIMEOUT: Final = 300
"""Seconds: to fail a hang, not to measure."""


@pytest.mark.parametrize("name", ["payment", "weather"])
def test_its_streams_are_what_replay_prints(name: str) -> None:
    printed = b"".join(replay(load_recording(EXAMPLE / "recordings" / f"{name}.jsonl")))
    assert (EXAMPLE / "streams" / f"{name}.sse").read_bytes() == printed


@pytest.mark.frontends
@pytest.mark.node
def test_its_vitest_tests_pass() -> None:
    assert "3 passed" in run("test:unit", {})


@pytest.mark.frontends
@pytest.mark.node
@pytest.mark.browser
def test_its_playwright_tests_pass() -> None:
    replay_port, page_port = str(free_port()), str(free_port())
    command = f"{sys.executable} -m stream_protocol"
    told = run(
        "test:browser",
        {
            "ADK_UI_STREAM": command,
            "CHROMIUM": require_chromium(),
            "PAGE_PORT": page_port,
            "PYTHONPATH": str(ROOT),
            "REPLAY_PORT": replay_port,
        },
    )
    assert "3 passed" in told


def run(script: str, environment: dict[str, str]) -> str:
    """The output of a script of the example, which must succeed."""
    require_node_project(EXAMPLE)
    done = subprocess.run(
        [require_command("npm"), "run", script],
        cwd=EXAMPLE,
        env={**os.environ, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
