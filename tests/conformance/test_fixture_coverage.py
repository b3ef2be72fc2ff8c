"""Every row of the README's table of conversions, and every way in which a person takes part, has its fixtures."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.fixtures import FOLDER, fixture_names

README = Path(__file__).parents[2] / "README.md"

ROWS = {
    "text": "text text_none aggregate_longer aggregate_reordered redacted code_executor no_parts",
    "thoughts": "thoughts thoughts_hidden thought_only text_around_thought thought_then_call",
    "function call": "text_tool_text tool_none tool_without_arguments parallel_calls_of_one_tool no_ids no_call_ids "
    "no_response_ids old_id_changes_to_aggregate old_fresh_id_per_fragment old_first_fragment_misrouted",
    "streamed arguments": "streamed_arguments streamed_arguments_nested streamed_arguments_interleaved "
    "streamed_arguments_out_of_order streamed_arguments_unclosed streamed_arguments_two_calls accumulated_arguments "
    "nameless_call nameless_call_named_later nameless_call_fits_schema nameless_call_hidden litellm_calls "
    "litellm_calls_without_finish_reason max_tokens_in_call",
    "function response": "tool_returns_text tool_error tool_error_mcp tool_draws tool_missing_argument agent_tool",
    "progress": "tool_progress tool_progress_parallel",
    "tool confirmation": "approval_approved approval_denied approval_several approval_several_approved "
    "approval_dynamic approval_dynamic_denied approval_beside_settled_sibling approval_beside_client_tool "
    "approval_of_hidden_tool approval_superseded approval_twice approval_after_reload approval_in_branch",
    "long-running tool": "client_tool client_tool_beside_server_tool "
    "long_running_tool request_input request_input_in_workflow credential credential_with_secret",
    "`transfer_to_agent`": "transfer",
    "`set_model_response`": "output_schema_with_tools loop task_over_two_turns tools_all_hidden",
    "grounding": "grounding grounding_hidden citations",
    "inline data": "inline_image file_data",
    "code and its result": "code_execution code_execution_fails code_executor server_tool",
    "artifacts": "artifact_and_widget artifact_widget_and_state app_data workflow_fanout",
    "usage": "text two_turns max_tokens safety unknown_finish_reason",
    "errors": "error_at_once error_in_text error_in_call error_told_twice error_recovered error_in_second_agent "
    "error_in_workflow error_beside_branch tool_raises tool_raises_beside_sibling approval_then_tool_raises "
    "safety_at_once prompt_blocked malformed_call no_content empty_stream litellm_cut_call",
    "an aborted invocation": "abort_at_once abort_in_text abort_in_call abort_in_tool approval_then_abort interrupted",
    "anything unknown": "unknown_field unknown_part",
}
"""How a row of the table begins -> the fixtures that show it."""

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
    "data-weather": "app_data",
    "abort": "abort_at_once",
    "error": "error_at_once",
}
"""Chunk type -> a fixture that has one."""

OLD_ADKS = ("1_24", "2_0", "2_5", "2_9")


def rows() -> Iterator[str]:
    table = README.read_text(encoding="utf-8").split("\n## What becomes what\n")[1].split("\n## ")[0]
    yield from re.findall(r"^\| (?!ADK \|)(.*?) \|", table, re.MULTILINE)


def test_every_row_of_the_table_has_fixtures_and_there_is_no_other_row() -> None:
    assert [row[: len(begin)] for row, begin in zip(rows(), ROWS, strict=True)] == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_the_fixtures_of_a_row_are_there(row: str) -> None:
    assert set(ROWS[row].split()) <= set(fixture_names())


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
