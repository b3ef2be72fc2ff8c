"""Requests of AI SDK 4, as ``ai@4.3.19`` and earlier versions post them: named as such, whatever else is wrong."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from stream_protocol import ChatRequestError, parse_chat_request
from stream_protocol.session import messages_to_events
from tests.batch import batch

TOLD: Final = "This request comes from AI SDK 4: this server needs 6 or later. "

SAYS: Final = {"role": "user", "content": "hi"}
"""Of ``ai`` before 4.2."""

SAYS_IN_PARTS: Final = {**SAYS, "parts": [{"type": "text", "text": "hi"}]}
"""Since 4.2."""

STORED: Final = {**SAYS_IN_PARTS, "id": "u1", "createdAt": "2025-05-01T10:00:00.000Z"}
"""With ``sendExtraMessageFields``."""

INVOCATION: Final = {"state": "result", "step": 0, "toolCallId": "t1", "toolName": "w", "args": {}, "result": 1}
CALLED: Final = {"role": "assistant", "content": "", "toolInvocations": [INVOCATION]}
CALLED_IN_PARTS: Final = {
    "id": "a1",
    "role": "assistant",
    "content": "",
    "parts": [{"type": "step-start"}, {"type": "tool-invocation", "toolInvocation": INVOCATION}],
}
PICTURE: Final = {"name": "a.png", "contentType": "image/png", "url": "data:image/png;base64,AA=="}

BODIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "without an id": {"messages": [SAYS]},
    "with an id": {"id": "c1", "messages": [SAYS]},
    "with parts": {"id": "c1", "messages": [SAYS_IN_PARTS]},
    "with data": {"id": "c1", "messages": [SAYS_IN_PARTS], "data": {"page": 5}},
    "with extra fields": {"id": "c1", "messages": [STORED]},
    "later in a chat": {"id": "c1", "messages": [SAYS, {"role": "assistant", "content": "Hello."}, SAYS]},
    "a result of a tool": {"id": "c1", "messages": [SAYS_IN_PARTS, CALLED]},
    "a result of a tool in parts": {"id": "c1", "messages": [CALLED_IN_PARTS]},
    "attachments": {"id": "c1", "messages": [{**SAYS, "experimental_attachments": [PICTURE]}]},
    "attachments beside parts": {"id": "c1", "messages": [{**STORED, "experimental_attachments": [PICTURE]}]},
    "only the last message": {"id": "c1", "message": SAYS_IN_PARTS},
    "an id that is none": {"id": 5, "messages": [SAYS]},
}


@batch(body=BODIES)
def test_a_request_of_ai_sdk_4_is_named(body: Mapping[str, Any]) -> None:
    for form in (body, json.dumps(body), json.dumps(body).encode()):
        with pytest.raises(ChatRequestError) as refused:
            parse_chat_request(form)
        assert str(refused.value) == f"{TOLD}Update `ai` and `@ai-sdk/react` in the page."
        assert refused.value.status == 422


OLD_PARTS: Final = {
    "a call": {"type": "tool-invocation", "toolInvocation": INVOCATION},
    "a thought": {"type": "reasoning", "reasoning": "Hm.", "details": []},
    "a file": {"type": "file", "mimeType": "image/png", "data": "AA=="},
    "a source": {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://a.example"}},
}
NEW: Final = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "more"}]}


@batch(part=OLD_PARTS)
def test_an_old_message_before_a_new_one_is_named_by_its_number(part: Mapping[str, Any]) -> None:
    old = {"id": "a1", "role": "assistant", "parts": [part]}
    with pytest.raises(ChatRequestError, match=r"^Message 1 has the form of AI SDK 4 or earlier, which is not read\.$"):
        parse_chat_request({"id": "c1", "messages": [old, NEW], "trigger": "submit-message"})


@batch(message={"a text": SAYS, "a text in parts": SAYS_IN_PARTS, "a call": CALLED, "a call in parts": CALLED_IN_PARTS})
def test_such_messages_of_a_database_are_named_too(message: Any) -> None:
    with pytest.raises(ChatRequestError, match="has the form of AI SDK 4 or earlier"):
        messages_to_events([message], agent="root")


LATER: Final[Mapping[str, Mapping[str, Any]]] = {
    "a key of an app's own": {**NEW, "content": "more"},
    "a time of an app's own": {**NEW, "createdAt": "2025-05-01T10:00:00.000Z"},
    "metadata": {**NEW, "metadata": {"content": "more", "createdAt": 5}},
    "a tool of this name": {
        "id": "u2",
        "role": "user",
        "parts": [{"type": "tool-invocation", "toolCallId": "t1", "state": "input-available", "input": {}}],
    },
    "a file": {"id": "u2", "role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": "data:,"}]},
    "a thought": {"id": "u2", "role": "user", "parts": [{"type": "reasoning", "text": "Hm.", "reasoning": "Hm."}]},
    "no id": {"role": "user", "parts": NEW["parts"]},
}


@batch(message=LATER)
def test_what_later_versions_and_other_clients_send_is_read(message: Mapping[str, Any]) -> None:
    assert parse_chat_request({"id": "c1", "messages": [message], "trigger": "submit-message"}).messages
    assert parse_chat_request({"id": "c1", "messages": [message]}).messages


@batch(
    body={
        "no list": {"id": "c1", "messages": SAYS},
        "no messages": {"messages": []},
        "a text": {"id": "c1", "messages": ["hi"]},
        "parts that are none": {"id": "c1", "messages": [{"id": "u", "role": "user", "parts": [5, {"type": []}]}]},
        "an old call that is none": {
            "id": "c1",
            "messages": [{"id": "u", "role": "user", "parts": [{"type": "tool-invocation"}]}],
        },
    }
)
def test_what_is_of_no_version_is_refused_as_before(body: Mapping[str, Any]) -> None:
    with pytest.raises(ChatRequestError) as refused:
        parse_chat_request(body)
    assert "AI SDK" not in str(refused.value)
