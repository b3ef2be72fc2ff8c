"""The message of an agent inside a tool call, from events alone."""

import json
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol import StreamProtocolConverter, encode_sse, iter_chunks, reduce_chunks
from stream_protocol.adk import ANSWERED_KEY, NESTED_EVENT, NESTED_EVENTS, POSTED_KEY, POSTED_NESTED
from stream_protocol.stream import Settings, chunk_conversion
from stream_protocol.stream._nested_messages import BYTES_PER_NEW_BYTE, FREE_BYTES
from stream_protocol.wire import StreamProtocolError

CALL = "c1"


def said(*parts: types.Part, author: str = "inner", partial: bool | None = None, **more: Any) -> Event:
    role = "user" if any(part.function_response for part in parts) else "model"
    content = types.Content(role=role, parts=[*parts])
    return Event(author=author, invocation_id="i", content=content, partial=partial, **more)


def call(call_id: str, name: str = "inner", **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def result(call_id: str, value: Any, name: str = "inner") -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=value))


def posted(event: Any, call_id: str = CALL) -> Event:
    metadata = {POSTED_KEY: POSTED_NESTED, NESTED_EVENT: {"call_id": call_id, "event": event}}
    return Event(author="root", invocation_id="i", partial=True, custom_metadata=metadata)


def answered(*events: Event, value: Any = None, **kept: Any) -> Event:
    plain = [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events]
    metadata = {NESTED_EVENTS: {CALL: {"events": plain, "omitted": 0, **kept}}} if events or kept else None
    return said(result(CALL, value or {"result": "ok"}), author="root", custom_metadata=metadata)


ASKED = said(call(CALL, request="go"), author="root")


def outputs(chunks: Any, call_id: str = CALL) -> list[Any]:
    found = [chunk for chunk in chunks if chunk["type"] == "tool-output-available" and chunk["toolCallId"] == call_id]
    assert [chunk.get("preliminary", False) for chunk in found[:-1]] == [True] * (len(found) - 1)
    return [chunk["output"] for chunk in found]


def test_the_final_output_is_made_of_what_is_kept() -> None:
    inside = said(types.Part(text="Inside."))
    live = [*iter_chunks([ASKED, posted(inside), answered(inside)])]
    stored = [*iter_chunks([ASKED, answered(inside)])]
    assert outputs(live)[-1] == outputs(stored)[-1]
    message = outputs(stored)[-1]
    assert (message["id"], message["role"], message["metadata"]) == (CALL, "assistant", {"result": {"result": "ok"}})
    assert [part["type"] for part in message["parts"]] == ["step-start", "text"]


def test_an_output_without_anything_kept_has_what_was_posted() -> None:
    [*_, final] = outputs(iter_chunks([ASKED, posted(said(types.Part(text="Inside."))), answered()]))
    assert final["parts"][1]["text"] == "Inside."
    assert outputs(iter_chunks([ASKED, answered()])) == [{"result": "ok"}]


@pytest.mark.slow
def test_ten_thousand_events_cost_a_bounded_multiple_of_their_message() -> None:
    converter = StreamProtocolConverter()
    converter.convert(ASKED)
    sent = content = 0
    shown: list[int] = []
    for number in range(5_000):
        made = (
            said(call(f"n{number}", "look", city=f"city {number}")),
            said(result(f"n{number}", {"sky": "x" * 80}, "look")),
        )
        for event in made:
            chunks = converter.convert(posted(event))
            sent += sum(len(encode_sse(chunk)) for chunk in chunks)
            shown += [number for _ in chunks]
    [*_, end] = converter.convert(answered())
    content = len(encode_sse(end))
    assert content > 10**6
    assert sent < FREE_BYTES + (BYTES_PER_NEW_BYTE + 1) * content
    assert shown[-1] > 4_000
    assert shown[:50] == [number for number in range(25) for _ in range(2)], "the first ones are seen at once"


def test_nothing_is_computed_while_nobody_reads() -> None:
    conversion = chunk_conversion((), None, Settings(message_metadata=_refuse))
    conversion.feed(ASKED)
    conversion.take()
    conversion.show_nested(shows=False)
    for text in ("One.", "Two."):
        conversion.feed(posted(said(types.Part(text=text))))
    assert conversion.take() == []
    conversion.show_nested()
    [chunk] = conversion.take()
    assert [part.get("text") for part in outputs([chunk])[0]["parts"]] == [None, "One.", None, "Two."]


