"""The end that a page has received: from the engine's record, or from the run's log."""

from typing import Any

import pytest

from stream_protocol.serving.engine import ExecutionState, OrphanedRun, ToldEnd
from stream_protocol.serving.engine._run_ends import end_of_orphan
from stream_protocol.serving.runs._run import TOO_SLOW_TEXT
from stream_protocol.wire import SSE_DONE, encode_sse
from tests.serving.run_records import run_record


def orphan(*states: ExecutionState, **values: Any) -> OrphanedRun:
    executions = {f"e{number}": state for number, state in enumerate(states)}
    return OrphanedRun(record=run_record(), executions=executions, log_id="e0", **values)


def log(*chunks: Any) -> list[bytes]:
    return [encode_sse({"type": "start"}), *map(encode_sse, chunks)]


@pytest.mark.parametrize(
    ("written", "end"),
    [
        ([], None),
        (log({"type": "text-start", "id": "t"}), None),
        (log({"type": "abort"}), ToldEnd("abort")),
        (log({"type": "error", "errorText": "No."}), ToldEnd("error", "No.")),
        (log({"type": "error", "errorText": TOO_SLOW_TEXT}), ToldEnd("timeout", TOO_SLOW_TEXT)),
        (log({"type": "finish"}), ToldEnd("finish")),
    ],
)
@pytest.mark.parametrize("last", [[], [SSE_DONE]])
def test_a_log_has_the_end_of_its_last_chunk(written: list[bytes], last: list[bytes], end: Any) -> None:
    assert end_of_orphan(orphan("running"), [*written, *last]) == end


def test_a_recorded_end_of_any_execution_counts_before_the_log() -> None:
    finished = log({"type": "finish"})
    assert end_of_orphan(orphan("abort", "running", shown=("e1",)), finished) == ToldEnd("abort", "", ("e1",))
    assert end_of_orphan(orphan("left", "error", error_text="No."), []) == ToldEnd("error", "No.")
    assert end_of_orphan(orphan("left", "alone"), []) is None
