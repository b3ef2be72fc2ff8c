"""What the import of the converter adds to the start of an interpreter."""

import subprocess
import sys
from statistics import median
from time import perf_counter
from typing import NamedTuple

ROUNDS = 15


class Startup(NamedTuple):
    """Milliseconds: an interpreter that does nothing, and one that imports the package. Medians."""

    bare: float
    with_import: float


def startup() -> Startup:
    """Returns both times, taken in turn in fresh processes; the first of each only warms the file cache."""
    times = [(_run("pass"), _run("from stream_protocol import stream_sse")) for _ in range(ROUNDS + 1)][1:]
    return Startup(median(bare for bare, _ in times), median(imported for _, imported in times))


def _run(code: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (perf_counter() - start) * 1e3
