"""Files with faults that a test cannot cause on a real disk: they fail, never end, or must not be read."""

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest


def open_as(monkeypatch: pytest.MonkeyPatch, file: Path, opened: Callable[[], IO[Any]]) -> None:
    """Make ``file.open()`` return the result of ``opened``. Other files open normally, for imports."""
    really = Path.open

    def fake(path: Path, *args: Any, **options: Any) -> IO[Any]:
        return opened() if path == file else really(path, *args, **options)

    monkeypatch.setattr(Path, "open", fake)
