from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def converted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convert files in this process. The separate process takes a second to load ADK, and has its own tests."""

    async def run(_: object, read: Callable[..., Any], *arguments: object, cancellable: bool) -> Any:
        assert cancellable
        return read(*arguments)

    monkeypatch.setattr("anyio.to_process.run_sync", run)
