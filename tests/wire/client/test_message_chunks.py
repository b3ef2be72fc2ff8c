import random
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from stream_protocol.wire import AiSdkVersion, StreamProtocolError
from stream_protocol.wire.client import message_to_chunks
from stream_protocol.wire.client._reducer import reduce_chunks
from tests.examples import examples
from tests.wire.random_streams import legal_stream

NEVER_SAID = {"toolMetadata", "resultProviderMetadata", "inputEncoding", "citations"}
PROVIDER = {"adk": {"author": "a"}}
BOTH: list[AiSdkVersion] = [6, 7]


def rebuilt(*parts: dict[str, Any], ai_sdk: AiSdkVersion) -> list[Any]:
    message: Any = {"id": "a1", "role": "assistant", "parts": list(parts)}
    return list(reduce_chunks(message_to_chunks(message, ai_sdk=ai_sdk), ai_sdk=ai_sdk)["parts"])


def tool(**fields: Any) -> dict[str, Any]:
    return {"type": "tool-w", "toolCallId": "t1", **fields}


EXACT: list[list[dict[str, Any]]] = [
    [],
    [{"type": "step-start"}],
    [{"type": "step-start"}, {"type": "step-start"}],
    [{"type": "text", "text": "a", "state": "done"}, {"type": "step-start"}],
    [{"type": "text", "text": "", "state": "done", "providerMetadata": PROVIDER}],
    [{"type": "text", "text": "a", "state": "streaming"}, {"type": "text", "text": "b", "state": "done"}],
    [{"type": "reasoning", "id": "r", "text": "a", "state": "done", "providerMetadata": PROVIDER}],
    [{"type": "reasoning", "id": "r", "text": "a", "state": "streaming"}] * 2,
    [{"type": "file", "url": "u", "mediaType": "m", "providerMetadata": PROVIDER}],
    [{"type": "source-url", "sourceId": "s", "url": "u", "title": "t", "providerMetadata": PROVIDER}],
    [{"type": "source-document", "sourceId": "s", "mediaType": "m", "title": "t", "filename": "f"}],
    [{"type": "data-x", "data": None}, {"type": "data-x", "data": [1], "id": "1"}],
    [tool(state="input-streaming")],
    [tool(state="input-streaming", rawInput='{"a":"b', input={"a": "b"})],
    [tool(state="input-streaming", rawInput="nonsense")],
    [
        tool(
            state="input-available",
            input=None,
            title="T",
            providerExecuted=True,
            callProviderMetadata=PROVIDER,
        )
    ],
    [{"type": "dynamic-tool", "toolName": "mcp", "toolCallId": "t1", "state": "input-available", "input": {}}],
    [tool(state="approval-requested", input={}, approval={"id": "p"})],
    [tool(state="approval-requested", input={"f": "x"}, rawInput='{"f":"x', approval={"id": "p"})],
    [tool(state="input-available", input={}, approval={"id": "p"})],
    [tool(state="output-available", input={}, output=None)],
    [tool(state="output-available", input={}, output="p", preliminary=True)],
    [tool(state="output-available", output=1)],
    [tool(state="output-available", input={}, output=1, approval={"id": "p"})],
    [tool(state="output-error", input={}, errorText="e")],
    [tool(state="output-error", errorText="e")],
    [tool(state="output-error", errorText="e", input={"a": 1}, rawInput='{"a":1')],
    [tool(state="output-error", errorText="e", rawInput="nonsense", title="T")],
    [tool(state="output-error", errorText="e", rawInput="nonsense", approval={"id": "p"})],
    [tool(state="output-denied", input={}, approval={"id": "p"})],
    [tool(state="output-denied", input={})],
    [tool(state="input-available", input=1), {"type": "step-start"}, tool(state="output-available", input=2, output=3)],
]


@pytest.mark.parametrize("ai_sdk", BOTH)
@pytest.mark.parametrize("parts", EXACT, ids=repr)
def test_a_message_comes_back_as_it_was(parts: list[dict[str, Any]], ai_sdk: AiSdkVersion) -> None:
    assert rebuilt(*parts, ai_sdk=ai_sdk) == parts


