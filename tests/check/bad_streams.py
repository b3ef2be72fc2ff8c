"""Invalid streams: one file for each rule, and the expected findings of ``check``."""

import json
from pathlib import Path
from typing import Any

from stream_protocol.check import Rule

FOLDER = Path(__file__).parents[2] / "frontend-fixtures" / "bad-streams"

EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
"""Rule -> findings in its file, in order. They include a finding of this rule."""

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
"""Rules whose violation stops the client."""


def path(rule: Rule) -> Path:
    return FOLDER / f"{rule}.sse"
