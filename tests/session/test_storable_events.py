"""Before an event is stored, its values become plain JSON that each store accepts."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field

from stream_protocol.session import make_storable, storable_state
from stream_protocol.session._storable_events import MAX_STORED_DEPTH
from stream_protocol.wire import StreamProtocolError, json_value
from tests.batch import batch


class Opaque:
    """A value without a JSON form."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = object.__hash__


OPAQUE = f"A value of type {__name__}.Opaque at $['result'] has no JSON form."


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int | None = None


class Offer(BaseModel):
    """A model with every kind of field that ADK's stores drop or rename."""

    price: float | None = None
    in_stock: bool | None = Field(default=None, alias="inStock")
    colour: Colour = Colour.RED
    at: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    where: Point = Point(1)
    others: list["Offer"] = []
    secret: str = Field(default="x", exclude=True)


def results(*values: Any, **fields: Any) -> Event:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=f"call-{index}", name=f"f{index}", response=value))
        for index, value in enumerate(values)
    ]
    return Event(author="root", content=types.Content(role="user", parts=parts), **fields)


def made(event: Event, writers: Mapping[str, Sequence[bool]] | None = None) -> tuple[list[Any], list[str]]:
    """Return the responses after the conversion, and the problems."""
    problems = make_storable(event, writers or {})
    return [response.response for response in event.get_function_responses()], problems


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