def _refuse(metadata: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("the message has not ended")


@pytest.mark.parametrize("call_id", ["unknown", "c2"])
def test_an_event_for_no_running_call_is_left_out(call_id: str) -> None:
    hidden = said(call("c2", "secret"), author="root")
    chunks = [*iter_chunks([ASKED, hidden, posted(said(types.Part(text="x")), call_id)], hidden_tools={"secret"})]
    assert not [chunk for chunk in chunks if chunk["type"] == "tool-output-available"]


@pytest.mark.parametrize("broken", [None, 5, {}, {"author": ""}, {"type": "start"}, []])
def test_what_is_no_event_is_skipped(broken: Any) -> None:
    inside = said(types.Part(text="Inside."))
    live = outputs(iter_chunks([ASKED, posted(broken), posted(inside), answered()]))[-1]
    metadata = {NESTED_EVENTS: {CALL: {"events": [broken, inside.model_dump(mode="json")], "omitted": 0}}}
    kept = said(result(CALL, {"result": "ok"}), author="root", custom_metadata=metadata)
    assert outputs(iter_chunks([ASKED, kept]))[-1]["parts"] == live["parts"]


@pytest.mark.parametrize(
    "kept", [None, 5, {}, {CALL: None}, {CALL: {"events": 5, "omitted": 0}}, {CALL: {"events": []}}]
)
def test_what_is_kept_in_another_form_is_no_message(kept: Any) -> None:
    event = said(result(CALL, {"result": "ok"}), author="root", custom_metadata={NESTED_EVENTS: kept})
    assert outputs(iter_chunks([ASKED, event])) == [{"result": "ok"}]


NESTED = {"events": [], "omitted": 0}


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ([NESTED, NESTED], [True, True]),
        ([None, NESTED], [False, True]),
        ([NESTED, "other"], [True, False]),
        ([NESTED], [True, False]),
        ([], [False, False]),
    ],
)
def test_responses_to_one_id_have_an_item_each(kept: Any, shown: list[bool]) -> None:
    responses = [result(CALL, {"result": number}) for number in (1, 2)]
    asked = said(call(CALL, request="a"), call(CALL, request="b"), author="root")
    event = said(*responses, author="root", custom_metadata={NESTED_EVENTS: {CALL: kept}})
    chunks: list[Any] = [*iter_chunks([asked, event])]
    assert ["parts" in outputs(chunks, call_id)[-1] for call_id in (CALL, f"{CALL}.2")] == shown


@pytest.mark.parametrize(
    ("numbers", "inputs"),
    [([1], ["b"]), ([1, 0], ["b", "a"]), ([None, 1], ["a", "b"]), (["x"], ["a"]), (1, ["a"]), ([9], ["a"])],
)
def test_a_response_answers_the_call_of_its_number(numbers: Any, inputs: list[str]) -> None:
    asked = said(call(CALL, request="a"), call(CALL, request="b"), author="root")
    results = [result(CALL, {"of": of}) for of in inputs]
    event = said(*results, author="root", custom_metadata={ANSWERED_KEY: {CALL: numbers}})
    chunks: list[Any] = [*iter_chunks([asked, event])]
    given = {
        chunk["toolCallId"]: chunk["input"]["request"] for chunk in chunks if chunk["type"] == "tool-input-available"
    }
    found = {chunk["toolCallId"]: chunk["output"]["of"] for chunk in chunks if chunk["type"] == "tool-output-available"}
    assert found == {call_id: of for call_id, of in given.items() if of in inputs}


def test_omitted_events_are_counted() -> None:
    [message] = outputs(iter_chunks([ASKED, answered(said(types.Part(text="Inside.")), omitted=3)]))
    assert message["metadata"] == {"omittedEvents": 3, "result": {"result": "ok"}}


def test_flat_and_hidden_have_only_the_output() -> None:
    inside = said(types.Part(text="Inside."))
    for chosen in ("flat", "hidden"):
        chunks = iter_chunks([ASKED, posted(inside), answered(inside)], nested_agents=chosen)
        assert outputs(chunks) == [{"result": "ok"}]
    chunks = iter_chunks([ASKED, answered(inside)], nested_agents={"other": "flat"})
    assert "parts" in outputs(chunks)[0]


@pytest.mark.parametrize("wrong", ["on", None, {"a": "on"}, {"a": 1}, {1: "flat"}])
def test_another_choice_is_refused(wrong: Any) -> None:
    with pytest.raises(StreamProtocolError, match="nested_agents"):
        StreamProtocolConverter(nested_agents=wrong)


def test_a_failure_inside_ends_the_message_and_a_failed_call_has_its_error() -> None:
    failed = Event(author="inner", invocation_id="i", error_code="OOPS", error_message="the key is hunter2")
    inside = said(types.Part(text="Inside."))
    message = outputs(iter_chunks([ASKED, posted(inside), posted(failed), answered(inside, failed)]))[-1]
    assert "hunter2" not in json.dumps(message)
    chunks: list[Any] = [*iter_chunks([ASKED, posted(inside), answered(inside, value={"error": "It failed."})])]
    assert [chunk["errorText"] for chunk in chunks if chunk["type"] == "tool-output-error"] == ["It failed."]


def test_a_transform_sees_the_message_as_an_output_alone() -> None:
    seen: list[str] = []

    def note(chunk: Any) -> Any:
        seen.append(chunk["type"])
        return chunk

    inside = said(types.Part(text="Inside."))
    [*iter_chunks([ASKED, posted(inside), answered(inside)], transform=note)]
    assert "text-start" not in seen
    assert seen.count("tool-output-available") == 2


def test_the_outputs_are_copies_that_later_events_do_not_change() -> None:
    converter = StreamProtocolConverter()
    converter.convert(ASKED)
    [first] = converter.convert(posted(said(types.Part(text="One "), partial=True)))
    before = json.dumps(first)
    converter.convert(posted(said(types.Part(text="two."), partial=True)))
    assert json.dumps(first) == before


def test_a_client_folds_it_to_one_part() -> None:
    inside = said(types.Part(text="Inside."))
    message: Any = reduce_chunks([*iter_chunks([ASKED, posted(inside), answered(inside)])])
    [part] = [one for one in message["parts"] if one["type"] == "tool-inner"]
    assert "preliminary" not in part or not part["preliminary"]
    assert part["output"]["parts"][1]["text"] == "Inside."
