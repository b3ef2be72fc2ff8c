"""Times in the Inspector: durations, the waterfall and its axis, without a browser."""

from typing import Any, Final

import pytest

from tests.batch import batch
from tests.pages.components import in_node
from tests.processes import ROOT

pytestmark = [pytest.mark.pages, pytest.mark.node]

SOURCE: Final = ROOT / "server" / "page" / "src" / "inspector"

TURN: Final[dict[str, Any]] = {"turn": {"request": None, "message_id": None}, "at": 0}
CALL: Final[dict[str, Any]] = {
    "at": 0.52,
    "event": {
        "author": "guide",
        "content": {"role": "model", "parts": [{"functionCall": {"name": "look_up", "id": "c1", "args": {}}}]},
    },
}
PROMPT: Final[dict[str, Any]] = {"call": 1, "agent": "guide", "contents": [], "tools": [], "config": {}}


def said(text: str) -> dict[str, Any]:
    return {"at": 0, "event": {"author": "user", "content": {"role": "user", "parts": [{"text": text}]}}}


def timing(*entries: dict[str, Any]) -> Any:
    body = """
    const { addToRows } = await load("entries.ts");
    return (await load("timing.ts")).timingOf(addToRows([], given)) ?? null;
    """
    return in_node(body, entries, SOURCE)


def test_a_turn_takes_as_long_as_its_last_span() -> None:
    asked = {"at": 0.076, "prompt": PROMPT}
    answered = {"at": 0.533, "answer": {"call": 1, "seconds": 0.467}}
    found = timing(TURN, asked, CALL, answered, {"at": 0.536, "end": "finish"})
    assert found["total"] == pytest.approx(0.543)
    assert all(span["to"] <= found["total"] for span in found["spans"])
    [waiting] = [span for span in found["spans"] if span["isTool"]]
    assert waiting["state"] == "waiting"
    assert waiting["to"] == found["total"]


def test_a_bar_has_the_measured_duration_of_its_model_call() -> None:
    asked = {"at": 0.4753, "prompt": PROMPT}
    found = timing(TURN, asked, CALL, {"at": 1.1, "answer": {"call": 1, "seconds": 0.6035}})
    [model] = [span for span in found["spans"] if not span["isTool"]]
    assert model["took"] == 0.6035


SECONDS: Final[dict[str, Any]] = {
    "nothing": (0, "0 ms"),
    "a part of a millisecond": (0.00024, "0.2 ms"),
    "nearly a millisecond": (0.00096, "1 ms"),
    "milliseconds": (0.0214, "21 ms"),
    "nearly a second": (0.9996, "1.00 s"),
    "seconds": (12.345, "12.35 s"),
}


@batch(given=SECONDS)
def test_a_duration_is_never_rounded_to_a_thousand_milliseconds(given: tuple[float, str]) -> None:
    seconds, text = given
    assert in_node('return (await load("entries.ts")).inSeconds(given);', seconds, SOURCE) == text


def test_no_two_marks_of_an_axis_have_the_same_text() -> None:
    totals = [0.0001, 0.0004, 0.001, 0.003, 0.0275, 0.135, 0.5, 0.9999, 1, 1.17, 2.5, 59, 3600]
    body = 'const { marksOf } = await load("timing.ts"); return given.map(marksOf);'
    for total, marks in zip(totals, in_node(body, totals, SOURCE), strict=True):
        texts = [mark["text"] for mark in marks]
        assert 3 <= len(texts) <= 6, (total, texts)
        assert len({*texts}) == len(texts), (total, texts)
        assert len({text.split(" ")[-1] for text in texts[1:]}) == 1
        assert 0 <= marks[-1]["at"] <= total * 1.000001


ASKED: Final[dict[str, Any]] = {
    "a recording without requests": ([TURN, said("pay 5")], "pay 5"),
    "a capture": ([TURN, {"chunk": {"type": "start"}}], "without its user message"),
    "an answer": (
        [
            TURN,
            {
                "at": 0,
                "event": {
                    "author": "user",
                    "content": {"parts": [{"functionResponse": {"name": "pay", "id": "c1", "response": {}}}]},
                },
            },
        ],
        "an answer to the agent's calls",
    ),
}


@batch(given=ASKED)
def test_a_turn_without_its_request_has_the_words_of_its_first_event(given: tuple[list[Any], str]) -> None:
    entries, text = given
    body = """
    const { addToRows, askedBy } = await load("entries.ts");
    const rows = addToRows([], given);
    return askedBy(rows[0].entry.turn, rows);
    """
    assert in_node(body, entries, SOURCE) == text
