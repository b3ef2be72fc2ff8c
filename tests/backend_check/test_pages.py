"""docs/check-backend.md agrees with the code, and docs/backends.md with the results of the last run."""

import re
from pathlib import Path

import pytest

from stream_protocol.backend_check import Settings, read_settings
from stream_protocol.backend_check._run import CHECKS
from stream_protocol.backend_check._settings import PROMPTS
from tests.backends.backends import BACKENDS, Backend
from tests.backends.page import PAGE, REPORT, checks_of, load_results, page, report
from tests.documents import block
from tests.processes import ROOT
from tests.tools import require_node_project

DOCS = (ROOT / "docs" / "check-backend.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[tuple[str, ...]]:
    """The rows of the table with this heading."""
    table = DOCS.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return [tuple(line.strip("| ").split(" | ")) for line in table.splitlines()[2:]]


@pytest.mark.node
def test_each_source_in_the_ai_sdk_is_a_file() -> None:
    require_node_project(ROOT / "frontend-fixtures")
    package = ROOT / "frontend-fixtures" / "node_modules" / "ai-v7"
    files = {file for check in CHECKS for file in re.findall(r"ai: ([\w./-]+\.(?:ts|mdx))", check.source)}
    assert len(files) > 5
    missing = {file for file in files if not (package / ("" if file.startswith("docs/") else "src") / file).is_file()}
    assert missing == set()


def test_the_table_of_keys_has_each_key_once() -> None:
    keys = [key for row in rows("Key") for key in row[0].replace("`", "").split(", ")]
    assert sorted(keys) == sorted(Settings.__dataclass_fields__)
    assert {*PROMPTS} < {*keys}


def test_the_file_of_prompts_is_one(tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text(block("docs/check-backend.md", "# prompts.toml"), encoding="utf-8")
    settings = read_settings(file)
    assert (settings.client_tool, settings.headers) == ((), {"authorization": "Bearer test"})


def test_the_comparison_is_made_of_the_last_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(load_results()), "`python -m tests.backends` writes the page"
    assert REPORT.read_text(encoding="utf-8") == report(load_results()), "`python -m tests.backends` writes the report"


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.key)
def test_each_backend_has_a_result_for_each_check(backend: Backend) -> None:
    results = load_results()
    shown = {name: (check["profile"], check["rule"]) for name, check in checks_of(results, backend).items()}
    assert shown == {each.name: (each.profile, each.rule) for each in CHECKS}, "run `python -m tests.backends`"
    assert backend.packages[0].partition("@")[0] in results[backend.key]["versions"]
    assert results[backend.key]["report"]["aiSdk"] == [6, 7]


def test_we_hold_all_checks() -> None:
    (own,) = [each for each in BACKENDS if each.kind == "own"]
    assert {check["outcome"] for check in checks_of(load_results(), own).values()} == {"holds"}
