"""Divides the compilation of the test files between the workers of pytest-xdist, in a clone without compiled files."""

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.markers import TESTS, is_ignored


def compile_share(config: pytest.Config) -> None:
    """Import this worker's share of the test files, which stores the compiled files for the other workers.

    Each worker collects all files, and all would compile the same file at the same time. An error is raised again when
    the file is collected.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in [*_collected(config.option.markexpr)][number::count]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))


def _collected(markers: str) -> Iterator[Path]:
    for file in sorted(TESTS.rglob("test_*.py")):
        if not any(is_ignored(path, markers) for path in (file, *file.parents)):
            yield file
