"""The assessment of a soak can fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak.record import MAX_GROWTH, MAX_MORE_BLOCKS, WARM_UP, Record, left_behind, load_record, recorded
from tests.soak.watch import Look, Moment
from website import soak

SECONDS = 600


def look(**changed: object) -> Look:
    numbers: dict[str, object] = {"memory": 150.0, "blocks": 10**6, "clients": 0, "stores": 9, "files": 16}
    numbers |= {"threads": 3, "lag": 5.0}
    return Look(**{**numbers, "tasks": {"main": 1}, **changed})  # type: ignore[arg-type]  # what a test says is right


def record(number: str, of: Callable[[int], float]) -> Record:
    """Of ten minutes in which a worker has so much."""
    moments = [
        Moment(float(second), second * 5, 2.0, 300, [look(**{number: of(second)}), None]) for second in range(SECONDS)
    ]
    return recorded(moments, deaths=[60.0])


@pytest.mark.parametrize(
    ("memory", "passes"),
    [
        pytest.param(lambda second: 150.0, True, id="flat"),
        pytest.param(lambda second: 150 + min(second, SECONDS * WARM_UP) / 5, True, id="grows while it warms up"),
        pytest.param(lambda second: 150.0 + 500 * (second == SECONDS - 1), True, id="one look at a moment's peak"),
        pytest.param(lambda second: 150 + 25 * 5 * second / 1024, False, id="25 KiB for each chat"),
    ],
)
def test_memory_that_grows_with_the_chats_is_found(memory: Callable[[int], float], passes: bool) -> None:
    assert (record("memory", memory).growth <= MAX_GROWTH) is passes


@pytest.mark.parametrize(
    ("blocks", "passes"),
    [
        pytest.param(lambda second: 10**6 + 50_000 * (second % 2), True, id="more when more runs go on"),
        pytest.param(lambda second: 10**6 + 50 * 5 * second, False, id="50 for each chat"),
    ],
)
def test_objects_that_become_more_with_the_chats_are_found(blocks: Callable[[int], float], passes: bool) -> None:
    assert (record("blocks", blocks).more_blocks <= MAX_MORE_BLOCKS) is passes


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (look(stores=20, lag=900.0, memory=200.0), []),
        (look(tasks={"main": 1, "copy": 2}), ["tasks: {'copy': 2}"]),
        (look(clients=1), ["1 connections to clients"]),
        (look(files=17), ["17 open files, 16 before"]),
    ],
    ids=["what pools keep", "tasks", "connections", "files"],
)
def test_what_is_left_behind_is_named(after: Look, said: list[str]) -> None:
    assert left_behind(look(), after) == said


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    whole = record("memory", lambda second: 150.0)
    whole.write(tmp_path / "record.json")
    assert load_record(tmp_path / "record.json") == whole


def test_the_picture_is_that_of_the_record() -> None:
    drawn = soak.curves(load_record(soak.RECORDED))
    assert soak.PICTURE.read_text(encoding="utf-8") == drawn, "python -m website.soak FILE"
