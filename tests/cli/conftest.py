"""Fixtures for the tests of the commands."""

import pytest


@pytest.fixture(autouse=True)
def _any_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A different program of the developer may have the default port, and these tests start no server there."""
    for command in ("serve_command", "demo_command"):
        monkeypatch.setattr(f"stream_protocol.cli.{command}.require_free_port", lambda *_: None)
