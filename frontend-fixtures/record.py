"""Records the scenarios into ``fixtures/``: ``python frontend-fixtures/record.py [NAME …]``.

Writes ``turnN.jsonl`` (one event per line) and ``fixture.json``. Then run build.py, which writes the expected streams.
"""

import asyncio
import sys
from collections.abc import Sequence

from recorder.agents import AGENTS
from recorder.approvals import APPROVALS
from recorder.endings import ENDINGS
from recorder.fixture import write_fixture
from recorder.media import MEDIA
from recorder.old import OLD
from recorder.openai_shape import LITELLM
from recorder.scenario import record
from recorder.texts import TEXTS
from recorder.tools import TOOLS

SCENARIOS = (*TEXTS, *TOOLS, *LITELLM, *APPROVALS, *AGENTS, *MEDIA, *ENDINGS, *OLD)


def main(names: Sequence[str]) -> None:
    unknown = set(names) - {scenario.name for scenario in SCENARIOS}
    if unknown:
        sys.exit(f"no such scenario: {', '.join(sorted(unknown))}")
    for scenario in SCENARIOS:
        if not names or scenario.name in names:
            turns = asyncio.run(record(scenario))
            write_fixture(scenario.name, scenario.description, scenario.options, turns)


if __name__ == "__main__":
    main(sys.argv[1:])
