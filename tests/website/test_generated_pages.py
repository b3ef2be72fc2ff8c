"""docs/options.md agrees with the docstrings, and docs/events.md with the converter."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, is_typeddict

import pytest

from stream_protocol import ConverterOptions
from stream_protocol.recording import load_recording, replay
from stream_protocol.serving import ServiceOptions
from tests.conformance.fixtures import load_fixture
from website import events, options
from website.events import ROWS, Row
from website.paths import recording

CHUNK: Final = re.compile(r"`((?:text|reasoning|tool|source|data)-[a-z-]+|file|error|abort|finish)`")
"""The type of a chunk, in Markdown."""

OWNERS: Final = [owner for owner, _ in options.SECTIONS.values()]


@pytest.mark.parametrize("made", [events, options], ids=["events", "options"])
def test_the_page_is_as_it_would_be_made_now(made: Any) -> None:
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), f"python -m {made.__name__}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.shown)
def test_a_row_names_only_chunks_that_its_recording_has(row: Row) -> None:
    shown = {name for names in events.turns(row.shown) for name in names}
    assert set(CHUNK.findall(row.becomes)) - shown == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.shown)
def test_the_recording_of_a_row_has_the_chunks_of_its_fixture(row: Row, tmp_path: Path) -> None:
    (file := tmp_path / "recording.jsonl").write_text(recording(row.shown), encoding="utf-8")
    stream = b"".join(replay(load_recording(file), **load_fixture(row.shown).options)).decode()
    shown = [name for names in events.turns(row.shown) for name in names]
    assert re.findall(r'^data: \{"type":"([^"]+)"', stream, re.MULTILINE) == shown


def test_each_kind_of_event_has_one_row() -> None:
    assert len({row.event for row in ROWS}) == len({row.shown for row in ROWS}) == len(ROWS)


def keywords(owner: type | Callable[..., Any]) -> list[str]:
    if owner is ServiceOptions:
        return [*ServiceOptions.__annotations__.keys() - ConverterOptions.__annotations__.keys()]
    if is_typeddict(owner):
        return [*owner.__annotations__]
    parameters = inspect.signature(owner).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_every_option_is_in_its_docstring_and_no_other(owner: type | Callable[..., Any]) -> None:
    assert sorted(name for name, _, _ in options.options_of(owner)) == sorted(keywords(owner))


def test_each_link_of_an_option_is_to_an_option() -> None:
    assert options.PAGES.keys() <= {name for owner in OWNERS for name in keywords(owner)}
