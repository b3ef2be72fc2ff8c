"""A replay only reads files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream_protocol.recording import load_recording, record, replay
from tests.recording.recordings import drained, said, source, turns

ROOT = Path(__file__).parents[2]
HANG = 60


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file with its content and the time of its last change."""
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
async def events(tmp_path: Path) -> Path:
    """Write a JSONL of events, made from a recording."""
    await drained(record(source([said("Hi", author="user"), said("Hello.")]), tmp_path / "chat.jsonl"))
    file = tmp_path / "events.jsonl"
    (turn,) = turns(tmp_path / "chat.jsonl")
    file.write_text("\n".join(event.model_dump_json() for event in turn.events))
    return file


def test_in_python(events: Path) -> None:
    before = tree(events.parent)
    first, second = (list(replay(load_recording(events))) for _ in range(2))
    assert first == second
    assert tree(events.parent) == before


@pytest.mark.processes
def test_on_the_command_line(events: Path) -> None:
    before = tree(events.parent)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "stream_protocol", "replay", str(events)],
        cwd=events.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(events.parent)},
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree(events.parent) == before
