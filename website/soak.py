"""Draws docs/images/soak.svg: ``python -m website.soak FILE``, with the file that ``make suite NAME=soak`` has
recorded.
"""

import sys
from pathlib import Path
from typing import Final

from tests.soak.record import Record, load_record
from website.curves import Curve, Panel, picture
from website.paths import ROOT

RECORDED: Final = ROOT / "bench" / "soak.json"
PICTURE: Final = ROOT / "docs" / "images" / "soak.svg"
NAMES: Final = ("the worker that stays", "the worker that dies")


def curves(record: Record) -> str:
    """Return the SVG of a soak test."""
    minutes = [second / 60 for second in record.seconds]

    def of_workers(number: str) -> list[Curve]:
        return [Curve(name, worker[number]) for name, worker in zip(NAMES, record.workers, strict=True)]

    panels = [
        Panel("Memory, MiB", of_workers("memory")),
        Panel("Chats begun", [Curve("", record.chats)]),
        Panel("Connections of clients", of_workers("clients")),
        Panel("Event loop late by, ms, the worst of each second", of_workers("lag")),
        Panel("Keys in Redis", [Curve("", record.keys)]),
        Panel("Load of the machine, which has two cores and other work", [Curve("", record.load)]),
    ]
    return picture(
        "A soak: two workers, one of them killed again and again",
        minutes,
        panels,
        [death / 60 for death in record.deaths],
    )


if __name__ == "__main__":
    RECORDED.write_bytes(Path(sys.argv[1]).read_bytes())
    PICTURE.write_text(curves(load_record(RECORDED)), encoding="utf-8")
