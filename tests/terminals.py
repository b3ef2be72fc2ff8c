"""``adk-ui-stream`` on a terminal, in a process that is forked as in ``tests/processes.py``."""

import os
import pty
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from tests.processes import FORKS, HANG, run_forked


def in_terminal(*arguments: str, cwd: Path, **env: str) -> tuple[int, str]:
    """The exit code of ``adk-ui-stream``, and what it prints on a terminal."""
    controller, terminal = pty.openpty()
    with Connection(terminal) as shared:
        process = FORKS.Process(
            target=_become_in_terminal, args=(arguments, str(cwd), {**os.environ, **env}, shared), daemon=True
        )
        process.start()
    shown = b""
    try:
        while piece := os.read(controller, 4096):
            shown += piece
    except OSError:  # Linux says so that the terminal has no other end any more
        pass
    os.close(controller)
    process.join(HANG)
    assert process.exitcode is not None, "it hangs"
    return process.exitcode, shown.decode()


def _become_in_terminal(arguments: Sequence[str], cwd: str, env: Mapping[str, str], terminal: Connection) -> None:
    run_forked("stream_protocol", arguments, cwd, env, terminal, Connection(os.dup(terminal.fileno())))
