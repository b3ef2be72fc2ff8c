"""The files in a fleet's folder: the tools' records, the doors at which the agent waits, and the workers' reports."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOOL_LOG: Final = "tools.jsonl"
DOORS: Final = "doors"


def report_file(pid: int, folder: Path) -> Path:
    """The file in which the worker with this process id reports its state, if it does: see ``tests/soak/agent.py``."""
    return folder / f"report-{pid}.jsonl"


@dataclass(frozen=True)
class ToolRun:
    """A run of a tool."""

    tool: str
    chat: str
    key: str
    at: float
    """By the machine's monotonic clock, which all processes share."""


class ToolLog:
    """The tool runs and doors in the folder, for tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tool_runs: dict[str, list[ToolRun]] = {}
        self._read = 0
        (folder / DOORS).mkdir()
        (folder / TOOL_LOG).touch()

    def open(self, key: str) -> None:
        """Lets the agent continue that waits at this door."""
        (self.folder / DOORS / key).touch()

    def tool_runs(self, chat: str) -> list[ToolRun]:
        """The tools that have run in this chat. Reads only the lines since the last call."""
        with (self.folder / TOOL_LOG).open("rb") as tool_log:
            tool_log.seek(self._read)
            for line in tool_log:
                tool_run = ToolRun(**json.loads(line))
                self._tool_runs.setdefault(tool_run.chat, []).append(tool_run)
            self._read = tool_log.tell()
        return [*self._tool_runs.get(chat, ())]
