from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from stream_protocol import parse_chat_request
from stream_protocol.session import Transcript, idempotency_key, plan
from stream_protocol.wire import ChatRequestError
from tests.session.test_planning import gated, user_text


def said(text: str = "hi", message_id: str = "u1", **more: Any) -> Any:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}], **more}


def answered(*, approved: bool = True, **part: Any) -> Any:
    approval = {"id": "p1", "approved": approved}
    call = {"type": "tool-pay", "toolCallId": "t1", "state": "approval-responded", "input": {}, "approval": approval}
    return {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, {**call, **part}]}


def of(*messages: Any, **more: Any) -> str:
    return idempotency_key(parse_chat_request({"id": "c1", "messages": list(messages), **more}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of(said()), of(said())),
        (of(said()), of(said("earlier", "u0"), said())),
        (of(said()), of(said(metadata={"at": 1}))),
        (of(said()), of(said(), model="large")),
        (of(answered()), of(answered(input={"to": "Moritz"}))),
        (of(answered()), of(answered(), approvalPayloads={"of another": 1})),
        (of(said()), of(answered(), said())),
    ],
    ids=[
        "twice",
        "longer history",
        "metadata",
        "what else the app sends",
        "arguments, which count for nothing",
        "else",
        "an approval before them, which words leave behind",
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
        of(answered(approval={"id": "p1", "approved": True, "reason": "cheap"})),
        of(answered(approved=False), said()),
    ],
    ids=[
        "other words",
        "another message",
        "regenerate",
        "denied",
        "an output",
        "with a payload",
        "with a reason",
        "with a denial",
    ],
)
def test_requests_that_say_something_else(other: str) -> None:
    assert other not in (of(said()), of(answered()))


def test_requests_with_one_fingerprint_are_planned_alike() -> None:
    """The key covers everything that ``plan`` reads of a request."""
    stored = Transcript([user_text(), *gated(("t1", "p1"))])
    reason: dict[str, Any] = {"approval": {"id": "p1", "approved": True, "reason": "cheap"}}
    targets = [
        said(),
        said("hello"),
        answered(),
        answered(approved=False),
        answered(**reason),
        answered(toolCallId="t2"),
    ]
    others = [[], [said("later", "u2")], [{"id": "a2", "role": "assistant", "parts": []}]]
    names = [None, "a1", "a2", "u1"]
    payloads: list[dict[str, Any]] = [{}, {"approvalPayloads": {"p1": 1}}, {"approvalPayloads": {"p1": 2}}]
    triggers = ["submit-message", "regenerate-message"]
    plans: defaultdict[str, list[Any]] = defaultdict(list)
    for target, other, name, trigger, payload in product(targets, others, names, triggers, payloads):
        body = {"id": "c1", "messages": [target, *other], "messageId": name, "trigger": trigger, **payload}
        request = parse_chat_request(body)
        try:
            planned: Any = plan(request, stored)
        except ChatRequestError as refusal:
            planned = str(refusal)
        plans[idempotency_key(request)].append(planned)
    assert [alike for alike in plans.values() if any(planned != alike[0] for planned in alike)] == []
    assert len(plans) < sum(map(len, plans.values()))


def test_payloads_that_are_no_object_are_refused() -> None:
    with pytest.raises(ChatRequestError, match="approvalPayloads must be an object") as refusal:
        of(answered(), approvalPayloads=[1])
    assert refusal.value.status == 422


def test_a_payload_that_many_parts_name_is_read_once() -> None:
    class Payload(dict[str, Any]):
        reads = 0

        def __iter__(self) -> Iterator[str]:
            Payload.reads += 1
            return super().__iter__()

    parts = answered()["parts"] * 50
    message = {**answered(), "parts": parts}
    request = parse_chat_request({"id": "c1", "messages": [message], "approvalPayloads": {"p1": {"amount": 5}}})
    payloads = {"p1": Payload(amount=5)}
    idempotency_key(replace(request, body={"approvalPayloads": payloads}))
    assert Payload.reads == 1
