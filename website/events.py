"""Writes docs/events.md, the chunks of each kind of ADK event: ``python -m website.events``.

Each row links to a recording. Its last column has the converter's chunks for the recording.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tests.conformance.fixtures import load_fixture
from website.paths import DOCS, ROOT

PAGE: Final = ROOT / DOCS / "events.md"
FRAME: Final = frozenset({"start", "start-step", "finish-step", "finish"})
"""Chunks of every stream. The page mentions them once."""


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
        "text, streamed",
        "a text part for each segment and author (agent, branch, node): `text-start`, `text-delta`, `text-end`. "
        "`providerMetadata.adk` names the author. The complete event at the end repeats nothing",
        "text aggregate_longer aggregate_reordered redacted code_executor no_parts",
    ),
    Row("text, complete", "a text part with one `text-delta`", "text_none"),
    Row("parallel agents", "a text part for each agent", "parallel_agents"),
    Row(
        "thoughts",
        "`reasoning-start`, `reasoning-delta`, `reasoning-end`, with signatures in "
        "`providerMetadata.google.thoughtSignature`",
        "thoughts thoughts_hidden thought_only text_around_thought thought_then_call",
    ),
    Row(
        "function call",
        "`tool-input-start`, `tool-input-available`. `toolCallId` is ADK's id, `<id>.2` if an earlier call of the chat "
        "has this id, or `call_0` without an id",
        "text_tool_text tool_none tool_without_arguments parallel_calls_of_one_tool no_ids no_call_ids "
        "no_response_ids old_id_changes_to_aggregate old_fresh_id_per_fragment old_first_fragment_misrouted",
    ),
    Row(
        "[streamed arguments](streamed-arguments.md)",
        "`tool-input-delta`; joined, they are the JSON of the final input",
        "streamed_arguments streamed_arguments_nested streamed_arguments_interleaved "
        "streamed_arguments_out_of_order streamed_arguments_unclosed streamed_arguments_two_calls "
        "accumulated_arguments nameless_call nameless_call_named_later nameless_call_fits_schema "
        "nameless_call_hidden litellm_calls litellm_calls_without_finish_reason max_tokens_in_call",
    ),
    Row("function response", "`tool-output-available`", "tool_returns_text tool_missing_argument agent_tool"),
    Row('`{"error": …}` alone', "`tool-output-error`", "tool_error"),
    Row("MCP's `isError`", "`tool-output-error`", "tool_error_mcp"),
    Row("media in a function response", "`file`, after the output", "tool_draws"),
    Row(
        "progress of an async-generator tool",
        "preliminary `tool-output-available`, then the last one",
        "tool_progress tool_progress_parallel",
    ),
    Row(
        "[progress that a tool reports](tool-progress.md)",
        "`data-adk-progress` (`toolCallId`, `progress`, `total`, `message`) while the tool runs",
        "tool_reports",
    ),
    Row(
        "[tool confirmation](approvals.md), approved",
        "`tool-approval-request`; after the answer `tool-output-available`, in one message",
        "approval_approved approval_several approval_several_approved approval_beside_settled_sibling "
        "approval_beside_client_tool approval_of_hidden_tool approval_superseded approval_twice approval_after_reload "
        "approval_in_branch",
    ),
    Row("tool confirmation, denied", "`tool-approval-request`, then `tool-output-denied`", "approval_denied"),
    Row(
        "[why a tool asks](approvals.md#say-why)",
        "keys of `tool-approval-request`, or `data-adk-approval` (`toolCallId`, `reason`, `descriptor`)",
        "approval_with_reason",
    ),
    Row(
        "confirmation that a running tool requests",
        "also `data-adk-confirmation` (`toolCallId`, `hint`, `payload`)",
        "approval_dynamic",
    ),
    Row(
        "output of such a tool after a denial",
        "`data-adk-denial` (`toolCallId`, `output`), because clients reject an output of a denied call",
        "approval_dynamic_denied",
    ),
    Row(
        "[long-running tool](client-tools.md)",
        "`tool-input-available`, which the client answers",
        "client_tool client_tool_beside_server_tool long_running_tool",
    ),
    Row(
        "`adk_request_input`",
        "`tool-input-available`, which the client answers",
        "request_input request_input_in_workflow",
    ),
    Row(
        "`adk_request_credential`",
        "`tool-input-available`, without secrets",
        "credential credential_with_secret",
    ),
    Row("`transfer_to_agent`", "one `data-adk-agent`; the call is hidden", "transfer"),
    Row(
        "`set_model_response`, `exit_loop`, `finish_task`; delegation to a known task agent",
        "hidden: see [`hidden_tools`](options.md#of-the-converter)",
        "output_schema_with_tools loop task_over_two_turns tools_all_hidden",
    ),
    Row(
        "[grounding](citations.md)",
        "`source-url`, `source-document`, once each; `data-adk-search-suggestions`; citations as below",
        "grounding grounding_places grounding_hidden",
    ),
    Row(
        "[citations](citations.md)",
        "`source-url`, once each; the place in `data-adk-citations`, and since `ai` 7.0.138 on `text-end`",
        "citations",
    ),
    Row("inline data, http(s) files", "`file`", "inline_image"),
    Row("`gs://` files", "`data-adk-file`", "file_data"),
    Row(
        "code and its result",
        "a dynamic, provider-executed call of `code_execution`: `tool-input-available`, `tool-output-available`",
        "code_execution code_execution_fails code_executor server_tool",
    ),
    Row("artifacts, UI widgets", "`data-adk-artifact`, `data-adk-ui-widget`", "artifact_and_widget"),
    Row("[custom data](data.md)", "`data-<name>`", "app_data"),
    Row("[compaction](citations.md#compaction-and-retries)", "`data-adk-compaction`", "compaction"),
    Row("[retry](citations.md#compaction-and-retries) of a node", "`data-adk-retry`, before the next attempt", "retry"),
    Row(
        "a [message of the user](steering.md) that the run takes in",
        "`steering-message`; `data-adk-steering` (`id`, `parts`) for clients before 7.0.163",
        "steering",
    ),
    Row("output of a workflow's node", "`data-adk-output`", "workflow_fanout"),
    Row(
        "session state",
        "`data-adk-state` with [`send_state`](options.md#of-the-converter), which is off in the replay server",
        "artifact_widget_and_state",
    ),
    Row(
        "usage, model, finish reason",
        "`finish`: `finishReason`, and `messageMetadata` with `usage` (cumulative over the message) and `modelId`",
        "two_turns text max_tokens safety unknown_finish_reason",
    ),
    Row(
        "error",
        "what is open is closed, then one masked `error`",
        "error_in_text error_at_once error_in_call error_told_twice error_recovered error_in_second_agent "
        "error_in_workflow error_beside_branch safety_at_once prompt_blocked malformed_call no_content empty_stream",
    ),
    Row(
        "a tool that raises",
        '`tool-output-error` on its call, which says "The tool failed." and nothing of what was raised. Calls beside '
        "it that did not finish say so. Then the run's one `error`",
        "tool_raises tool_raises_beside_sibling approval_then_tool_raises",
    ),
    Row("a call whose arguments cannot be read", "`tool-input-error`", "litellm_cut_call"),
    Row(
        "an aborted invocation",
        "`abort`",
        "abort_in_text abort_at_once abort_in_call abort_in_tool approval_then_abort interrupted",
    ),
    Row("anything unknown", "skipped, and logged once", "unknown_part unknown_field"),
)

HEAD: Final = """\
# Events

