"""Whether this process is one of several workers of a server, as far as that can be seen from inside."""

import logging
import os
import re
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

_SERVERS: Final = re.compile(r"\b(?:uvicorn|gunicorn|hypercorn|granian)\b")
"""Servers whose main process starts workers and serves nothing itself."""

WARNING: Final = (
    "This is one of several workers, and each has a MemoryRunLog of its own: resuming, stopping and keeping two runs "
    "of a chat apart work only where a request meets the right worker. Give ChatService a run_log that they share."
)


def warn_of_other_workers() -> None:
    """Logs a warning if other workers, which know nothing of the runs in this one, serve the same app."""
    if _declared() or _has_sibling():
        logger.warning(WARNING)


def _declared() -> bool:
    """What uvicorn and gunicorn take the number of their workers from."""
    workers = os.environ.get("WEB_CONCURRENCY", "")
    return workers.isdecimal() and int(workers) > 1


def _has_sibling() -> bool:
    """Whether a known server has another child that was started as this one was. Linux tells."""
    parent = os.getppid()
    if not _SERVERS.search(_command(parent)):
        return False
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return False
    own = _shape(os.getpid())
    return any(child != str(os.getpid()) and _shape(int(child)) == own for child in children)


def _shape(process: int) -> str:
    """The command without its numbers: workers are given pipes of their own."""
    return re.sub(r"\d+", "0", _command(process))


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""
