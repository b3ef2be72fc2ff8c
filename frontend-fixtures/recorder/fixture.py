"""A recorded turn, and the files of a fixture. Does not import ADK: recorders with any ADK version use it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[1] / "fixtures"

Action = dict[str, Any]
"""User's action on the page: ``{text}``, ``{approve, approved, reason?}``, ``{answer, output}``, ``{reload}``."""

JsonEvent = dict[str, Any]


@dataclass(frozen=True)
class RecordedTurn:
    actions: list[Action]
    events: list[JsonEvent]
    raised: str | None


def write_fixture(name: str, description: str, options: Mapping[str, Any], turns: Sequence[RecordedTurn]) -> None:
    """Write ``turnN.jsonl`` and ``fixture.json``. Deletes turns of an earlier recording."""
    folder = FIXTURES / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("turn*.jsonl"):
        old.unlink()
    for number, turn in enumerate(turns, 1):
        lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in turn.events)
        (folder / f"turn{number}.jsonl").write_text("".join(lines), encoding="utf-8")
    about = {
        "description": description,
        "options": options,
        "turns": [{"actions": turn.actions, "raised": turn.raised} for turn in turns],
    }
    (folder / "fixture.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
