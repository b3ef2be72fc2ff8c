"""docs/events.md: what becomes of each kind of ADK event, beside a recording that shows it.

``python -m website.events`` writes the page. Its last column is what the converter makes of the recording.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tests.conformance.fixtures import load_fixture
from website.paths import DOCS, ROOT

PAGE: Final = ROOT / DOCS / "events.md"
FRAME: Final = frozenset({"start", "start-step", "finish-step", "finish"})
"""Chunks that are in every stream: the page says so once."""


@dataclass(frozen=True)
class Row:
    """``event``: what ADK says. ``becomes``: what the client gets. ``fixtures``: their names, the shown one first."""

    event: str
    becomes: str
    fixtures: str

    @property
    def shown(self) -> str:
        return self.fixtures.split()[0]


ROWS: Final = (
    Row(
        "text, streamed",
        "one text part for each segment and speaker (agent, branch, node): `text-start`, `text-delta`, `text-end`. "
        "`providerMetadata.adk` says who speaks. The aggregate at the end repeats nothing",
        "text aggregate_longer aggregate_reordered redacted code_executor no_parts",
    ),
    Row("text, whole", "the same, with one `text-delta`", "text_none"),
    Row("agents side by side", "a text part for each; they never mix", "parallel_agents"),
    Row(
        "thoughts",
        "`reasoning-start`, `reasoning-delta`, `reasoning-end`; signatures are in "
        "`providerMetadata.google.thoughtSignature`",
        "thoughts thoughts_hidden thought_only text_around_thought thought_then_call",
    ),
    Row(
        "function call",
        "`tool-input-start`, `tool-input-available`. `toolCallId` is ADK's id, or `<id>.2` if an earlier call of the "
        "chat has that, or `call_0` if there is none",
        "text_tool_text tool_none tool_without_arguments parallel_calls_of_one_tool no_ids no_call_ids "
        "no_response_ids old_id_changes_to_aggregate old_fresh_id_per_fragment old_first_fragment_misrouted",
    ),
    Row(
        "[streamed arguments](streamed-arguments.md)",
        "`tool-input-delta`, whose concatenation is the JSON of the final input",
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
        "[tool confirmation](approvals.md), approved",
        "`tool-approval-request`; after the answer `tool-output-available`, in the same message",
        "approval_approved approval_several approval_several_approved approval_beside_settled_sibling "
        "approval_beside_client_tool approval_of_hidden_tool approval_superseded approval_twice approval_after_reload "
        "approval_in_branch",
    ),
    Row("tool confirmation, denied", "`tool-approval-request`, then `tool-output-denied`", "approval_denied"),
    Row(
        "confirmation that the tool asks for by itself",
        "also `data-adk-confirmation` (`toolCallId`, `hint`, `payload`)",
        "approval_dynamic",
    ),
    Row(
        "what such a tool returned although it was denied",
        "`data-adk-denial` (`toolCallId`, `output`): a client refuses an output on a denied call",
        "approval_dynamic_denied",
    ),
    Row(
        "[long-running tool](client-tools.md)",
        "`tool-input-available`, left for the page to answer",
        "client_tool client_tool_beside_server_tool long_running_tool",
    ),
    Row(
        "`adk_request_input`",
        "`tool-input-available`, left for the page to answer",
        "request_input request_input_in_workflow",
    ),
    Row(
        "`adk_request_credential`",
        "`tool-input-available` with only what a browser may see",
        "credential credential_with_secret",
    ),
    Row("`transfer_to_agent`", "one `data-adk-agent`; the call is hidden", "transfer"),
    Row(
        "`set_model_response`, `exit_loop`, `finish_task`; delegation to a task agent, where it is known",
        "hidden: see [`hidden_tools`](options.md#of-the-converter)",
        "output_schema_with_tools loop task_over_two_turns tools_all_hidden",
    ),
    Row("grounding", "`source-url`, `source-document`, once each", "grounding grounding_hidden"),
    Row("citations", "`source-url`, once each", "citations"),
    Row("inline data, http(s) files", "`file`", "inline_image"),
    Row("`gs://` files", "`data-adk-file`", "file_data"),
    Row(
        "code and its result",
        "a call of `code_execution`, dynamic and executed by the provider: `tool-input-available`, "
        "`tool-output-available`",
        "code_execution code_execution_fails code_executor server_tool",
    ),
    Row("artifacts, UI widgets", "`data-adk-artifact`, `data-adk-ui-widget`", "artifact_and_widget"),
    Row("[the app's own data](data.md)", "`data-<name>`", "app_data"),
    Row("output of a workflow's node", "`data-adk-output`", "workflow_fanout"),
    Row(
        "session state",
        "with [`send_state`](options.md#of-the-converter) `data-adk-state`; the replay server has it off",
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
# What becomes what

Each row is a kind of ADK event, what the client gets for it, and a recording that shows it. Below the recording is what
the converter makes of it: of each turn the chunks in order, without `start`, `start-step`, `finish-step` and `finish`,
which frame every response, and `[DONE]`. This page is generated, and a test holds it to the converter.

Download a recording and open it in the page, which plays it turn by turn:

```sh
adk-ui-stream serve --replay parallel_agents.jsonl
```

Or drop it on the page of a server that has [the Inspector](inspector.md), as `make demo` has: each event then stands
beside the chunks that it became.

An agent behind A2A (`RemoteA2aAgent`) is shown as one that runs here; its data parts become `data-adk-data`, and a task
that failed an error. What no page can show faithfully is in [a table](decisions/what-a-message-cannot-show.md).

<div class="chunks" markdown>

| ADK | AI SDK | Recording, and its chunks |
|---|---|---|
"""


def turns(fixture: str) -> Iterator[list[str]]:
    """The types of the chunks of each turn, in order, as a v6 client gets them."""
    for chunks in load_fixture(fixture).convert(6):
        yield [chunk["type"] for chunk in chunks]


def page() -> str:
    """The page in Markdown."""
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
