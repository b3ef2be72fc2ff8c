"""Measures the package's part in the start of an interpreter: its import, and the first use of its names."""

import os
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import NamedTuple

ROUNDS = 15

IMPORT = "import stream_protocol"
FIRST_USE = "from stream_protocol import StreamProtocolConverter, reduce_chunks, stream_sse"


class Startup(NamedTuple):
    """Milliseconds of processor time: of an empty interpreter, of ``import stream_protocol``, and of a use of its
    names.
    """

    bare: float
    with_import: float
    with_names: float


def startup() -> Startup:
    """Return medians of times in fresh processes, in turn. The first processes only compile the modules."""
    rounds = [[_run(code) for code in ("pass", IMPORT, FIRST_USE)] for _ in range(ROUNDS + 1)][1:]
    return Startup(*map(median, zip(*rounds, strict=True)))


def _run(code: str) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = _spent()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return (_spent() - before) * 1e3


def _spent() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
