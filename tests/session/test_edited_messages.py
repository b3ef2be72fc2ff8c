"""The ids of the client's messages show the point at which its history was truncated."""

from typing import Any

import pytest
from google.adk.events import Event

from stream_protocol.session import NewUserTurn, Transcript, plan
from stream_protocol.session.transcript import update_metadata
from stream_protocol.wire import ChatRequestError, parse_chat_request
from tests.session.test_transcript import event, rewind, said, spoke

CHAT = [
    *(said("a", "e-1", "u1"), spoke("1", "e-1")),
    *(said("b", "e-2", "u2"), spoke("2", "e-2")),
    *(said("c", "e-3", "u3"), spoke("3", "e-3")),
]
"""Three questions and their answers."""


def rewound(before: Any, events: list[Event], **options: Any) -> str | None:
    """Return the invocation that a new message rewinds.

    ``before``: the ids of the client's earlier messages; user messages have ids that begin with a u. ``message``: the
    only earlier message.
    """
    new = {"id": "new", "role": "user", "parts": [{"type": "text", "text": "instead"}]}
    roles = [(message_id, "user" if message_id.startswith("u") else "assistant") for message_id in before or ()]
    messages = [{"id": message_id, "role": role, "parts": []} for message_id, role in roles]
    body = {"id": "c1", **({"message": new} if before is None else {"messages": [*messages, new]})}
    turn = plan(parse_chat_request(body), Transcript(events), **options)
    assert isinstance(turn, NewUserTurn)
    return turn.rewind_before


CUTS: dict[str, tuple[Any, str | None]] = {
    "the whole history": (["u1", "e-1", "u2", "e-2", "u3", "e-3"], None),
    "a single message": (None, None),
    "before the last question": (["u1", "e-1", "u2", "e-2"], "e-3"),
    "before an earlier question": (["u1", "e-1"], "e-2"),
    "before the first question": ([], "e-1"),
    "before the first question, after a greeting of the page's own": (["welcome"], "e-1"),
    "the last answer has not arrived": (["u1", "e-1", "u2", "e-2", "u3"], None),
    "an answer before the cut has not arrived": (["u1", "e-1", "u2"], "e-3"),
    "only the answer before the cut is there": (["e-1"], "e-2"),
    "messages that a page has trimmed at the beginning": (["u3", "e-3"], None),
    "messages that a page has deleted in the middle": (["u1", "e-1", "e-3"], None),
    "after a question that the server never got": (["u1", "e-1", "u2", "e-2", "u3", "e-3", "u-lost"], None),
    "before a question, after one that the server never got": (["u1", "e-1", "u-lost"], "e-2"),
    "the history of another chat": (["u7", "e-7", "u8", "e-8"], None),
}


@pytest.mark.parametrize(("before", "invocation"), CUTS.values(), ids=CUTS)
def test_new_messages_take_back_what_their_history_leaves_out_if_the_app_says_so(
    before: Any, invocation: str | None
) -> None:
    assert rewound(before, CHAT, truncated_history="rewind") == invocation
    assert rewound(before, CHAT) is None


def test_users_messages_without_ids_say_nothing_of_a_cut() -> None:
    earlier = {"role": "user", "parts": []}
    new = {"id": "new", "role": "user", "parts": [{"type": "text", "text": "instead"}]}
    turn = plan(
        parse_chat_request({"id": "c1", "messages": [earlier, new]}), Transcript(CHAT), truncated_history="rewind"
    )
    assert isinstance(turn, NewUserTurn)
    assert turn.rewind_before is None


def test_nothing_is_cut_off_a_chat_without_messages() -> None:
    assert rewound([], [], truncated_history="rewind") is None
    assert rewound(["u-lost"], [], truncated_history="rewind") is None
    assert rewound([], [event("system", invocation="e-1")], truncated_history="rewind") is None


def test_an_answer_that_nobody_was_shown_is_not_cut_off() -> None:
    unseen = spoke("late", "e-2")
    mark = spoke("1", "e-1")
    update_metadata(mark, hidden_events=(unseen.id,))
    assert rewound(["u1", "e-1"], [said("a", "e-1", "u1"), mark, unseen], truncated_history="rewind") is None


@pytest.mark.parametrize("trigger", ["submit-message", "regenerate-message"])
def test_a_cut_counts_whatever_the_trigger_says(trigger: str) -> None:
    """The retry of a message that the server never received has the trigger ``regenerate-message``."""
    new = {"id": "new", "role": "user", "parts": [{"type": "text", "text": "instead"}]}
    request = parse_chat_request({"id": "c1", "trigger": trigger, "messages": [new]})
    turn = plan(request, Transcript(CHAT), truncated_history="rewind")
    assert isinstance(turn, NewUserTurn)
    assert turn.rewind_before == "e-1"


@pytest.mark.parametrize("before", [["u1", "e-1", "u2", "e-2"], ["u1", "e-1", "e-2"], ["u2", "e-2"]])
def test_messages_after_a_message_that_was_taken_back_are_refused(before: list[str]) -> None:
    """A client has gone back to a branch that the agent no longer has."""
    events = [*CHAT[:4], rewind("e-2"), said("b!", "e-4", "u4"), spoke("4", "e-4")]
    with pytest.raises(ChatRequestError, match="was taken back") as refusal:
        rewound(before, events, truncated_history="rewind")
    assert refusal.value.status == 409
    assert rewound(before, events) is None
    assert rewound(["u1", "e-1"], events, truncated_history="rewind") == "e-4"


def test_an_edit_and_another_answer_that_a_page_has_are_not_taken_back() -> None:
    events = [*CHAT[:4], rewind("e-2"), said("b!", "e-4", "u2"), spoke("4", "e-4")]
    assert rewound(["u1", "e-1", "u2", "e-4"], events, truncated_history="rewind") is None


def test_a_cut_within_an_invocation_is_refused() -> None:
    """The agent answers the later question in the run of the earlier question."""
    events = [said("a", "e-1", "u1"), spoke("Which day?", "e-1"), said("b", "e-1", "u2"), spoke("2", "e-1")]
    with pytest.raises(ChatRequestError, match="it stays") as refusal:
        rewound(["u1", "e-1"], events, truncated_history="rewind")
    assert refusal.value.status == 409
    assert rewound([], events, truncated_history="rewind") == "e-1"
