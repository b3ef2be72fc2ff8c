import json
from types import MappingProxyType
from typing import Any

import pytest

from stream_protocol.wire import (
    ChatRequest,
    ChatRequestError,
    is_tool_part,
    parse_chat_request,
    parse_chat_request_in_slices,
    tool_name,
)
from stream_protocol.wire._json_slices import MAX_CONTAINERS
from stream_protocol.wire._messages import MAX_CHAT_ID_LENGTH, MAX_KEYS, MAX_MESSAGES, MAX_PARTS, parse_chat_id

HI: dict[str, Any] = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}


def body(**fields: Any) -> bytes:
    return json.dumps({"id": "c1", "messages": [HI], **fields}).encode()


def with_part(**part: Any) -> bytes:
    return body(messages=[{**HI, "parts": [part]}])


def test_a_post_of_the_client_is_read() -> None:
    messages: Any = (HI,)
    request = parse_chat_request(body(trigger="regenerate-message", messageId="a1", model="fast", nothing=None))
    assert request == ChatRequest(
        id="c1",
        messages=messages,
        trigger="regenerate-message",
        has_trigger=True,
        message_id="a1",
        body={"model": "fast"},
    )


def test_a_request_reads_the_same_as_bytes_text_and_mapping() -> None:
    data = body(extra=[1, {"a": None}])
    expected = parse_chat_request(data)
    assert parse_chat_request(data.decode()) == expected
    assert parse_chat_request(json.loads(data)) == expected
    assert parse_chat_request(MappingProxyType(json.loads(data))) == expected


def test_a_missing_trigger_means_submit_and_nulls_mean_absent() -> None:
    request = parse_chat_request(body(trigger=None, messageId=None, message=None))
    assert (request.trigger, request.has_trigger) == ("submit-message", False)
    assert (request.message_id, request.body) == (None, {})


def test_a_single_message_stands_for_the_list() -> None:
    request = parse_chat_request(json.dumps({"id": "c1", "message": HI, "messages": None}))
    assert (request.messages, request.has_history) == ((HI,), False)


def test_the_list_wins_over_a_single_message() -> None:
    request = parse_chat_request(body(message={"role": "user"}))
    assert (request.messages, request.has_history) == ((HI,), True)


def test_a_message_without_an_id_has_an_empty_one() -> None:
    request = parse_chat_request(body(messages=[{"role": "user", "parts": []}, {**HI, "id": None}]))
    assert [message["id"] for message in request.messages] == ["", ""]


def test_messages_may_share_an_id() -> None:
    assert len(parse_chat_request(body(messages=[HI, HI])).messages) == 2


UNKNOWN: list[dict[str, Any]] = [
    {"type": "text", "text": "a", "later": {"key": [1]}},
    {"type": "something-new", "text": 3},
    {"type": "data-weather", "data": None, "id": "w"},
    {"type": "step-start"},
    {"type": "reasoning", "text": "", "id": "r", "state": "streaming"},
    {"type": "file", "mediaType": "image/*", "url": "", "providerReference": {"openai": "f"}},
    {"type": "source-url", "sourceId": 4},
    {"type": "tool-w", "toolCallId": "t", "state": "some-new-state", "input": None, "output": None},
    {"type": "dynamic-tool", "toolName": "w", "toolCallId": "t", "state": "output-error", "rawInput": "{"},
    {
        "type": "tool-w",
        "toolCallId": "t",
        "state": "approval-responded",
        "input": {},
        "approval": {"id": "p", "approved": False, "reason": "no", "signature": "s"},
    },
]


@pytest.mark.parametrize("part", UNKNOWN, ids=json.dumps)
def test_unknown_roles_keys_parts_and_states_are_kept(part: dict[str, Any]) -> None:
    message = {"id": "m", "role": "critic", "parts": [part], "createdAt": "today", "metadata": {"a": None}}
    assert parse_chat_request(body(messages=[message])).messages == (message,)


