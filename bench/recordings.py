"""Measures ``replay`` and ``check`` of a recording: events per second, and memory for a small and a large recording.

Each command runs in its own process. To measure the memory, each turn of the conversation has a long tool result.
Without these results, a file of 200 MB would have half a million events.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.conversation import EVENTS_PER_TURN, TURNS, conversation

SPEED_ROUNDS: Final = 8
"""Repetitions of the conversation in the timed file: 16,000 events, 5 MB."""

SMALL, LARGE = 10**6, 200 * 10**6
"""Bytes of the two files for the memory measurement."""

RESULT: Final = 400_000
"""Characters of a tool's result in these files."""

_MEASURE: Final = """
import sys
from collections import deque
from pathlib import Path
from time import perf_counter
{prepare}
begin = perf_counter()
deque({run}, 0)
seconds = perf_counter() - begin
status = Path("/proc/self/status").read_text()
print(seconds, status.partition("VmHWM:")[2].split()[0])
"""
_PROGRAMS: Final = {
    "replay": _MEASURE.format(
        prepare="from stream_protocol.recording import load_recording, replay",
        run="replay(load_recording(sys.argv[1]))",
    ),
    "check": _MEASURE.format(
        prepare="from stream_protocol import check\nfrom stream_protocol.recording import load_recording",
        run="check.check_file(sys.argv[1], versions=(6,))",
    ),
}


class Cost(NamedTuple):
    """Cost of one command. ``small`` and ``large``: peak memory in MiB for 1 MB and for 200 MB, including imports."""

    name: str
    events_per_second: float
    small: float
    large: float


def costs() -> list[Cost]:
    """Return a row for each command. Linux only: the kernel reports the memory."""
    with tempfile.TemporaryDirectory() as folder:
        timed, small, large = (Path(folder) / name for name in ("timed", "small", "large"))
        _write(timed, lambda size, rounds: rounds < SPEED_ROUNDS, result=0)
        _write(small, lambda size, rounds: size < SMALL, result=RESULT)
        _write(large, lambda size, rounds: size < LARGE, result=RESULT)
        return [_cost(name, timed, small, large) for name in _PROGRAMS]


def _cost(name: str, timed: Path, small: Path, large: Path) -> Cost:
    seconds, _ = _run(name, timed)
    events = SPEED_ROUNDS * TURNS * EVENTS_PER_TURN
    return Cost(name, events / seconds, _run(name, small)[1] / 1024, _run(name, large)[1] / 1024)


def _run(name: str, file: Path) -> tuple[float, float]:
    """Return the seconds, and the peak memory in KiB."""
    command = [sys.executable, "-c", _PROGRAMS[name], str(file)]
    seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(peak)


def _write(path: Path, goes_on: Callable[[int, int], bool], *, result: int) -> None:
    """Write turns of the conversation, each with new invocation ids, while ``goes_on`` returns True."""
    turns = [
        [_line(event.model_dump(mode="json", by_alias=True, exclude_none=True), result) for event in turn]
        for turn in conversation()
    ]
    with path.open("w", encoding="utf-8") as out:
        for number, turn in enumerate(_endless(turns)):
            if not goes_on(out.tell(), number // TURNS):
                return
            out.writelines(line.replace('"e-', f'"e{number}-') for line in turn)


def _endless(turns: list[list[str]]) -> Iterator[list[str]]:
    while True:
        yield from turns


def _line(event: dict[str, Any], result: int) -> str:
    for part in event["content"]["parts"]:
        if result and "functionResponse" in part:
            part["functionResponse"]["response"]["page"] = "x" * result
    return json.dumps(event, ensure_ascii=False) + "\n"
