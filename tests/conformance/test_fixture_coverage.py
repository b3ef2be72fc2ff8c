"""Every row of docs/events.md, and every way in which a person takes part, has its fixtures."""

import json

import pytest

from tests.conformance.fixtures import FOLDER, fixture_names
from website.events import ROWS, Row

CHUNKS = {
    "tool-approval-request": "approval_approved",
    "tool-output-denied": "approval_denied",
    "tool-input-error": "litellm_cut_call",
    "tool-output-error": "tool_error",
    "source-url": "grounding",
    "source-document": "grounding",
    "data-adk-agent": "transfer",
    "data-adk-file": "file_data",
    "data-adk-output": "workflow_fanout",
    "data-adk-state": "artifact_widget_and_state",
    "data-adk-approval": "approval_with_reason",
    "data-adk-progress": "tool_reports",
    "data-weather": "app_data",
    "abort": "abort_at_once",
    "error": "error_at_once",
}
"""Chunk type -> a fixture that has one."""

OLD_ADKS = ("1_24", "2_0", "2_5", "2_9")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.shown)
def test_the_fixtures_of_a_row_are_there(row: Row) -> None:
    assert set(row.fixtures.split()) <= set(fixture_names())


@pytest.mark.parametrize("kind", CHUNKS)
def test_a_chunk_is_in_the_fixture_that_shows_it(kind: str) -> None:
    expected = json.loads((FOLDER / CHUNKS[kind] / "expected.v6.json").read_text(encoding="utf-8"))
    assert kind in {chunk["type"] for turn in expected["turns"] for chunk in turn["chunks"]}


def test_what_one_old_adk_wrote_the_others_did_too() -> None:
    by_version = [
        {name.removeprefix(f"adk_{version}_") for name in fixture_names() if name.startswith(f"adk_{version}_")}
        for version in OLD_ADKS
    ]
    assert by_version[0]
    assert all(names == by_version[0] for names in by_version)