Each row shows a kind of ADK event, the chunks that the client receives, and a recording. The last column lists the
recording's chunks for each turn, without `start`, `start-step`, `finish-step`, `finish` and `[DONE]`, which every
response has. This page is generated from the converter.

To see a recording in the built-in chat, download it and run:

```sh
adk-ui-stream serve --replay parallel_agents.jsonl
```

Or drop the file on a server with [the Inspector](inspector.md), such as `adk-ui-stream demo`: it shows each event
beside its chunks.

An agent behind A2A (`RemoteA2aAgent`) looks like a local one. Its data parts become `data-adk-data`, and a failed task
becomes an error.
Some events [cannot be shown exactly](decisions/what-a-message-cannot-show.md).

<div class="chunks" markdown>

| ADK | AI SDK | Recording, and its chunks |
|---|---|---|
"""


def turns(fixture: str) -> Iterator[list[str]]:
    """Yield the chunk types of each turn, in order, as a v6 client gets them."""
    for chunks in load_fixture(fixture).convert(6):
        yield [chunk["type"] for chunk in chunks]


def page() -> str:
    """Return the page in Markdown."""
    return HEAD + "".join(_line(row) for row in ROWS) + "\n</div>\n"


def _line(row: Row) -> str:
    recording = f"[{row.shown}](../frontend-fixtures/fixtures/{row.shown})"
    shown = "<br>then ".join(_shown(types) for types in turns(row.shown))
    return f"| {row.event} | {row.becomes} | {recording}:<br>{shown} |\n"


def _shown(types: list[str]) -> str:
    runs = [[*same] for _, same in groupby(name for name in types if name not in FRAME)]
    times = [f" \N{MULTIPLICATION SIGN} {len(run)}" if len(run) > 1 else "" for run in runs]
    return ", ".join(f"`{run[0]}`{many}" for run, many in zip(runs, times, strict=True)) or "nothing else"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
