from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def converted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are converted in this process: the other one takes a second to load ADK. See ``test_file_process.py``."""

    async def run(_: object, read: Callable[..., Any], *arguments: object, cancellable: bool) -> Any:
        assert cancellable
        return read(*arguments)

    monkeypatch.setattr("anyio.to_process.run_sync", run)
