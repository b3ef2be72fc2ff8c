"""Logs a warning if the server has several workers that do not share a run log."""

import logging
import os
import re
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

_SERVERS: Final = re.compile(r"\b(?:uvicorn|gunicorn|hypercorn|granian)\b")
"""Pattern for the commands of servers that start worker processes."""

WARNING: Final = (
    "This is one of several workers, and each has a MemoryRunLog of its own: resuming, stopping and keeping two runs "
    "of a chat apart work only if the request reaches the run's worker. Give ChatService a shared run_log."
)


def warn_of_other_workers() -> None:
    if _several_configured() or _other_worker_runs():
        logger.warning(WARNING)


def _several_configured() -> bool:
    workers = os.environ.get("WEB_CONCURRENCY", "")
    return workers.isdecimal() and int(workers) > 1


def _other_worker_runs() -> bool:
    """Return True if another worker of the same server runs. This is the case if the parent process is a known server,
    and another of its child processes has the same command. Works only on Linux.
    """
    parent = os.getppid()
    if not _SERVERS.search(_command(parent)):
        return False
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return False
    own = _command_pattern(os.getpid())
    return any(child != str(os.getpid()) and _command_pattern(int(child)) == own for child in children)


def _command_pattern(process: int) -> str:
    """Return the command line of a process, in which 0 replaces each number. The command lines of workers differ only
    in numbers, such as file descriptors.
    """
    return re.sub(r"\d+", "0", _command(process))


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""
