"""Converts a file that somebody drops on the page in a process of its own: a parser in C may take minutes and gigabytes
for some megabytes, and can only be ended together with its process.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_process
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from stream_protocol.recording.read import UnreadableError

if sys.platform != "win32":
    import resource

Reading: TypeAlias = Callable[[Path, str | None], bytes]
"""Makes something of a file, and of one session in it; a function of a module, since it is sent to the process."""

MAX_SECONDS: Final = 20.0
"""Seconds that a file may take. The first one loads ADK, too: two or three of them."""

MAX_MEMORY: Final = 4 * 2**30
"""Bytes of address space that the process may have, where there is such a limit. ADK alone has one gigabyte."""

_ONE_AT_A_TIME: Final[RunVar[CapacityLimiter]] = RunVar("adk_ui_stream_file_process")


async def convert_in_process(read: Reading, body: bytearray, session: str | None) -> bytes:
    """Returns what ``read`` makes of a file with these bytes.

    The process waits for the next file, as long as the event loop runs. Raises ``UnreadableError``: also for a file
    that takes too long or too much memory, with which the process ends.
    """
    try:
        limiter = _ONE_AT_A_TIME.get()
    except LookupError:
        limiter = CapacityLimiter(1)
        _ONE_AT_A_TIME.set(limiter)
    async with limiter:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dropped"
            path.write_bytes(body)
            try:
                with anyio.fail_after(MAX_SECONDS):
                    return await anyio.to_process.run_sync(_bounded, read, path, session, cancellable=True)
            except TimeoutError:
                raise UnreadableError(f"it takes more than {MAX_SECONDS:g} seconds to convert") from None
            except (MemoryError, anyio.BrokenWorkerProcess):
                raise UnreadableError("it takes too much memory to convert") from None


def _bounded(read: Reading, path: Path, session: str | None) -> bytes:
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return read(path, session)
