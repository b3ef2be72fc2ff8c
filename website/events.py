"""Writes docs/events.md, the chunks of each kind of ADK event: ``python -m website.events``.

Each kind of event links to a recording.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.conformance.fixtures import load_fixture
from website.paths import DOCS, ROOT

PAGE: Final = ROOT / DOCS / "events.md"


@dataclass(frozen=True)
class Row:
    """Row of the page. ``event``: the ADK event. ``becomes``: its chunks. ``fixtures``: fixtures, the displayed fixture
    first.
    """

    event: str
    becomes: str
    fixtures: str

    @property
    def shown(self) -> str:
        return self.fixtures.split()[0]


ROWS: Final = (
    Row(
        "text",
        "`text-start`, `text-delta`, `text-end` for each continuous text of one author. An author is a "
        "combination of agent, branch and node. "
        "`providerMetadata.adk` names the author. After the partial events, ADK sends a complete event, which repeats "
        "the streamed text. Only its other text gives further chunks",
        "text text_none aggregate_longer aggregate_reordered redacted code_executor no_parts",
    ),
    Row("text of parallel agents", "a text part for each agent", "parallel_agents"),
    Row(
        "thoughts",
        "`reasoning-start`, `reasoning-delta`, `reasoning-end`, with `providerMetadata.google.thoughtSignature`",
        "thoughts thoughts_hidden thought_only text_around_thought thought_then_call",
    ),
    Row(
        "function call",
        "`tool-input-start`, `tool-input-available`. `toolCallId` is ADK's id. A repeated id becomes `<id>.2`, and a "
        "missing id becomes `call_0`, `call_1` and so on",
        "text_tool_text tool_none tool_without_arguments parallel_calls_of_one_tool no_ids no_call_ids "
        "no_response_ids old_id_changes_to_aggregate old_fresh_id_per_fragment old_first_fragment_misrouted",
    ),
    Row(
        "streamed arguments",
        "[`tool-input-delta`](streamed-arguments.md). The joined deltas are the JSON text of the complete input",
        "streamed_arguments streamed_arguments_nested streamed_arguments_interleaved "
        "streamed_arguments_out_of_order streamed_arguments_unclosed streamed_arguments_two_calls "
        "accumulated_arguments nameless_call nameless_call_named_later nameless_call_fits_schema "
        "nameless_call_hidden litellm_calls litellm_calls_without_finish_reason max_tokens_in_call",
    ),
    Row(
        "function response",
        "`tool-output-available`, then `file` for media",
        "tool_draws tool_returns_text tool_missing_argument agent_tool",
    ),
    Row(
        'function response with only `{"error": …}`, MCP result with `isError`',
        "`tool-output-error`",
        "tool_error tool_error_mcp",
    ),
    Row(
        "values of an async-generator tool",
        "a preliminary `tool-output-available` for each value, then a final `tool-output-available`",
        "tool_progress tool_progress_parallel",
    ),
    Row(
        "progress that a tool reports",
        "[`data-adk-progress`](tool-progress.md) (`toolCallId`, `progress`, `total`, `message`)",
        "tool_reports",
    ),
    Row(
        "tool confirmation, approved",
        "[`tool-approval-request`](approvals.md), then `tool-output-available` in the same message",
        "approval_approved approval_several approval_several_approved approval_beside_settled_sibling "
        "approval_beside_client_tool approval_of_hidden_tool approval_superseded approval_twice approval_after_reload "
        "approval_in_branch",
    ),
    Row("tool confirmation, denied", "`tool-approval-request`, then `tool-output-denied`", "approval_denied"),
    Row(
        "reason why a call needs approval",
        "[`reason`](approvals.md#say-why) and `approvalDescriptor` of `tool-approval-request`. Clients "
        "before `ai` 7.0.87 get `data-adk-approval` (`toolCallId`, `reason`, `descriptor`)",
        "approval_with_reason",
    ),
    Row(
        "confirmation requested inside a tool, approved",
        "`tool-approval-request`, [`data-adk-confirmation`](approvals.md#payloads) (`toolCallId`, `hint`, `payload`)",
        "approval_dynamic",
    ),
    Row(
        "confirmation requested inside a tool, denied",
        "`tool-approval-request`, then `tool-output-denied`. If the tool returns an output after the denial, "
        "`data-adk-denial` (`toolCallId`, `output`) has the output",
        "approval_dynamic_denied",
    ),
    Row(
        "long-running tool, `adk_request_input`",
        "`tool-input-available`. The [client sends the output](client-tools.md)",
        "client_tool client_tool_beside_server_tool long_running_tool request_input request_input_in_workflow",
    ),
    Row(
        "`adk_request_credential`",
        "`tool-input-available`, without secrets. The client sends the output",
        "credential credential_with_secret",
    ),
    Row("`transfer_to_agent`", "`data-adk-agent`", "transfer"),
    Row(
        "call of `set_model_response`, `exit_loop` or `finish_task`",
        'no chunk: see [`hidden_tools`](options.md#the-converter). With [`nested_agents="flat"`]'
        "(sub-agents.md#the-option), a call to a task agent also has no chunk",
        "output_schema_with_tools loop task_over_two_turns tools_all_hidden",
    ),
    Row(
        "grounding",
        "[`source-url`](citations.md) or `source-document`, `data-adk-search-suggestions`, and citations",
        "grounding grounding_places grounding_hidden",
    ),
    Row(
        "citations",
        "[`source-url`](citations.md), and `citations` of `text-end`. Clients before `ai` 7.0.138 get "
        "`data-adk-citations` instead of `citations`",
        "citations",
    ),
    Row("inline data, http(s) files", "`file`", "inline_image"),
    Row("`gs://` files", "`data-adk-file`", "file_data"),
    Row(
        "code and its result",
        "a dynamic, provider-executed call of `code_execution`",
        "code_execution code_execution_fails code_executor server_tool",
    ),
    Row("artifacts, UI widgets", "`data-adk-artifact`, `data-adk-ui-widget`", "artifact_and_widget"),
    Row("custom data", "[`data-<name>`](data.md)", "app_data"),
    Row("compaction", "[`data-adk-compaction`](citations.md#compaction-and-retries)", "compaction"),
    Row("retry of a node", "[`data-adk-retry`](citations.md#compaction-and-retries), before the next attempt", "retry"),
    Row(
        "user message to a running agent",
        "[`steering-message`](steering.md). Clients before `ai` 7.0.163 get `data-adk-steering` (`id`, `parts`) "
        "instead",
        "steering",
    ),
    Row("output of a workflow's node", "`data-adk-output`", "workflow_fanout"),
    Row(
        "session state",
        "`data-adk-state`, if [`send_state`](options.md#the-converter) is set",
        "artifact_widget_and_state",
    ),
    Row(
        "usage, model, finish reason",
        "`finish` with `finishReason` and `messageMetadata`. The metadata has `modelId`, and the `usage` of the whole "
        "message",
        "two_turns text max_tokens safety unknown_finish_reason",
    ),
    Row(
        "error",
        "the end chunk of each open part, then `error` without details",
        "error_in_text error_at_once error_in_call error_told_twice error_recovered error_in_second_agent "
        "error_in_workflow error_beside_branch safety_at_once prompt_blocked malformed_call no_content empty_stream",
    ),
    Row(
        "exception in a tool",
        '`tool-output-error` ("The tool failed.") for each unfinished call, then `error`',
        "tool_raises tool_raises_beside_sibling approval_then_tool_raises",
    ),
    Row("call with unreadable arguments", "`tool-input-error`", "litellm_cut_call"),
    Row(
        "aborted invocation",
        "`abort`",
        "abort_in_text abort_at_once abort_in_call abort_in_tool approval_then_abort interrupted",
    ),
    Row("unknown event or part", "no chunk. The converter logs a warning", "unknown_part unknown_field"),
)

HEAD: Final = """\
# Events

The table has the chunks of each kind of ADK event. Events of a `RemoteA2aAgent` give the same chunks as events of
a local agent. Data parts of a `RemoteA2aAgent` become `data-adk-data`, and a failed task becomes an error. A
message [cannot show some events exactly](decisions/what-a-message-cannot-show.md).

The first column links to recordings. To see a recording, download it and run:

```sh
adk-ui-stream serve --replay parallel_agents.jsonl --inspect
```

<div class="chunks" markdown>

| ADK | AI SDK |
|---|---|
"""


def turns(fixture: str) -> Iterator[list[str]]:
    """Yield the chunk types of each turn, in order, as a v6 client gets them."""
    for chunks in load_fixture(fixture).convert(6):
        yield [chunk["type"] for chunk in chunks]


def page() -> str:
    """Return the page in Markdown."""
    return HEAD + "".join(_line(row) for row in ROWS) + "\n</div>\n"


def _line(row: Row) -> str:
    return f"| [{row.event}](../frontend-fixtures/fixtures/{row.shown}) | {row.becomes} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
