import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from google.adk.events import Event

from stream_protocol import (
    SSE_DONE,
    StreamProtocolConverter,
    encode_sse,
    iter_chunks,
    iter_sse,
    stream_chunks,
    stream_sse,
)
from stream_protocol.wire import AiSdkVersion
from stream_protocol.wire.client._reducer import reduce_chunks
from tests.batch import batch
from tests.conformance.fixtures import (
    FOLDER,
    README,
    VERSIONS,
    Fixture,
    Json,
    RunRaisedError,
    Turn,
    fixture_names,
    fold,
    load_fixture,
    readme_with_index,
    reloaded,
    render,
)

NAMES = fixture_names()
SECRETS = re.compile("hunter2")
"""A part of every secret in the recordings: credentials, and error texts of models and tools."""

OLD_ADKS = ("adk_1_24", "adk_2_0", "adk_2_5", "adk_2_9")

UNFINISHED_DELTAS = {
    **{f"{adk}_streamed_arguments_in_arrays": "ADK took indices for keys" for adk in OLD_ADKS},
    **{f"{adk}_streamed_arguments_two_calls": "ADK merged two calls" for adk in OLD_ADKS},
    "abort_in_call": "the run was stopped in the middle",
    "error_in_call": "the model failed in the middle",
    "litellm_cut_call": "the token limit came in the middle",
    "old_first_fragment_misrouted": "the call that ran is not the call that was streamed",
    "streamed_arguments_interleaved": "two strings grow in turns",
    "streamed_arguments_out_of_order": "an object is left and gets another key later",
}
"""Fixtures with argument deltas that can't add up to the input, and why."""

each_case = batch(name=NAMES, ai_sdk=VERSIONS)


def expected(fixture: Fixture, ai_sdk: AiSdkVersion) -> Json:
    loaded: Json = json.loads(fixture.expected_path(ai_sdk).read_text(encoding="utf-8"))
    return loaded


def expected_turns(fixture: Fixture, ai_sdk: AiSdkVersion) -> Iterator[tuple[Turn, list[Any]]]:
    turns = expected(fixture, ai_sdk)["turns"]
    assert len(turns) == len(fixture.turns)
    for turn, answer in zip(fixture.turns, turns, strict=True):
        yield turn, answer["chunks"]


