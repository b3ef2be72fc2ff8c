"""Converts a file that a user drops on the Inspector's page, in a separate process.

For a file of some megabytes, a parser may need minutes of time and gigabytes of memory. A parser that is written in C
stops only when its process ends. In a thread, it would also block the event loop again and again, for about 100 ms.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from math import ceil
from pathlib import Path
from time import process_time
from typing import Final, TypeAlias, TypeVar

import anyio
import anyio.to_process
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from stream_protocol.recording.read import UnreadableError
from stream_protocol.wire import ChatRequestError

if sys.platform == "linux":
    import resource

T = TypeVar("T")

Reading: TypeAlias = Callable[[Path, str | None], T]
"""Function that converts a file, or one session in it. It is pickled, so it must be a module-level function."""

MAX_SECONDS: Final = 20.0
"""Maximum number of seconds for a file, including two or three seconds to load ADK for the first file."""

MAX_MEMORY: Final = 4 * 2**30
"""Maximum number of bytes of the process's address space on Linux. ADK alone takes one gigabyte."""

MAX_WAITING: Final = 4
"""Maximum number of files that wait for the process. Additional files are refused."""

RETRY_SECONDS: Final = 5

_PROCESS_ENDED: Final = (
    "the process that converts it has died: the file takes too much memory, or the server's main module starts the "
    'server without `if __name__ == "__main__":`'
)
"""The error text for a process that has died. The cause may be the main module, which ``multiprocessing`` imports."""

_ONE_AT_A_TIME: Final[RunVar[CapacityLimiter]] = RunVar("adk_ui_stream_file_process")


async def convert_in_process(read: Reading[T], content: bytes | bytearray, session: str | None) -> T:
    """Call ``read`` in a separate process, for a file with the bytes ``content``. Return the result of ``read``.

    The process is kept for the next files. Raises ``UnreadableError`` if the file cannot be read, or takes too much
    time or memory. Raises ``ChatRequestError`` (503) if too many files already wait.
    """
    try:
        limiter = _ONE_AT_A_TIME.get()
    except LookupError:
        limiter = CapacityLimiter(1)
        _ONE_AT_A_TIME.set(limiter)
    refuse_if_crowded(limiter)
    async with limiter:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dropped"
            path.write_bytes(content)
            try:
                with anyio.fail_after(MAX_SECONDS):
                    return await anyio.to_process.run_sync(_bounded, read, path, session, cancellable=True)
            except TimeoutError:
                raise UnreadableError(f"it takes more than {MAX_SECONDS:g} seconds to convert") from None
            except MemoryError:
                raise UnreadableError("it takes too much memory to convert") from None
            except anyio.BrokenWorkerProcess:
                raise UnreadableError(_PROCESS_ENDED) from None


def refuse_if_crowded(limiter: CapacityLimiter) -> None:
    """Raise ``ChatRequestError`` (503) if ``MAX_WAITING`` tasks already wait for the limiter."""
    if limiter.statistics().tasks_waiting >= MAX_WAITING:
        raise ChatRequestError(
            "The server is busy with other files. Try again in some seconds.", status=503, retry_after=RETRY_SECONDS
        )


def _bounded(read: Reading[T], path: Path, session: str | None) -> T:
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, MAX_MEMORY)
        # If the server is killed, this limit ends the process.
        _limit(resource.RLIMIT_CPU, ceil(process_time() + MAX_SECONDS))
    return read(path, session)


if sys.platform == "linux":

    def _limit(kind: int, most: int) -> None:
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
