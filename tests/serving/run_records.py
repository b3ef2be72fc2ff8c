"""A record of a run in the engine, for tests that need no run."""

from typing import Any

from stream_protocol.serving.engine import RunRecord


def run_record(**changes: Any) -> RunRecord:
    """Return the record of the run ``r1`` in Ann's chat ``c1``, with these changes."""
    values = {
        "id": "r1",
        "user_id": "ann",
        "chat_id": "c1",
        "request": {},
        "idempotency_key": "key",
        "chat_was_busy": False,
        "invocation_id": "i1",
        "found_events": 0,
        "state": {},
        "state_delta": {},
        "artifact_base": None,
    }
    return RunRecord(**{**values, **changes})
