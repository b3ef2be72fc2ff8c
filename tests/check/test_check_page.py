"""docs/check.md agrees with the code."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.check import Rule, Severity
from stream_protocol.cli.check_command import check
from stream_protocol.recording.read._lines import MAX_LINE
from tests.check import bad_streams
from tests.documents import block

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")


def test_the_tables_list_every_rule_as_it_is() -> None:
    """Rules with the same effect share a row."""
    for severity, heading in ((Severity.ERROR, "Error"), (Severity.WARNING, "Warning")):
        effects: dict[str, list[str]] = {}
        for rule in Rule:
            if rule.severity is severity:
                effects.setdefault(rule.effect, []).append(f"`{rule}`")
        table = PAGE.partition(f"| {heading} | Effect |\n|---|---|\n")[2].partition("\n\n")[0]
        assert table.strip().splitlines() == [f"| {', '.join(rules)} | {effect} |" for effect, rules in effects.items()]


def test_the_example_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("capture.sse").write_bytes(bad_streams.path(Rule.OPEN_AT_FINISH_STEP).read_bytes())
    assert block("docs/check.md", "invalid for") == CliRunner().invoke(check, ["capture.sse"]).stdout


def test_the_code_runs_and_the_bound_is_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("capture.sse").write_bytes(bad_streams.path(Rule.UNKNOWN_KEY).read_bytes())
    code = block("docs/check.md", "check_file(")
    scope: dict[str, object] = {}
    exec(compile(code, "check.md", "exec"), scope)
    assert "finding" in scope
    assert f"{MAX_LINE // 2**20} Mi characters" in PAGE
