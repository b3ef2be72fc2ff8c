"""Conversation for the benchmarks: 2,000 ADK events, in the form in which Gemini on Vertex streams them.

Sixteen turns have one response each: the user's message, thoughts, text, a call with streamed arguments, its aggregate
and its result, more text and its aggregate. As in practice, nearly all events have one fragment of text.
"""

from collections.abc import Iterator

from google.adk.events.event import Event
from google.genai import types

TURNS = 16
EVENTS_PER_TURN = 125

_AUTHOR = "assistant"
_WORDS = (
    "The",
    " weather",
    " in",
    " San Francisco",
    " is",
    " “mild”",
    ",",
    " 18 °C",
    " by noon",
    ".\n",
    " naïve 東京",
    " so",
)
_THOUGHTS = 12
_TEXT_BEFORE = 40
_TEXT_AFTER = 57
_ARGUMENTS = {"city": "San Francisco, California", "days": 3, "note": 'with "quotes" and\nlines'}
_FRAGMENTS = (
    types.PartialArg(json_path="$.city", string_value="San ", will_continue=True),
    types.PartialArg(json_path="$.city", string_value="Francisco, ", will_continue=True),
    types.PartialArg(json_path="$.city", string_value="California", will_continue=True),
    types.PartialArg(json_path="$.city", string_value=""),
    types.PartialArg(json_path="$.days", number_value=3),
    types.PartialArg(json_path="$.note", string_value="with ", will_continue=True),
    types.PartialArg(json_path="$.note", string_value='"quotes" ', will_continue=True),
    types.PartialArg(json_path="$.note", string_value="and\nlines", will_continue=True),
    types.PartialArg(json_path="$.note", string_value=""),
)


def conversation() -> list[list[Event]]:
    """Return the events of each turn. Each turn becomes one response."""
    return [list(_turn(index)) for index in range(TURNS)]


def long_answer() -> list[list[Event]]:
    """Return one turn with as many events as ``conversation``: only fragments of text, and their aggregate."""
    return [list(_said("e-1", "e-1-1", TURNS * EVENTS_PER_TURN - 2))]


def event(invocation: str, event_id: str, parts: list[types.Part], *, partial: bool | None = True) -> Event:
    """Return an event of the model, with the fields that the Runner sets."""
    return Event(
        id=event_id,
        invocation_id=invocation,
        author=_AUTHOR,
        partial=partial,
        content=types.Content(role="model", parts=parts),
    )


def call_part(call_id: str, **fields: object) -> types.Part:
    """Return a part with a function call, or with a fragment of it."""
    return types.Part(function_call=types.FunctionCall.model_validate({"id": call_id, **fields}))


def _turn(index: int) -> Iterator[Event]:
    invocation, call_id = f"e-{index}", f"adk-call-{index}"
    yield _user(invocation)
    yield from _first_response(invocation, call_id)
    yield _result(invocation, call_id)
    yield from _second_response(invocation)


def _user(invocation: str) -> Event:
    content = types.Content(role="user", parts=[types.Part(text="What will the weather be?")])
    return Event(id=f"{invocation}-u", invocation_id=invocation, author="user", content=content)


def _first_response(invocation: str, call_id: str) -> Iterator[Event]:
    event_id = f"{invocation}-1"
    thoughts, texts = _words(_THOUGHTS), _words(_TEXT_BEFORE)
    for word in thoughts:
        yield event(invocation, event_id, [types.Part(text=word, thought=True)])
    for word in texts:
        yield event(invocation, event_id, [types.Part(text=word)])
    yield event(invocation, event_id, [call_part(call_id, name="get_weather", will_continue=True)])
    for fragment in _FRAGMENTS:
        yield event(invocation, event_id, [call_part(call_id, partial_args=[fragment], will_continue=True)])
    yield event(invocation, event_id, [call_part(call_id)])
    yield _aggregate(
        invocation,
        event_id,
        [
            types.Part(text="".join(thoughts), thought=True),
            types.Part(text="".join(texts)),
            call_part(call_id, name="get_weather", args=_ARGUMENTS),
        ],
    )


def _result(invocation: str, call_id: str) -> Event:
    forecast = [{"day": day, "high": 18.5 + day, "low": 11, "sky": "clear"} for day in range(3)]
    response = types.FunctionResponse(id=call_id, name="get_weather", response={"forecast": forecast})
    content = types.Content(role="user", parts=[types.Part(function_response=response)])
    return Event(id=f"{invocation}-2", invocation_id=invocation, author=_AUTHOR, content=content)


def _second_response(invocation: str) -> Iterator[Event]:
    yield from _said(invocation, f"{invocation}-3", _TEXT_AFTER)


def _said(invocation: str, event_id: str, count: int) -> Iterator[Event]:
    words = _words(count)
    for word in words:
        yield event(invocation, event_id, [types.Part(text=word)])
    last = event(invocation, event_id, [types.Part(text="")])
    last.finish_reason = types.FinishReason.STOP
    yield last
    yield _aggregate(invocation, event_id, [types.Part(text="".join(words)), types.Part(text="")])


def _aggregate(invocation: str, event_id: str, parts: list[types.Part]) -> Event:
    aggregate = event(invocation, event_id, parts, partial=False)
    aggregate.finish_reason = types.FinishReason.STOP
    aggregate.model_version = "gemini-3-pro"
    aggregate.usage_metadata = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=900, candidates_token_count=120, thoughts_token_count=40, total_token_count=1060
    )
    return aggregate


def _words(count: int) -> list[str]:
    return [_WORDS[index % len(_WORDS)] for index in range(count)]
