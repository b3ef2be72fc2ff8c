"""Files of the pytest plugin beside recordings: the stream that a test expects of one."""

from pathlib import Path
from typing import Final

EXPECTED: Final = ".expected"
"""The end of the stem of an expectation's file: ``weather.expected.jsonl`` for ``weather.jsonl``."""


def is_expectation(path: Path) -> bool:
    """Return True for the name of an expectation, which is not a recording."""
    return path.stem.endswith(EXPECTED)
