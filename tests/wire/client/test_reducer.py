"""Cases that are not among the recorded ones. The random comparison with the real client is in
``tests/conformance``.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire.client import MessageReducer
from stream_protocol.wire.client._reducer import reduce_chunks

BOTH: list[AiSdkVersion] = [6, 7]
START: dict[str, Any] = {"type": "tool-input-start", "toolCallId": "t", "toolName": "w"}
AVAILABLE: dict[str, Any] = {"type": "tool-input-available", "toolCallId": "t", "toolName": "w", "input": {"a": 1}}


def delta(text: str) -> dict[str, Any]:
    return {"type": "tool-input-delta", "toolCallId": "t", "inputTextDelta": text}


def parts(*chunks: dict[str, Any], ai_sdk: AiSdkVersion = 6, message: Any = None) -> list[Any]:
    stream: Any = chunks
    return list(reduce_chunks(stream, ai_sdk=ai_sdk, message=message)["parts"])


def error(*chunks: Any, ai_sdk: AiSdkVersion = 6) -> ClientStreamError:
    with pytest.raises(ClientStreamError) as caught:
        reduce_chunks(chunks, ai_sdk=ai_sdk)
    return caught.value


def test_an_error_carries_what_had_been_received() -> None:
    caught = error(
        {"type": "text-start", "id": "0"}, {"type": "text-delta", "id": "0", "delta": "a"}, {"type": "nonsense"}
    )
    assert caught.error_class == "AI_TypeValidationError"
    assert caught.message == {
        "id": "",
        "role": "assistant",
        "parts": [{"type": "text", "text": "a", "state": "streaming"}],
    }


def test_an_error_chunk_is_a_plain_error_with_its_text() -> None:
    caught = error({"type": "error", "errorText": "boom"})
    assert (caught.error_class, caught.text, caught.chunk_type, caught.chunk_id) == ("Error", "boom", None, None)


def test_a_delta_without_a_call_names_the_chunk_and_the_call() -> None:
    caught = error(delta("{"))
    assert (caught.chunk_type, caught.chunk_id) == ("tool-input-delta", "t")
    assert caught.text == (
        'Received tool-input-delta for missing tool call with ID "t". '
        'Ensure a "tool-input-start" chunk is sent before any "tool-input-delta" chunks.'
    )


def test_an_answer_to_an_unknown_approval_names_it() -> None:
    caught = error(AVAILABLE, {"type": "tool-approval-response", "approvalId": "p", "approved": True}, ai_sdk=7)
    assert (caught.chunk_type, caught.chunk_id) == ("tool-approval-response", "p")
    assert caught.text == 'No tool invocation found for approval ID "p".'


def test_an_answer_may_bring_what_the_provider_says_of_the_call() -> None:
    request = {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "t", "inputSchemaInput": None}
    answer = {"type": "tool-approval-response", "approvalId": "p", "approved": True, "providerExecuted": True}
    assert parts(AVAILABLE, request, {**answer, "providerMetadata": {"p": {}}}, ai_sdk=7) == [
        {
            "type": "tool-w",
            "toolCallId": "t",
            "state": "approval-responded",
            "input": {"a": 1},
            "approval": {"id": "p", "inputSchemaInput": None, "approved": True},
            "providerExecuted": True,
            "callProviderMetadata": {"p": {}},
        }
    ]


@pytest.mark.parametrize("ai_sdk", BOTH)
def test_a_message_is_continued_on_a_copy(ai_sdk: AiSdkVersion) -> None:
    call = {"type": "tool-w", "toolCallId": "t", "state": "approval-responded", "input": {}}
    message = {"id": "a1", "role": "assistant", "metadata": {"n": {"a": 1}}, "parts": [call]}
    before = json.dumps(message)
    chunks: Any = [
        {"type": "start", "messageMetadata": {"n": {"b": 2}}},
        {"type": "tool-output-available", "toolCallId": "t", "output": 1},
    ]
    continued: Any = message
    assert reduce_chunks(chunks, ai_sdk=ai_sdk, message=continued) == {
        "id": "a1",
        "role": "assistant",
        "metadata": {"n": {"a": 1, "b": 2}},
        "parts": [{**call, "state": "output-available", "output": 1}],
    }
    assert json.dumps(message) == before


def test_a_users_message_is_not_continued() -> None:
    message: Any = {"id": "u1", "role": "user", "parts": []}
    new: Any = {"id": "new", "role": "assistant", "parts": []}
    assert reduce_chunks([], message=message, message_id="new") == new


@pytest.mark.parametrize("kind", ["tool-w", "dynamic-tool"])
def test_an_input_stream_that_was_cut_goes_on_where_it_was(kind: str) -> None:
    names = {"toolName": "w"} if kind == "dynamic-tool" else {}
    call = {"type": kind, "toolCallId": "t", "state": "input-streaming", "rawInput": '{"a":', "title": "T", **names}
    message = {"id": "a", "role": "assistant", "parts": [call, {"type": "text", "text": ""}]}
    assert parts(delta("[1"), message=message)[0] == {**call, "input": {"a": [1]}, "rawInput": '{"a":[1'}


def test_a_replay_forgets_what_there_was_and_keeps_its_id() -> None:
    chunks: Any = [{"type": "text-start", "id": "0"}, {"type": "finish", "finishReason": "stop"}, {"type": "start"}]
    reducer = MessageReducer(message_id="a", replay=True)
    writes = [reducer.apply(chunk) for chunk in chunks]
    assert writes == ["streaming", "nothing", "message"]
    empty: Any = {"id": "a", "role": "assistant", "parts": []}
    assert reducer.message == empty
    assert reducer.finish_reason is None


def test_a_replay_is_reset_once_for_its_id_and_again_for_another() -> None:
    def replayed(second: dict[str, Any]) -> list[Any]:
        chunks: Any = [{"type": "start", "messageId": "a"}, {"type": "start-step"}, {"type": "start", **second}]
        return list(reduce_chunks(chunks, replay=True)["parts"])

    assert replayed({}) == replayed({"messageId": "a"}) == [{"type": "step-start"}]
    assert replayed({"messageId": "b"}) == []


def test_each_chunk_says_what_it_does_to_the_page() -> None:
    chunks: Any = [
        ({"type": "start"}, "nothing"),
        ({"type": "start", "messageId": "a"}, "message"),
        ({"type": "start", "messageMetadata": {}}, "message"),
        ({"type": "start-step"}, "nothing"),
        ({"type": "reset-step"}, "nothing"),
        (START, "streaming"),
        ({"type": "reset-step"}, "streaming"),
        ({"type": "data-x", "data": 1, "transient": True}, "nothing"),
        ({"type": "data-x", "data": 1}, "streaming"),
        ({"type": "message-metadata", "messageMetadata": None}, "nothing"),
        ({"type": "message-metadata", "messageMetadata": 1}, "streaming"),
        ({"type": "finish-step"}, "nothing"),
        ({"type": "abort"}, "nothing"),
        ({"type": "finish"}, "nothing"),
    ]
    reducer = MessageReducer(ai_sdk=7)
    assert [reducer.apply(chunk) for chunk, _ in chunks] == [write for _, write in chunks]


def test_the_page_gets_every_data_chunk_and_keeps_the_latest_of_an_id() -> None:
    stream: Any = [
        {"type": "data-x", "data": 1, "id": "1"},
        {"type": "data-y", "data": 2, "id": "1"},
        {"type": "data-x", "data": 3, "id": "1", "transient": False},
        {"type": "data-x", "data": 4, "transient": True},
        {"type": "data-x", "data": 5},
    ]
    reducer = MessageReducer()
    for chunk in stream:
        reducer.apply(chunk)
    assert reducer.data == stream
    assert reducer.message["parts"] == [
        {"type": "data-x", "data": 3, "id": "1"},
        {"type": "data-y", "data": 2, "id": "1"},
        {"type": "data-x", "data": 5},
    ]


def test_finish_step_closes_open_texts_in_v6_and_not_in_v7() -> None:
    stream = [
        {"type": "text-start", "id": "0"},
        {"type": "finish-step"},
        {"type": "text-delta", "id": "0", "delta": "a"},
    ]
    assert error(*stream).text.startswith('Received text-delta for missing text part with ID "0"')
    assert parts(*stream, ai_sdk=7) == [{"type": "text", "text": "a", "state": "streaming"}]


def test_a_text_that_is_started_again_leaves_the_first_one_streaming() -> None:
    stream = [{"type": "text-start", "id": "0"}, {"type": "text-delta", "id": "0", "delta": "a"}] * 2
    assert parts(*stream, {"type": "text-end", "id": "0", "providerMetadata": {}}) == [
        {"type": "text", "text": "a", "state": "streaming"},
        {"type": "text", "text": "a", "state": "done", "providerMetadata": {}},
    ]


def test_a_surrogate_pair_split_over_two_deltas_is_one_character() -> None:
    deltas = [{"type": "text-delta", "id": "0", "delta": half} for half in ("\ud83d", "\ude00")]
    assert parts({"type": "text-start", "id": "0"}, *deltas)[0]["text"] == "😀"


def test_looking_at_the_message_between_deltas_changes_nothing() -> None:
    stream: Any = [
        {"type": "reasoning-start", "id": "0"},
        {"type": "reasoning-delta", "id": "0", "delta": "a"},
        START,
        delta('{"a":'),
        {"type": "reasoning-delta", "id": "0", "delta": "b"},
        delta("[1,"),
        delta("2"),
    ]
    reducer = MessageReducer()
    for chunk in stream:
        reducer.apply(chunk)
        json.dumps(reducer.message)
    assert reducer.message == reduce_chunks(stream)
    assert reducer.message["parts"][1] == {
        "type": "tool-w",
        "toolCallId": "t",
        "state": "input-streaming",
        "input": {"a": [1, 2]},
        "rawInput": '{"a":[1,2',
    }


def test_input_that_no_longer_parses_is_gone_but_its_text_stays() -> None:
    stream: Any = [START, delta("tr"), delta("x")]
    reducer = MessageReducer()
    for chunk in stream:
        reducer.apply(chunk)
        json.dumps(reducer.message)
    part: Any = reducer.message["parts"][0]
    assert (part.get("input"), part["rawInput"]) == (None, "trx")


def test_a_delta_after_the_input_was_available_makes_the_call_stream_again() -> None:
    assert parts(START, delta("{"), AVAILABLE, delta("}")) == [
        {"type": "tool-w", "toolCallId": "t", "state": "input-streaming", "input": {}, "rawInput": "{}"}
    ]


def test_a_delta_in_a_later_step_makes_a_new_part_and_leaves_the_old_one() -> None:
    for dynamic in ({}, {"dynamic": True}):
        first, _, second = parts({**START, **dynamic}, delta('{"a"'), {"type": "start-step"}, delta(":1"))
        assert (first["rawInput"], first["input"]) == ('{"a"', {})
        assert second["input"] == {"a": 1}
        assert ("rawInput" in second) is not bool(dynamic)
    again = parts({**START, "dynamic": True}, {"type": "start-step"}, delta("{"), delta("}"))[-1]
    assert again["rawInput"] == "{}"


def test_a_result_keeps_the_input_that_had_streamed() -> None:
    output = {"type": "tool-output-available", "toolCallId": "t", "output": 1}
    assert parts(START, delta('{"a":1'), output) == [
        {"type": "tool-w", "toolCallId": "t", "state": "output-available", "input": {"a": 1}, "output": 1}
    ]


def test_an_error_keeps_the_raw_input_of_a_static_call_only() -> None:
    failed = {"type": "tool-output-error", "toolCallId": "t", "errorText": "e"}
    assert parts(START, delta("{"), failed)[0]["rawInput"] == "{"
    assert "rawInput" not in parts({**START, "dynamic": True}, delta("{"), failed)[0]


def test_bad_input_lands_on_the_part_that_the_call_has() -> None:
    bad = {"type": "tool-input-error", "toolCallId": "t", "toolName": "w", "input": "{", "errorText": "e"}
    (part,) = parts({**START, "dynamic": True}, bad)
    assert (part["type"], part["state"], part["input"]) == ("dynamic-tool", "output-error", "{")


def test_citations_keep_the_keys_that_the_client_knows() -> None:
    url = {"type": "source", "sourceType": "url", "id": "s", "url": "u", "other": 1}
    document = {"type": "source", "sourceType": "document", "id": "d", "mediaType": "m", "title": "t"}
    citations = [{"source": url, "startIndex": 0, "other": 1}, {"source": document, "citedText": "c"}]
    end = {"type": "text-end", "id": "0", "citations": citations}
    assert parts({"type": "text-start", "id": "0"}, end, ai_sdk=7)[0]["citations"] == [
        {"source": {"type": "source", "sourceType": "url", "id": "s", "url": "u"}, "startIndex": 0},
        {"source": document, "citedText": "c"},
    ]
    assert "citations" not in parts({"type": "text-start", "id": "0"}, end)[0]


def test_a_megabyte_of_argument_in_small_deltas_is_read_once() -> None:
    text = json.dumps({"a": ["word"] * 20_000, "b": "x" * 900_000})
    pieces = [delta(text[place : place + 25]) for place in range(0, len(text), 25)]
    assert parts(START, *pieces)[0]["input"] == json.loads(text)


def test_the_reducer_loads_neither_pydantic_nor_adk() -> None:
    modules = ("pydantic", "google.adk", "google.genai", "starlette")
    imports = "import stream_protocol.wire, stream_protocol.wire.client;"
    code = f"import sys; {imports} print([name for name in {modules} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_the_calls_of_the_message_can_be_looked_up() -> None:
    reducer = MessageReducer()
    reducer.apply({"type": "tool-input-start", "toolCallId": "A", "toolName": "look"})
    reducer.apply({"type": "start-step"})
    assert reducer.tools.find("A") == reducer.message["parts"][0]
    assert reducer.tools.find_in_step("A") is None
