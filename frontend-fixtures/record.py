"""Records the scenarios into ``fixtures/``: ``python frontend-fixtures/record.py [NAME …]``.

Writes ``turnN.jsonl`` (one event a line) and ``fixture.json``. What the converter makes of them is written by build.py.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from recorder.agents import AGENTS
from recorder.approvals import APPROVALS
from recorder.endings import ENDINGS
from recorder.media import MEDIA
from recorder.old import OLD
from recorder.openai_shape import LITELLM
from recorder.scenario import RecordedTurn, Scenario, record
from recorder.texts import TEXTS
from recorder.tools import TOOLS

SCENARIOS = (*TEXTS, *TOOLS, *LITELLM, *APPROVALS, *AGENTS, *MEDIA, *ENDINGS, *OLD)
FIXTURES = Path(__file__).parent / "fixtures"


def write(scenario: Scenario, turns: Sequence[RecordedTurn]) -> None:
    folder = FIXTURES / scenario.name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("turn*.jsonl"):
        old.unlink()
    for number, turn in enumerate(turns, 1):
        lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in turn.events)
        (folder / f"turn{number}.jsonl").write_text("".join(lines), encoding="utf-8")
    about = {
        "description": scenario.description,
        "options": scenario.options,
        "turns": [{"actions": turn.actions, "raised": turn.raised} for turn in turns],
    }
    (folder / "fixture.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main(names: Sequence[str]) -> None:
    unknown = set(names) - {scenario.name for scenario in SCENARIOS}
    if unknown:
        sys.exit(f"no such scenario: {', '.join(sorted(unknown))}")
    for scenario in SCENARIOS:
        if not names or scenario.name in names:
            write(scenario, asyncio.run(record(scenario)))


if __name__ == "__main__":
    main(sys.argv[1:])