def test_null_keys_of_a_part_are_absent_but_null_values_stay() -> None:
    part = {"type": "tool-w", "toolCallId": "t", "state": "output-available", "input": None, "output": None}
    nulls = {"approval": None, "title": None, "errorText": None}
    assert parse_chat_request(with_part(**part, **nulls)).messages[0]["parts"] == [part]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b'{"id":"c1","messages":NaN}', "not valid JSON"),
        (b'{"id":"c1","x":Infinity}', "not valid JSON"),
        (b'{"id":"c1","x":"\\ud800","y":NaN}', "not valid JSON"),
        (b'{"id":"c1","messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested too deeply"),
        (b"[" * 10_000, "nested too deeply"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "nested too deeply"),
        ({"id": float("nan")}, "not valid JSON"),
        ({"id": b"c1"}, "not valid JSON"),
        ({"id": "c1", "x": json.loads("[" * 900 + "]" * 900)}, "nested too deeply"),
        (b"[]", "must be a JSON object"),
        (b'"text"', "must be a JSON object"),
        (b"null", "must be a JSON object"),
        ([], "must be a JSON object"),
        (None, "must be a JSON object"),
        (5, "must be a JSON object"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_body_that_is_no_json_object_is_a_bad_request(data: Any, text: str) -> None:
    with pytest.raises(ChatRequestError, match=text) as caught:
        parse_chat_request(data)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("chat_id", "text"),
    [
        (None, "The chat id is missing."),
        (7, "The chat id must be a string."),
        ("", "The chat id is empty."),
        (" ", "The chat id is empty."),
        (" c1", "The chat id must not begin or end with a space."),
        ("c1\u2003", "The chat id must not begin or end with a space."),
        ("x" * (MAX_CHAT_ID_LENGTH + 1), "The chat id is longer than 128 characters."),
        *(
            (text, "The chat id must not be a path or hold control characters.")
            for text in (
                ".",
                "..",
                "a/b",
                "/",
                "a\\b",
                "a\nb",
                "a\x00",
                "\x7f",
                "a\x85b",
                "a\u2028b",
                "\ud800",
                "a\ufffd",
            )
        ),
    ],
)
def test_a_chat_id_that_cannot_name_a_session_is_a_bad_request(chat_id: Any, text: str) -> None:
    with pytest.raises(ChatRequestError) as caught:
        parse_chat_id(chat_id)
    assert (str(caught.value), caught.value.status) == (text, 400)


@pytest.mark.parametrize("chat_id", ["a", "...", "x" * MAX_CHAT_ID_LENGTH, "ключ", "a b", "a.b", "%2e"])
def test_any_other_chat_id_is_taken(chat_id: str) -> None:
    assert parse_chat_request(body(id=chat_id)).id == chat_id


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"id":"c1"}', "The request needs a list of messages that is not empty."),
        (body(messages=[]), "The request needs a list of messages that is not empty."),
        (body(messages={}), "The request needs a list of messages that is not empty."),
        (body(messages=["hi"]), "Message 1 must be an object."),
        (body(messages=[HI, {"parts": []}]), "Message 2 needs a string as its role."),
        (body(messages=[{**HI, "id": 5}]), "Message 1 may only have a string as its id."),
        (body(messages=[{"id": "u", "role": "user"}]), "Message 1 needs a list of parts."),
        (body(messages=[{**HI, "parts": "hi"}]), "Message 1 needs a list of parts."),
        (body(messages=[{**HI, "parts": ["hi"]}]), "Part 1 of message 1 must be an object."),
        (with_part(text="a"), "Part 1 of message 1 needs a string as its type."),
        (with_part(type="text"), "Part 1 of message 1 needs a string as its text."),
        (with_part(type="text", text=5), "Part 1 of message 1 needs a string as its text."),
        (with_part(type="file", url="u"), "Part 1 of message 1 needs a string as its mediaType."),
        (
            with_part(type="tool-ask", toolCallId="A", state="output-error", errorText=5),
            "Part 1 of message 1 may only have a string as its errorText.",
        ),
        (
            with_part(type="file", mediaType="text/plain", url="data:,a", filename=-1),
            "Part 1 of message 1 may only have a string as its filename.",
        ),
        (with_part(type="tool-w", state="x"), "Part 1 of message 1 needs a string as its toolCallId."),
        (with_part(type="tool-w", toolCallId="t"), "Part 1 of message 1 needs a string as its state."),
        (
            with_part(type="dynamic-tool", toolCallId="t", state="x"),
            "Part 1 of message 1 needs a string as its toolName.",
        ),
        (
            with_part(type="tool-w", toolCallId="t", state="x", approval="p"),
            "The approval in part 1 of message 1 must be an object.",
        ),
        (
            with_part(type="tool-w", toolCallId="t", state="x", approval={}),
            "The approval in part 1 of message 1 needs a string as its id.",
        ),
        (
            with_part(type="tool-w", toolCallId="t", state="x", approval={"id": "p", "approved": "yes"}),
            "The approval in part 1 of message 1 may only have true or false as its approved.",
        ),
        (
            with_part(type="tool-w", toolCallId="t", state="x", approval={"id": "p", "reason": 1}),
            "The approval in part 1 of message 1 may only have a string as its reason.",
        ),
        (body(messageId=4), "The request may only have a string as its messageId."),
        (body(trigger="resume"), "The trigger must be submit-message or regenerate-message."),
        (body(trigger=[]), "The trigger must be submit-message or regenerate-message."),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_body_that_is_no_chat_is_unprocessable_and_says_where(data: bytes, text: str) -> None:
    with pytest.raises(ChatRequestError) as caught:
        parse_chat_request(data)
    assert (str(caught.value), caught.value.status) == (text, 422)


