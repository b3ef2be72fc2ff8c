"""The reader turns an event into facts."""

from collections.abc import Callable

import pytest
from google.adk.events import Event, EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from stream_protocol import StreamProtocolConverter, adk
from stream_protocol.adk import EventFacts, Part, read
from tests.stream.building import (
    call,
    code,
    event,
    fragment,
    picture,
    piece,
    placeholders,
    ran,
    response,
    results,
    text,
    thought,
    user,
)
from tests.stream.counting import functions_called


def part_of(said: Event) -> Part:
    [part] = read(said).parts
    return part


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (event(text("Hi")), adk.Text("Hi", is_thought=False)),
        (event(thought("Hm")), adk.Text("Hm", is_thought=True)),
        (event(types.Part(text="", thought_signature=b"s")), adk.Text("", is_thought=False, signature=b"s")),
        (event(call("f", {"x": 1}, "A")), adk.Call("A", "f", {"x": 1}, None)),
        (event(types.Part(function_call=types.FunctionCall(name="f"))), adk.Call(None, "f", {}, None)),
        (results(response("f", {"r": 1}, "A")), adk.Result("A", "f", {"r": 1}, None)),
    ],
)
def test_a_part_is_one_fact(said: Event, expected: Part) -> None:
    assert part_of(said) == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("adk_request_confirmation", adk.CallKind.APPROVAL),
        ("adk_request_credential", adk.CallKind.CREDENTIAL),
        ("adk_request_input", adk.CallKind.INPUT),
        ("locate", adk.CallKind.CLIENT_TOOL),
    ],
)
def test_only_a_call_that_is_marked_is_for_somebody_outside(name: str, kind: adk.CallKind) -> None:
    marked, made_up = (event(call(name, {}, "A"), long_running_tool_ids=ids) for ids in ({"A"}, None))
    assert [one.kind for one in read(marked).calls + read(made_up).calls] == [kind, None]


def test_a_placeholder_says_what_its_call_waits_for_and_what_the_tool_asks() -> None:
    asked = {"A": ToolConfirmation(hint="Sure?", payload={"n": 1})}
    said = results(response("f", {"s": 1}, "A"), actions=EventActions(requested_tool_confirmations=asked))
    [result] = read(said).results
    assert (result.waits_for, result.hint, result.payload) == (adk.CallKind.APPROVAL, "Sure?", {"n": 1})
    assert read(said).reports_a(adk.Waiting)
    assert [one.waits_for for one in read(placeholders(response("f", {}, "A"), asking=("B",))).results] == [None]


def test_a_file_names_the_artifact_that_holds_the_same_bytes() -> None:
    saved = EventActions(artifact_delta={"a.png": 2})
    part = part_of(event(picture(b"x"), actions=saved))
    assert isinstance(part, adk.File)
    assert part.content == adk.Blob(b"x", "image/png", ("a.png", 2))


def test_code_and_its_result_are_of_the_models_provider() -> None:
    parts = read(event(code("1"), ran("1"))).parts
    values = [part.value for part in parts if isinstance(part, adk.ProviderPart)]
    assert [type(value) for value in values] == [adk.ProviderCall, adk.ProviderResult]


def test_what_is_reported_beside_the_parts() -> None:
    said = read(
        event(
            error_code="MAX_TOKENS",
            error_message="cut",
            actions=EventActions(transfer_to_agent="b", state_delta={"x": 1}, rewind_before_invocation_id="e-1"),
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=2),
        )
    )
    assert said.reports == (
        adk.Failure("MAX_TOKENS", "cut", "MAX_TOKENS"),
        adk.Rewind("e-1"),
        adk.Transfer("b"),
        adk.StateChange({"x": 1}),
        adk.TokenUsage(1, 2, 3, 0, 0),
    )
    assert read(event(text("Hi"))).reports == ()


def roles(said: EventFacts) -> tuple[bool, bool, bool, bool]:
    return said.by_user, said.in_users_name, said.is_user_message, said.shows_something


def test_who_said_it_and_whether_it_begins_an_turn() -> None:
    assert roles(read(user(text("Hi")))) == (True, True, True, True)
    assert roles(read(user(response("f", {}, "A")))) == (True, True, False, True)
    assert roles(read(user(response("f", {}, "A"), node_path="wf@1"))) == (False, True, False, True)
    assert roles(read(event(text("Hi")))) == (False, False, False, True)
    assert roles(read(event(actions=EventActions(state_delta={"x": 1})))) == (False, False, False, False)


def test_a_piece_of_a_call_is_no_call() -> None:
    streamed = read(fragment(piece("f", "A")))
    assert streamed.parts == (adk.CallPiece("A", "f", None, (), True, None),)
    assert streamed.calls == []


def test_the_sound_of_a_live_run_is_no_part_of_a_fragment() -> None:
    sound, said = picture(b"...", "audio/pcm;rate=24000"), text("Hi")
    assert read(fragment(sound, said)).parts == (adk.Text("Hi", is_thought=False),)


@pytest.mark.parametrize("say", [text, thought])
def test_a_delta_that_continues_what_is_open_makes_no_fact(say: Callable[[str], types.Part]) -> None:
    converter = StreamProtocolConverter()
    converter.convert(fragment(say("One")))
    delta = fragment(say(" two"))
    assert functions_called(lambda: converter.convert(delta), folder="adk") == {"continued_text"}
