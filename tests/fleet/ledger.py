"""The files in a fleet's folder: the tools' records, the doors at which the agent waits, and the workers' reports."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LEDGER: Final = "ledger.jsonl"
DOORS: Final = "doors"


def told_by(pid: int, folder: Path) -> Path:
    """The file in which the worker with this process id reports its state, if it does: see ``tests/soak/agent.py``."""
    return folder / f"told-by-{pid}.jsonl"


@dataclass(frozen=True)
class Deed:
    """A tool ran."""

    tool: str
    chat: str
    key: str
    at: float
    """By the machine's monotonic clock, which all processes share."""


class Ledger:
    """The folder, as a test sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._deeds: dict[str, list[Deed]] = {}
        self._read = 0
        (folder / DOORS).mkdir()
        (folder / LEDGER).touch()

    def open(self, key: str) -> None:
        """Lets the agent go on that waits behind this door."""
        (self.folder / DOORS / key).touch()

    def deeds(self, chat: str) -> list[Deed]:
        """The tools that have run in this chat. Reads only the lines since the last call."""
        with (self.folder / LEDGER).open("rb") as ledger:
            ledger.seek(self._read)
            for line in ledger:
                deed = Deed(**json.loads(line))
                self._deeds.setdefault(deed.chat, []).append(deed)
            self._read = ledger.tell()
        return [*self._deeds.get(chat, ())]
