"""The rules of the check of random kills: equality, and the order of concurrent requests."""

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest

from stream_protocol.durable._durable_tool import UNFINISHED_TEXT
from tests.kills.checker import begins_with, compared
from tests.kills.kinds import KINDS, unlike
from tests.kills.possible_histories import is_done, possible_histories
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


def post(key: str, begun: float, answered: float | None = None, *, status: int = 200, again: bool = False) -> Reading:
    """Request with the user message of this key. ``again``: regenerates the reply to it."""
    message = {"id": key, "role": "user", "parts": [{"type": "text", "text": key}]}
    trigger = "regenerate-message" if again else "submit-message"
    body = json.dumps({"trigger": trigger, "messages": [message]})
    return Reading("POST", "/api/chat", body, begun, answered, None, status if answered else 0, 80, "", None)


BEGINNING: Final = (post("k0", 1, 2),)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([post("k1", 3, 4), post("k0", 5, 6, again=True)], ["k0"]),
        ([post("k0", 3, 4, again=True), post("k1", 5, 6)], ["k0 k1"]),
        ([post("k1", 3, 5), post("k0", 4, 6, again=True)], ["k0", "k0 k1"]),
        ([post("k1", 3, 6), post("k0", 4, 5, again=True)], ["k0", "k0 k1"]),
        # The worker of the regeneration died before it could respond. It may have been accepted before `k1`.
        ([post("k0", 3, again=True), post("k1", 4, 5), post("k0", 6, 7, again=True)], ["k0", "k0 k1"]),
        # It was never repeated.
        ([post("k1", 3, 4), post("k0", 5, again=True)], ["k0", "k0 k1"]),
        # A 503 may come after the message was stored, a 409 may not.
        ([post("k1", 3, 4), post("k0", 5, 6, again=True, status=503)], ["k0", "k0 k1"]),
        ([post("k1", 3, 4), post("k0", 5, 6, again=True, status=409)], ["k0 k1"]),
        # `k1` was repeated. If that came after the regeneration, `k1` is a new message.
        ([post("k1", 3, 4), post("k0", 5, 6, again=True), post("k1", 7, 8)], ["k0", "k0 k1"]),
        ([post("k1", 3, 4), post("k1", 5, 6)], ["k0 k1"]),
    ],
)
def test_only_the_order_of_requests_that_were_not_concurrent_is_certain(
    later: Sequence[Reading], expected: Sequence[str]
) -> None:
    assert sorted(map(" ".join, possible_histories([*BEGINNING, *later], []))) == expected


@pytest.mark.parametrize(
    ("later", "expected"),
    [([], [""]), ([post("k1", 6, 7)], ["k1"]), ([post("k1", 3, 5)], ["", "k1"]), ([post("k1", 3)], ["", "k1"])],
)
def test_a_deletion_removes_what_was_accepted_before(later: Sequence[Reading], expected: Sequence[str]) -> None:
    found = possible_histories([*BEGINNING, *later], [Deletion(204, 4.5, 5.5)])
    assert sorted(map(" ".join, found)) == expected
