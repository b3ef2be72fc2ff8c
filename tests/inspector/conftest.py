from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def converted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Converts files in this process: the other process takes a second to load ADK, and has tests of its own."""

    async def run(_: object, read: Callable[..., Any], *arguments: object, cancellable: bool) -> Any:
        assert cancellable
        return read(*arguments)

    monkeypatch.setattr("anyio.to_process.run_sync", run)
