"""Files in a fleet's folder: records of tools and prompts, doors at which the agent waits, reports of the workers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOOL_LOG: Final = "tools.jsonl"
DOORS: Final = "doors"
PROMPTS: Final = "prompts.jsonl"
"""The user's texts in each prompt of ``steered_agent``."""


def report_file(pid: int, folder: Path) -> Path:
    """Return the file in which the worker with this process id reports its state: see ``tests/soak/agent.py``."""
    return folder / f"report-{pid}.jsonl"


def door_before_call(chat: str) -> str:
    """Return the key of the door at which ``steered_agent`` waits before a model call that follows a tool.

    The result of the tool is stored then, and the model call has not read any steering message.
    """
    return f"{chat}.call"


@dataclass(frozen=True)
class ToolRun:
    """Recorded run of a tool."""

    tool: str
    chat: str
    key: str
    at: float
    """Start time by the machine's monotonic clock, which all processes share."""


class ToolLog:
    """Tool runs and doors in the folder, for tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tool_runs: dict[str, list[ToolRun]] = {}
        self._read = 0
        (folder / DOORS).mkdir()
        (folder / TOOL_LOG).touch()

    def open(self, key: str) -> None:
        """Let the agent that waits at this door continue."""
        (self.folder / DOORS / key).touch()

    def tool_runs(self, chat: str) -> list[ToolRun]:
        """Return the tools that have run in this chat. Reads only the lines since the last call."""
        with (self.folder / TOOL_LOG).open("rb") as tool_log:
            tool_log.seek(self._read)
            for line in tool_log:
                tool_run = ToolRun(**json.loads(line))
                self._tool_runs.setdefault(tool_run.chat, []).append(tool_run)
            self._read = tool_log.tell()
        return [*self._tool_runs.get(chat, ())]

    def prompts(self, chat: str) -> list[list[str]]:
        """Return the user's texts in each prompt of a chat, whose first message ends with the id of the chat."""
        read: list[list[str]] = [*map(json.loads, (self.folder / PROMPTS).read_text().splitlines())]
        return [texts for texts in read if texts[0].endswith(chat)]
