"""The equality rules of the check of random kills."""

from typing import Any

import pytest

from stream_protocol.durable._durable_tool import UNFINISHED_TEXT
from tests.kills.checker import begins_with, compared, is_done
from tests.kills.kinds import KINDS, unlike
from tests.kills.visitor import Deletion, Reading

pytestmark = pytest.mark.kills


@pytest.mark.parametrize(
    ("state", "is_equal"),
    [("output-available", True), ("output-error", True), ("input-available", False), ("approval-requested", False)],
)
def test_an_empty_step_at_the_end_counts_where_a_call_waits(state: str, is_equal: bool) -> None:
    call: dict[str, Any] = {"type": "tool-where", "toolCallId": "c1", "state": state, "input": {}}
    parts: list[dict[str, Any]] = [{"type": "step-start"}, call]
    page, stored = (
        {"id": "a1", "role": "assistant", "parts": each} for each in (parts, [*parts, {"type": "step-start"}])
    )
    assert (compared(page) == compared(stored)) == is_equal


@pytest.mark.parametrize(
    ("stored", "shown", "begins"),
    [
        (["Well. "], ["We"], True),
        (["Well. ", "Done."], ["Well. "], True),
        (["Well. ", "Done."], ["We", "Done."], False),
        (["Well. "], ["Well. ", "Done."], False),
        (["Well. "], ["Done."], False),
        (["Well. "], [], True),
    ],
)
def test_what_is_stored_may_go_on_where_a_page_ends(stored: list[str], shown: list[str], begins: bool) -> None:
    def message(texts: list[str]) -> dict[str, Any]:
        return {"id": "a1", "role": "assistant", "parts": [{"type": "text", "text": text} for text in texts]}

    assert begins_with(message(stored), message(shown)) == begins


@pytest.mark.parametrize(("state", "is_right"), [("output-error", True), ("input-available", False)])
def test_a_model_goes_on_after_a_tool_that_did_not_come_to_ask_for_a_sign_in(state: str, is_right: bool) -> None:
    call = {"type": "tool-read_diary", "state": state, **({"errorText": UNFINISHED_TEXT} if is_right else {})}
    told = {"parts": [{"type": "text", "text": "Dear k0. "}, call, {"type": "text", "text": "Done k0."}]}
    assert (unlike(KINDS["diary"], "k0", told, whole=True) is None) == is_right


@pytest.mark.parametrize(
    ("statuses", "expected"), [((204,), True), ((0, 404), True), ((0, 204), True), ((404,), False), ((503, 404), False)]
)
def test_a_deletion_whose_answer_got_lost_is_done_if_the_chat_is_gone(
    statuses: tuple[int, ...], expected: bool
) -> None:
    readings = [
        Reading("DELETE", "/api/chat/c1", None, 1.0 + number, None, None, status, 80, "", None)
        for number, status in enumerate(statuses)
    ]
    assert is_done(Deletion(statuses[-1], 1.0, 9.0), readings) == expected
