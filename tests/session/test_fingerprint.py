from typing import Any

import pytest

from stream_protocol import parse_chat_request
from stream_protocol.session import fingerprint


def said(text: str = "hi", message_id: str = "u1", **more: Any) -> Any:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}], **more}


def answered(*, approved: bool = True, **part: Any) -> Any:
    approval = {"id": "p1", "approved": approved}
    call = {"type": "tool-pay", "toolCallId": "t1", "state": "approval-responded", "input": {}, "approval": approval}
    return {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, {**call, **part}]}


def of(*messages: Any, **more: Any) -> str:
    return fingerprint(parse_chat_request({"id": "c1", "messages": list(messages), **more}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of(said()), of(said())),
        (of(said()), of(said("earlier", "u0"), said())),
        (of(said()), of(said(metadata={"at": 1}))),
        (of(said()), of(said(), model="large")),
        (of(answered()), of(answered(input={"to": "Moritz"}))),
        (of(answered()), of(answered(), approvalPayloads={"of another": 1})),
    ],
    ids=[
        "twice",
        "longer history",
        "metadata",
        "what else the app sends",
        "arguments, which count for nothing",
        "else",
    ],
)
def test_requests_that_say_the_same(one: str, other: str) -> None:
    assert one == other


@pytest.mark.parametrize(
    "other",
    [
        of(said("hello")),
        of(said(message_id="u2")),
        of(said(), trigger="regenerate-message"),
        of(answered(approved=False)),
        of(answered(state="output-available", output=1)),
        of(answered(), approvalPayloads={"p1": {"amount": 5}}),
    ],
    ids=["other words", "another message", "regenerate", "denied", "an output", "with a payload"],
)
def test_requests_that_say_something_else(other: str) -> None:
    assert other not in (of(said()), of(answered()))
