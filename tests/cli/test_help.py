"""Help is there at once: it loads neither ADK nor a server."""

import subprocess
import sys

import pytest

from tests.processes import ENV, HANG

PROGRAM = """
import sys
from stream_protocol.cli import main
main([*sys.argv[1:], "--help"], standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("command", [(), ("check",), ("record",), ("replay",), ("serve",)])
def test_help_loads_neither_adk_nor_a_server(command: tuple[str, ...]) -> None:
    program = [sys.executable, "-c", PROGRAM, *command]
    done = subprocess.run(program, check=True, capture_output=True, text=True, env=ENV, timeout=HANG)
    assert done.stdout.startswith("Usage: ")
    assert not set(done.stderr.split()) & {"google.adk", "google.genai", "pydantic", "starlette", "uvicorn"}