V7_ONLY: list[dict[str, Any]] = [
    {"type": "reasoning-file", "url": "u", "mediaType": "m", "providerMetadata": PROVIDER},
    {"type": "custom", "kind": "a.b", "providerMetadata": PROVIDER},
    {"type": "steering-message", "id": "s", "parts": [{"type": "text", "text": "t"}]},
]


@pytest.mark.parametrize("part", V7_ONLY, ids=lambda part: part["type"])
def test_parts_of_v7_come_back_there_and_are_left_out_for_v6(part: dict[str, Any]) -> None:
    assert rebuilt(part, ai_sdk=7) == [part]
    assert rebuilt(part, ai_sdk=6) == []


ANSWERED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        tool(state="approval-responded", input={}, approval={"id": "p", "approved": True}),
        tool(state="input-available", input={}),
    ),
    (
        tool(state="output-available", input={}, output=1, approval={"id": "p", "approved": True, "reason": "ok"}),
        tool(state="output-available", input={}, output=1),
    ),
    (
        tool(state="output-denied", input={}, approval={"id": "p", "approved": False}),
        tool(state="output-denied", input={}),
    ),
]


@pytest.mark.parametrize(("part", "in_v6"), ANSWERED, ids=repr)
def test_an_answered_approval_comes_back_in_v7_and_is_left_out_for_v6(
    part: dict[str, Any], in_v6: dict[str, Any]
) -> None:
    assert rebuilt(part, ai_sdk=7) == [part]
    assert rebuilt(part, ai_sdk=6) == [in_v6]


def test_bad_input_that_v6_keeps_raw_is_plain_input_in_v7() -> None:
    part = tool(state="output-error", errorText="e", rawInput={"a": 1}, title="T", callProviderMetadata=PROVIDER)
    assert rebuilt(part, ai_sdk=6) == [part]
    del part["rawInput"]
    assert rebuilt({**part, "rawInput": {"a": 1}}, ai_sdk=7) == [{**part, "input": {"a": 1}}]


def test_partial_input_without_its_text_gets_one() -> None:
    part = tool(state="input-streaming", input={"a": 1})
    assert rebuilt(part, ai_sdk=6) == [{**part, "rawInput": '{"a":1}'}]


def test_a_text_without_a_state_is_done_and_a_reasoning_without_an_id_gets_one() -> None:
    assert rebuilt({"type": "text", "text": "a"}, {"type": "reasoning", "text": "b"}, ai_sdk=6) == [
        {"type": "text", "text": "a", "state": "done"},
        {"type": "reasoning", "text": "b", "state": "done", "id": "1"},
    ]


@pytest.mark.parametrize("ai_sdk", BOTH)
def test_parts_of_unknown_types_are_left_out(ai_sdk: AiSdkVersion) -> None:
    assert rebuilt({"type": "hologram"}, ai_sdk=ai_sdk) == []


@pytest.mark.parametrize(
    "part",
    [
        *("text", {}, {"type": 5}, {"type": "text"}, {"type": "file", "url": "https://a"}, {"type": "source-url"}),
        *({"type": "data-x"}, {"type": "tool-f"}, {"type": "tool-f", "toolCallId": "A"}),
        {"type": "tool-f", "toolCallId": "A", "state": "output-denied", "approval": 5},
    ],
    ids=str,
)
def test_a_part_that_lacks_a_key_is_named_in_the_error(part: Any) -> None:
    message: Any = {"id": "m", "role": "assistant", "parts": [{"type": "step-start"}, part]}
    with pytest.raises(StreamProtocolError, match=r"^Part 2 of the message is not a part of a UI message: .*[.]$"):
        message_to_chunks(message)