@pytest.mark.slow
def test_a_request_has_no_more_messages_parts_and_keys_than_a_chat_has() -> None:
    step = {"type": "step-start"}
    hint = "send only the last message (prepareSendMessagesRequest), and files as links."
    parse_chat_request(body(messages=[HI] * MAX_MESSAGES))
    refused = {
        body(messages=[HI] * (MAX_MESSAGES + 1)): f"The request has more than 20,000 messages: {hint}",
        body(messages=[HI, {**HI, "parts": [step] * (MAX_PARTS + 1)}]): "Message 2 has more than 5,000 parts.",
        body(**{f"k{number}": 1 for number in range(MAX_KEYS)}): "The request body has more than 1,000 keys.",
        body(x=[[]] * (MAX_CONTAINERS + 1)): f"The request holds too many values: {hint}",
    }
    for data, text in refused.items():
        with pytest.raises(ChatRequestError) as caught:
            parse_chat_request(data)
        assert (str(caught.value), caught.value.status) == (text, 413)


def test_a_request_knows_the_size_of_its_body() -> None:
    assert parse_chat_request(body()).size == len(body())
    assert ChatRequest(id="c1", messages=()).size == 0


def test_checking_messages_pauses_too() -> None:
    calls = [{"type": "step-start"}] * 4000
    small = parse_chat_request_in_slices(body())
    with pytest.raises(StopIteration):
        next(small)
    pauses = list(parse_chat_request_in_slices(body(messages=[{**HI, "parts": calls}] * 3)))
    assert pauses.count(0) >= 3


def test_lone_surrogates_that_a_browser_escapes_are_replaced() -> None:
    text = r"a\ud83d\ude00b\ud83d \\ud83d \udc00 \n"
    data = body(messages=[HI]).replace(b'"hi"', f'"{text}"'.encode())
    request = parse_chat_request(data)
    assert request.messages[0]["parts"] == [{"type": "text", "text": "a😀b\ufffd \\ud83d \ufffd \n"}]


def test_forbidden_keys_are_renamed_because_history_sends_them_to_a_client_again() -> None:
    request = parse_chat_request(with_part(type="data-x", data={"__proto__": 1}))
    assert request.messages[0]["parts"] == [{"type": "data-x", "data": {"[__proto__]": 1}}]


def test_what_our_deepest_value_becomes_in_a_clients_history_is_accepted() -> None:
    value: Any = {}
    for _ in range(245):
        value = [value]
    request = parse_chat_request(with_part(type="data-x", data=value))
    assert request.messages[0]["parts"] == [{"type": "data-x", "data": value}]


def test_tool_parts_are_known_by_their_type() -> None:
    parts: Any = [
        {"type": "tool-get-weather", "toolCallId": "t", "state": "input-available"},
        {"type": "dynamic-tool", "toolName": "mcp", "toolCallId": "t", "state": "input-available"},
        {"type": "text", "text": ""},
        {"type": "data-tool-x", "data": 1},
    ]
    assert [is_tool_part(part) for part in parts] == [True, True, False, False]
    assert [tool_name(part) for part in parts[:2]] == ["get-weather", "mcp"]


def test_a_request_is_about_the_message_that_it_names_or_else_the_last_one() -> None:
    messages = [{**HI, "id": "u1"}, {"id": "a1", "role": "assistant", "parts": []}, {**HI, "id": "u2"}]
    about = {
        ("submit-message", "a1"): "a1",
        ("submit-message", "u1"): "u2",
        ("submit-message", "gone"): "u2",
        ("submit-message", None): "u2",
        ("regenerate-message", "a1"): "u2",
    }
    for (trigger, name), target in about.items():
        request = parse_chat_request({"id": "c", "messages": messages, "trigger": trigger, "messageId": name})
        assert request.target["id"] == target
        assert request.messages_to_target == request.messages[: 2 if target == "a1" else 3]
