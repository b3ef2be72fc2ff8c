"""Creates recordings of this package, and reads them only with ``json``."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import EventOrDict

Json = dict[str, Any]
E = TypeVar("E", bound=EventOrDict)


@dataclass
class Written:
    """One turn of a file."""

    request: Json | None
    message_id: str | None
    options: Json
    events: list[Event] = field(default_factory=list)
    chunks: list[Json] = field(default_factory=list)
    end: str | None = None
    times: list[float] = field(default_factory=list)


def lines(path: Path) -> list[Json]:
    """Return every line of the file. All lines must be complete."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def turns(path: Path) -> list[Written]:
    """Return the turns of the file."""
    header, *rest = lines(path)
    assert header["adk_ui_stream_recording"] == 1
    found: list[Written] = []
    for line in rest:
        match [key for key in line if key != "at"]:
            case ["turn"]:
                found.append(Written(**line["turn"]))
            case ["event"]:
                found[-1].events.append(Event.model_validate(line["event"]))
            case ["chunk"]:
                found[-1].chunks.append(line["chunk"])
            case ["end"]:
                found[-1].end = line["end"]
            case _:
                raise AssertionError(line)
        found[-1].times.append(line["at"])
    return found


def texts(turn: Written) -> list[str | None]:
    """Return the texts of the turn's events, with one text for each event."""
    parts = [event.content.parts for event in turn.events if event.content is not None]
    return [own[0].text for own in parts if own]


def files(folder: Path) -> list[Path]:
    """Return the files in the folder, by name."""
    return sorted(folder.iterdir())


def said(text: str, *, partial: bool = False, author: str = "root", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(invocation_id="e-1", author=author, partial=partial or None, content=content, **fields)


async def source(events: Iterable[E]) -> AsyncIterator[E]:
    for event in events:
        yield event


async def drained(events: AsyncIterable[Event]) -> list[Event]:
    return [event async for event in events]


class Ticks:
    """Clock that advances by half a second with each reading."""

    def __init__(self) -> None:
        self._now = 1000.0

    def __call__(self) -> float:
        self._now += 0.5
        return self._now
