"""The process in which dropped files are converted."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from stream_protocol.inspector import _file_process
from stream_protocol.inspector._dropped_file import shown_file
from stream_protocol.inspector._file_process import convert_in_process
from stream_protocol.recording.read import UnreadableError
from tests.processes import HANG

pytestmark = pytest.mark.servers

if sys.platform == "linux":
    import resource

FIXTURE = Path(__file__).parents[2] / "frontend-fixtures" / "fixtures" / "text" / "turn1.jsonl"


HOLDS = _file_process.MAX_SECONDS


@pytest.fixture(autouse=True)
def _slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts while many others do may take longer than an app waits."""
    monkeypatch.setattr(_file_process, "MAX_SECONDS", HANG)


async def test_a_file_that_takes_too_long_or_too_much_is_refused_and_the_next_one_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = bytearray(FIXTURE.read_bytes())
    shown = await convert_in_process(shown_file, content, None)
    assert shown.startswith(b'{"entries":[')
    with monkeypatch.context() as patched:
        patched.setattr(_file_process, "MAX_SECONDS", 0.05)
        with pytest.raises(UnreadableError, match="takes more than"):
            await convert_in_process(_wait, content, None)
    both = (convert_in_process(shown_file, content, None) for _ in range(2))
    assert await asyncio.gather(*both) == [shown, shown]


async def test_a_process_that_dies_of_a_file_refuses_it_and_the_next_file_has_another() -> None:
    content = bytearray(FIXTURE.read_bytes())
    with pytest.raises(UnreadableError, match="too much memory"):
        await convert_in_process(_die, content, None)
    with pytest.raises(UnreadableError, match="too much memory"):
        await convert_in_process(_fill, content, None)
    with pytest.raises(UnreadableError, match="empty"):
        await convert_in_process(shown_file, bytearray(), None)
    if sys.platform == "linux":
        left = await convert_in_process(_seconds_left, content, None)
        assert 0 < left <= HOLDS + 1


def _wait(_path: Path, _session: str | None) -> bytes:
    time.sleep(HANG)
    return b""


def _die(_path: Path, _session: str | None) -> bytes:
    os._exit(1)


def _seconds_left(_path: Path, _session: str | None) -> float:
    """Seconds of computing that the process has until the system ends it, also without a server."""
    return resource.getrlimit(resource.RLIMIT_CPU)[0] - time.process_time()


def _fill(_path: Path, _session: str | None) -> bytes:
    return bytes(_file_process.MAX_MEMORY)
