"""What a fleet's folder holds: what the tools did, and the doors behind which the agent waits."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LEDGER: Final = "ledger.jsonl"
DOORS: Final = "doors"


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
        (folder / DOORS).mkdir()
        (folder / LEDGER).touch()

    def open(self, key: str) -> None:
        """Lets the agent go on that waits behind this door."""
        (self.folder / DOORS / key).touch()

    def deeds(self, chat: str | None = None) -> list[Deed]:
        """What ran so far, in this chat or in all."""
        lines = (self.folder / LEDGER).read_text().splitlines()
        deeds = [Deed(**json.loads(line)) for line in lines]
        return [deed for deed in deeds if chat in (None, deed.chat)]