VALUES: dict[str, tuple[Any, Any]] = {
    "plain": ({"a": [1, None, "x", 1.5, True]}, {"a": [1, None, "x", 1.5, True]}),
    "models": (
        {"result": Offer(others=[Offer(price=1)])},
        {
            "result": {
                "price": None,
                "inStock": None,
                "colour": "red",
                "at": "2026-01-02T00:00:00+00:00",
                "where": {"x": 1, "y": None},
                "others": [
                    {
                        "price": 1.0,
                        "inStock": None,
                        "colour": "red",
                        "at": "2026-01-02T00:00:00+00:00",
                        "where": {"x": 1, "y": None},
                        "others": [],
                    }
                ],
            }
        },
    ),
    "no numbers": ({"a": [math.nan, math.inf, -math.inf]}, {"a": [None, None, None]}),
    "bytes, sets, dates, large numbers": (
        {"a": [b"\xfb\xff", {2, 1}, datetime(2026, 1, 2), 2**70, (1, 2)]},
        {"a": ["+/8=", [1, 2], "2026-01-02T00:00:00", str(2**70), [1, 2]]},
    ),
    "U+0000": (
        {"a\0": ["\0", "\\u0000", "\\\0", '"\\\\\0']},
        {"a\ufffd": ["\ufffd", "\\u0000", "\\\ufffd", '"\\\\\ufffd']},
    ),
    "as deep as can be": (nested(MAX_STORED_DEPTH), nested(MAX_STORED_DEPTH)),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_a_result_becomes_the_json_that_the_page_is_shown(value: Any, expected: Any) -> None:
    assert made(results(value)) == ([expected], [])


def test_a_result_shares_nothing_with_what_the_tool_returned() -> None:
    value = {"a": [1]}
    event = results(value)
    make_storable(event, {})
    value["a"].append(2)
    assert made(event)[0] == [{"a": [1]}]


CIRCULAR: dict[str, Any] = {}
CIRCULAR["result"] = CIRCULAR
REFUSED: dict[str, tuple[Any, str]] = {
    "an object": ({"result": Opaque()}, OPAQUE),
    "an object deep in it": (
        {"result": {"a": [1, {"b": Opaque()}]}},
        f"A value of type {__name__}.Opaque at $['result']['a'][1]['b'] has no JSON form.",
    ),
    "a circle": (CIRCULAR, "A value of type builtins.dict at $['result']['result'] contains itself."),
    "too deep": (nested(MAX_STORED_DEPTH + 1), f"It is nested deeper than {MAX_STORED_DEPTH} levels."),
    "far too deep": (nested(300), "stands deeper than 246 levels."),
}


@pytest.mark.parametrize(("value", "why"), REFUSED.values(), ids=REFUSED)
def test_a_result_that_is_not_json_is_that_calls_error(value: Any, why: str) -> None:
    responses, problems = made(results({"ok": True}, value))
    (text,) = problems
    assert text.startswith("The result of the tool f1 is not JSON. ")
    assert why in text
    assert responses == [{"ok": True}, {"error": text}]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_a_stored_result_is_read_as_it_was_shown(value: Any) -> None:
    event = results({"result": value})
    assert make_storable(event, {}) == []
    read = Event.model_validate_json(event.model_dump_json(exclude_none=True))
    (stored,), (shown,) = read.get_function_responses(), event.get_function_responses()
    assert stored.response == shown.response == json_value(shown.response)
    assert "\\u0000" not in json.dumps(stored.response).replace("\\\\", "")


def test_what_a_model_wrote_with_a_broken_character_is_valid_unicode() -> None:
    args = {"a\ud83d": ["b\ud83d"]}
    parts = [
        types.Part(text="a\ud83d"),
        types.Part(text="\ud83d\ude00"),
        types.Part(function_call=types.FunctionCall(name="f", args=args)),
    ]
    event = Event(author="root", content=types.Content(role="model", parts=parts))
    assert make_storable(event, {}) == []
    assert [part.text for part in parts] == ["a\ufffd", "\U0001f600", None]
    assert [call.args for call in event.get_function_calls()] == [{"a\ufffd": ["b\ufffd"]}]
    event.model_dump_json()


def event_with(char: str) -> Event:
    """Return an event with this character in texts of many fields."""
    parts = [
        types.Part(text=f"a{char}", part_metadata={f"a{char}": [f"b{char}"]}),
        types.Part(function_call=types.FunctionCall(id=f"A{char}", name=f"f{char}", args={"a": [f"b{char}"]})),
        types.Part(function_response=types.FunctionResponse(id=f"B{char}", name=f"g{char}", response={"a": f"{char}"})),
        types.Part(executable_code=types.ExecutableCode(code=f"print({char})", language=types.Language.PYTHON)),
    ]
    return Event(
        id="e",
        timestamp=1.0,
        author="root",
        content=types.Content(role="model", parts=parts),
        error_message=f"a{char}",
        finish_reason=types.FinishReason.STOP,
        long_running_tool_ids={f"A{char}"},
        grounding_metadata=types.GroundingMetadata(web_search_queries=[f"a{char}"]),
        actions=EventActions(
            artifact_delta={f"a{char}": 1}, requested_tool_confirmations={f"A{char}": ToolConfirmation()}
        ),
    )


@pytest.mark.parametrize("char", ["\0", "\ud83d"])
def test_no_text_of_an_event_has_characters_that_stores_refuse(char: str) -> None:
    event = event_with(char)
    assert make_storable(event, {}) == []
    assert event == event_with("\ufffd")
    event.model_dump_json()


def test_arguments_that_are_not_json_stay_as_they_are() -> None:
    args = {"a": Opaque()}
    event = Event(
        author="root", content=types.Content(parts=[types.Part(function_call=types.FunctionCall(name="f", args=args))])
    )
    assert make_storable(event, {}) == []
    assert event.get_function_calls()[0].args == args


# State


def changing(**delta: Any) -> EventActions:
    return EventActions(state_delta=delta)


def test_a_tool_that_wrote_a_value_that_cannot_be_stored_has_failed() -> None:
    event = results({"ok": 1}, actions=changing(cart=Opaque(), kept=1))
    responses, problems = made(event)
    (text,) = problems
    assert text == (
        'The tool f0 set the state key "cart" to a value that cannot be stored. '
        f"A value of type {__name__}.Opaque at $ has no JSON form."
    )
    assert responses == [{"error": text}]
    assert event.actions.state_delta == {"kept": 1}


@pytest.mark.parametrize(
    ("writers", "blamed"), [({"cart": [False, True]}, [1]), ({}, [0, 1]), ({"cart": [False, False]}, [0, 1])]
)
def test_of_parallel_calls_the_one_that_wrote_it_has_failed(writers: dict[str, list[bool]], blamed: list[int]) -> None:
    responses, problems = made(results({"a": 1}, {"b": 2}, actions=changing(cart=Opaque())), writers)
    assert [index for index, response in enumerate(responses) if "error" in response] == blamed
    assert [f"f{index}" in text for index, text in zip(blamed, problems, strict=True)] == [True] * len(blamed)


def test_what_an_agent_wrote_is_left_out_and_told() -> None:
    event = Event(author="root", actions=changing(cart=Opaque()))
    (text,) = make_storable(event, {})
    assert text.startswith('root set the state key "cart" to a value that cannot be stored.')
    assert text.endswith("It is left out.")
    assert event.actions.state_delta == {}


@pytest.mark.parametrize("key", ["a\0", "a\ud83d"])
def test_a_key_that_stores_refuse_is_left_out_and_told(key: str) -> None:
    event = Event(author="root", actions=changing(**{key: 1, "kept": 1}))
    (text,) = make_storable(event, {})
    assert text.endswith(
        " to a value that cannot be stored. The key has a character that stores refuse. It is left out."
    )
    assert event.actions.state_delta == {"kept": 1}


def test_a_temporary_value_may_be_anything() -> None:
    value = Opaque()
    event = Event(author="root", actions=EventActions(state_delta={"temp:client": value}))
    assert make_storable(event, {}) == []
    assert event.actions.state_delta["temp:client"] is value


@batch(
    value={
        "plain": {"a": [1]},
        "a model": Offer(),
        "a tuple": (1, 2),
        "a date": datetime(2026, 1, 2, tzinfo=UTC),
        "nothing": None,
        "a large number": 2**70,
        "words about U+0000": "\\u0000",
    }
)
def test_agents_of_the_run_keep_the_object_that_adk_can_store(value: Any) -> None:
    event = Event(author="root", actions=changing(cart=value))
    assert make_storable(event, {}) == []
    assert event.actions.state_delta["cart"] is value


@batch(
    value={
        "no number": (math.nan, None),
        "U+0000": ("a\0", "a\ufffd"),
        "a lone surrogate": ("a\ud83d", "a\ufffd"),
        "of a type that ADK would store as its repr": (memoryview(b"\xfb\xff"), "+/8="),
    }
)
def test_a_value_that_adk_would_change_or_refuse_is_stored_as_it_is_shown(value: tuple[Any, Any]) -> None:
    given_value, stored = value
    event = Event(author="root", actions=changing(cart=given_value))
    assert make_storable(event, {}) == []
    assert event.actions.state_delta == {"cart": stored}


def test_state_of_the_app_is_checked_before_a_run() -> None:
    assert storable_state({"a": 1, "temp:b": 1}) == {"a": 1, "temp:b": 1}
    assert storable_state({"a": math.nan, "temp:client": math.nan})["a"] is None
    with pytest.raises(
        StreamProtocolError, match=r'^The state key "cart" has a value that cannot be stored\. A value of'
    ):
        storable_state({"kept": 1, "cart": Opaque()})


# The other fields of an event


def test_an_output_and_metadata_lose_only_what_is_not_json() -> None:
    event = Event(author="node", output={"a": Opaque(), "b": Offer()}, custom_metadata={"c": Opaque(), "d": 1})
    problems = make_storable(event, {})
    assert [text.partition(".")[0] for text in problems] == [
        "The output of node cannot be stored in whole",
        "Metadata of node cannot be stored in whole",
    ]
    assert event.output == {"a": None, "b": json_value(Offer())}
    assert event.custom_metadata == {"c": None, "d": 1}


def test_an_output_that_is_too_deep_is_left_out() -> None:
    event = Event(author="node", output=nested(MAX_STORED_DEPTH + 1))
    (text,) = make_storable(event, {})
    assert "nested deeper" in text
    assert event.output is None


def test_what_a_confirmation_asks_for_is_json() -> None:
    asked = ToolConfirmation(hint="?", payload={"a": Opaque(), "b": 1})
    actions = EventActions(requested_tool_confirmations={"A": asked, "B": ToolConfirmation()})
    arguments = {"toolConfirmation": {"payload": {"a": Opaque()}}}
    call = types.FunctionCall(id="B", name="adk_request_confirmation", args=arguments)
    parts = [types.Part(function_call=call)]
    event = Event(author="root", content=types.Content(role="model", parts=parts), actions=actions)
    assert len(make_storable(event, {})) == 2
    assert asked.payload == {"a": None, "b": 1}
    assert event.get_function_calls()[0].args == {"toolConfirmation": {"payload": {"a": None}}}


def test_an_event_of_a_tool_that_any_store_keeps_stays_as_it_is() -> None:
    call = types.FunctionCall(id="A", name="f", args={"a": 1})
    parts = [types.Part(function_call=call), types.Part(text="x")]
    event = Event(author="root", content=types.Content(role="model", parts=parts))
    before = event.model_dump()
    assert make_storable(event, {}) == []
    assert event.model_dump() == before


def test_a_question_keeps_its_text_when_its_schema_is_too_deep() -> None:
    args = {"message": "Which?", "response_schema": nested(300)}
    call = types.FunctionCall(id="q", name="adk_request_input", args=args)
    event = Event(author="root", content=types.Content(role="model", parts=[types.Part(function_call=call)]))
    (text,) = make_storable(event, {})
    assert "adk_request_input" in text
    assert event.get_function_calls()[0].args == {"message": "Which?", "response_schema": None}
