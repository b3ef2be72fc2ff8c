"""The known-bad streams: one file for each rule, and the expected findings of ``check``."""

import json
from pathlib import Path
from typing import Any

from stream_protocol.check import Rule

FOLDER = Path(__file__).parents[2] / "frontend-fixtures" / "bad-streams"

EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
"""Rule -> the findings in its file, in order; the rule's own is among them."""

FATAL = {
    Rule.EMPTY_DATA,
    Rule.INVALID_JSON,
    Rule.NOT_A_NUMBER,
    Rule.FORBIDDEN_KEY,
    Rule.MISSING_BLANK_LINE,
    Rule.NOT_A_CHUNK,
    Rule.UNKNOWN_TYPE,
    Rule.V7_ONLY_TYPE,
    Rule.MISSING_KEY,
    Rule.NULL_KEY,
    Rule.WRONG_VALUE,
    Rule.FINISH_REASON,
    Rule.TEXT_NOT_STARTED,
    Rule.INPUT_NOT_STARTED,
    Rule.UNKNOWN_CALL,
    Rule.UNKNOWN_APPROVAL,
    Rule.METADATA,
    Rule.CONTINUED_UNDER_NEW_ID,
}
"""The rules whose breach kills the client."""


def path(rule: Rule) -> Path:
    return FOLDER / f"{rule}.sse"
