"""A project of ``init`` holds all checks of a backend, with the default prompts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.backend_check import Outcome, run_checks
from stream_protocol.cli import main
from tests.processes import serving


async def test_a_project_holds_all_checks_but_the_error_that_it_never_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "shop", "--page", "none"]).exit_code == 0
    with serving("shop", cwd=tmp_path / "shop") as (_, address):
        results = await run_checks(f"{address}/api/chat")
    assert {each.check.name: each.reason for each in results if each.outcome is not Outcome.HOLDS} == {
        "error": "No prompt of `error` leads to an error."
    }