@pytest.mark.parametrize("fields", [{}, {"id": 5, "parts": []}, {"id": "m", "parts": {}}, {"id": "m"}], ids=str)
def test_a_message_without_an_id_or_parts_is_refused(fields: dict[str, Any]) -> None:
    message: Any = {"role": "assistant", **fields}
    with pytest.raises(StreamProtocolError, match=r"^A message needs a text as its id, and a list of parts[.]$"):
        message_to_chunks(message)
    with pytest.raises(StreamProtocolError, match=r"^`message` must be a UI message with id, role and parts, or None"):
        reduce_chunks([], message=message)


def test_the_id_and_the_metadata_come_back() -> None:
    message: Any = {"id": "a1", "role": "assistant", "parts": [], "metadata": {"usage": {"n": 1}}}
    assert reduce_chunks(message_to_chunks(message)) == message


def test_more_chunks_may_follow_for_an_open_call() -> None:
    answered = tool(state="approval-responded", input={}, approval={"id": "p", "approved": True})
    message: Any = {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, answered]}
    replay = message_to_chunks(message)
    replay.append({"type": "tool-output-available", "toolCallId": "t1", "output": "ok"})
    parts = reduce_chunks(replay, replay=True)["parts"]
    assert parts[1:] == [tool(state="output-available", input={}, output="ok")]


def test_values_that_would_kill_the_client_are_made_safe() -> None:
    part = tool(state="output-available", input={}, output={"__proto__": {"a": float("nan")}})
    assert rebuilt(part, ai_sdk=6)[0]["output"] == {"[__proto__]": {"a": None}}


def test_the_message_is_not_changed_and_shares_nothing_with_the_chunks() -> None:
    message: Any = {"id": "a1", "role": "assistant", "parts": [{"type": "data-x", "data": [1]}]}
    chunks: Any = message_to_chunks(message)
    chunks[1]["data"].append(2)
    assert message["parts"][0]["data"] == [1]


def test_only_the_assistants_message_becomes_chunks() -> None:
    with pytest.raises(StreamProtocolError):
        message_to_chunks({"id": "u", "role": "user", "parts": []})


def sayable(message: Any) -> Any:
    """The message without the parts that are lost according to the documentation."""
    parts = []
    for part in message["parts"]:
        kept = {key: value for key, value in part.items() if key not in NEVER_SAID}
        if part["type"].startswith("data-"):
            kept = {key: part[key] for key in ("type", "id", "data") if key in part}
        if kept.get("providerExecuted") is False:
            del kept["providerExecuted"]
        if "rawInput" in part:
            kept.pop("input", None)  # made from the raw text, by an encoding that is not said
        if part.get("state") in ("approval-requested", "approval-responded", "output-denied"):
            kept = {key: value for key, value in kept.items() if key not in ("output", "errorText", "preliminary")}
            if not isinstance(part.get("rawInput"), str):
                kept.pop("rawInput", None)
        if "approval" in part:
            approval = part["approval"]
            kept["approval"] = {key: approval[key] for key in ("id", "approved", "reason") if key in approval}
        parts.append(kept)
    return {**message, "parts": parts}


def tangled(message: Any) -> bool:
    """True if a call has two parts in one step, an approval has two calls, or a call streams on in a later step. No
    server does that.
    """
    seen: set[str] = set()
    approvals = [part["approval"]["id"] for part in message["parts"] if "approval" in part]
    if len(approvals) != len(set(approvals)):
        return True
    for part in message["parts"]:
        if part["type"] == "step-start":
            seen.clear()
        call_id = part.get("toolCallId")
        streams = part.get("state") == "input-streaming" and "input" in part and "rawInput" not in part
        if call_id in seen or streams:
            return True
        if call_id is not None:
            seen.add(call_id)
    return False


@pytest.mark.parametrize("ai_sdk", BOTH)
@examples(300)
@given(seed=st.integers(0, 2**32))
def test_whatever_a_stream_builds_comes_back(seed: int, ai_sdk: AiSdkVersion) -> None:
    message = reduce_chunks(legal_stream(random.Random(seed), ai_sdk), ai_sdk=ai_sdk)
    assume(not tangled(message))
    again = reduce_chunks(message_to_chunks(message, ai_sdk=ai_sdk), ai_sdk=ai_sdk)
    assert sayable(again) == sayable(message)