async def arriving(events: Iterable[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


@each_case
def test_a_fixture_becomes_what_its_expectation_says(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    assert fixture.convert(ai_sdk) == [chunks for _, chunks in expected_turns(fixture, ai_sdk)]


@each_case
def test_the_python_reducer_folds_it_to_the_expected_messages(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    turns = [chunks for _, chunks in expected_turns(fixture, ai_sdk)]
    assert fold(fixture, turns, ai_sdk) == expected(fixture, ai_sdk)["messages"]


@each_case
async def test_all_four_functions_say_the_same(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    for turn, chunks in expected_turns(fixture, ai_sdk):
        response: dict[str, Any] = {**turn.place(), **fixture.options_for(ai_sdk)}
        body = b"".join(map(encode_sse, chunks)) + SSE_DONE
        assert b"".join(iter_sse(turn.run(), **response)) == body
        assert [chunk async for chunk in stream_chunks(arriving(turn.run()), **response)] == chunks
        assert b"".join([item async for item in stream_sse(arriving(turn.run()), **response)]) == body


@each_case
def test_a_converter_fed_by_hand_says_the_same(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    for turn, chunks in expected_turns(fixture, ai_sdk):
        options = fixture.options_for(ai_sdk)
        converter = StreamProtocolConverter(**turn.place(), **options)
        written = [chunk for event in turn.events for chunk in converter.convert(event)]
        written += converter.fail(RunRaisedError(turn.raised)) if turn.raised else converter.finish()
        assert written == chunks


@each_case
def test_a_response_has_one_start_and_one_terminal(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    terminals = {"finish", "abort", "error"}
    for _, chunks in expected_turns(fixture, ai_sdk):
        types = [chunk["type"] for chunk in chunks]
        assert types[0] == "start"
        assert types.count("start") == 1
        assert [kind for kind in types if kind in terminals] == types[-1:]


@each_case
def test_nothing_is_left_open_but_what_waits_for_a_person(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    for message in expected(fixture, ai_sdk)["messages"]:
        states = [part["state"] for part in message["parts"] if "state" in part]
        assert "streaming" not in states
        assert "input-streaming" not in states
        assert "approval-responded" not in states


def continued() -> list[str]:
    """Fixtures with a message that is continued."""
    return [
        name
        for name, turns in ((name, load_fixture(name).turns) for name in NAMES)
        if any(turn.continues for turn in turns) and not any(turn.raised for turn in turns)
    ]


@batch(name=continued, ai_sdk=VERSIONS)
def test_a_continued_message_is_the_same_in_one_go_but_for_the_approvals(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    for turns, message in zip(messages_of(fixture), expected(fixture, ai_sdk)["messages"], strict=True):
        events = [event for turn in turns for event in turn.events]
        place = turns[0].place() | {"past": ()}
        chunks = iter_chunks(iter(events), **place, **fixture.options_for(ai_sdk))
        assert without_approvals(reduce_chunks(chunks, ai_sdk=ai_sdk)) == without_approvals(message)


def messages_of(fixture: Fixture) -> list[list[Turn]]:
    messages: list[list[Turn]] = []
    for turn in fixture.turns:
        if turn.continues:
            messages[-1].append(turn)
        else:
            messages.append([turn])
    return messages


def without_approvals(message: Mapping[str, Any]) -> Json:
    parts = [{key: value for key, value in part.items() if key != "approval"} for part in message["parts"]]
    return {**message, "parts": parts}


def test_argument_deltas_add_up_to_the_input_wherever_they_can() -> None:
    assert {name for name in NAMES if not deltas_add_up(load_fixture(name))} == set(UNFINISHED_DELTAS)


def deltas_add_up(fixture: Fixture) -> bool:
    for _, chunks in expected_turns(fixture, 6):
        inputs = {chunk["toolCallId"]: chunk["input"] for chunk in chunks if chunk["type"] == "tool-input-available"}
        for call_id, text in argument_texts(chunks).items():
            if call_id not in inputs or not says(text, inputs[call_id]):
                return False
    return True


def says(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except json.JSONDecodeError:
        return False


def argument_texts(chunks: list[Any]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for chunk in chunks:
        if chunk["type"] == "tool-input-delta":
            texts[chunk["toolCallId"]] = texts.get(chunk["toolCallId"], "") + chunk["inputTextDelta"]
    return texts


@each_case
def test_no_secret_of_a_recording_is_in_its_stream(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    assert not SECRETS.search(fixture.expected_path(ai_sdk).read_text(encoding="utf-8"))


def test_there_are_secrets_in_recordings_to_look_for() -> None:
    recorded = {path.parent.name for path in FOLDER.glob("*/turn*.jsonl") if SECRETS.search(path.read_text("utf-8"))}
    assert {"credential", "credential_with_secret", "tool_raises", "error_in_workflow"} <= recorded


@each_case
def test_an_expectation_is_written_as_it_goes_over_the_wire(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    loaded = expected(fixture, ai_sdk)
    rendered = render(loaded["turns"], loaded["messages"])
    assert rendered == fixture.expected_path(ai_sdk).read_text(encoding="utf-8")


@batch(name=lambda: [name for name in NAMES if any(turn.reloads for turn in load_fixture(name).turns)], ai_sdk=VERSIONS)
def test_a_page_that_reloads_gets_what_it_had(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    turns = expected(fixture, ai_sdk)["turns"]
    number = next(number for number, turn in enumerate(fixture.turns) if turn.reloads)
    before = Fixture(name, fixture.description, fixture.options, fixture.turns[:number])
    shown = fold(before, [turn["chunks"] for turn in turns[:number]], ai_sdk)
    assert turns[number]["history"] == reloaded(fixture, number, ai_sdk)
    assert [message for message in turns[number]["history"] if message["role"] == "assistant"] == shown


def test_the_index_lists_every_fixture_with_its_number_of_deltas() -> None:
    assert README.read_text(encoding="utf-8") == readme_with_index()
