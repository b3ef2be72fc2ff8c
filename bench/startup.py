"""The package's part in the start of an interpreter: by its import alone, and by the first use of its names."""

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
    """Milliseconds of processor time: of an interpreter that does nothing, that imports the package, and that takes
    names from it. Nothing waits there, so an idle machine's clock says the same; a busy one's says more."""

    bare: float
    with_import: float
    with_names: float


def startup() -> Startup:
    """Returns medians of times taken in turn in fresh processes.

    The first of each only warms the file cache, and leaves compiled modules behind, as an installation has them.
    """
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
