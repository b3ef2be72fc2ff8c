"""Scenarios with events of earlier ADK versions, made by rewriting events of the current ADK."""

from collections.abc import Callable, Iterator

from google.adk.agents import LlmAgent
from google.genai import types

from recorder.fixture import JsonEvent
from recorder.functions import get_weather
from recorder.model import call, calls, chunk, end, text
from recorder.scenario import Scenario
from recorder.texts import agent
from recorder.tools import weather_stream
from recorder.user import say

Edit = Callable[[list[JsonEvent]], list[JsonEvent]]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def _calls(event: JsonEvent) -> Iterator[JsonEvent]:
    for part in event.get("content", {}).get("parts", []):
        if "functionCall" in part:
            yield part["functionCall"]


def _each_partial_call(change: Callable[[JsonEvent, int], None]) -> Edit:
    def edit(events: list[JsonEvent]) -> list[JsonEvent]:
        partial = (one for event in events if event.get("partial") for one in _calls(event))
        for number, one in enumerate(partial):
            change(one, number)
        return events

    return edit


def _fresh_id(one: JsonEvent, number: int) -> None:
    if number:
        one["id"] = f"adk-fresh-{number}"


def _other_id(one: JsonEvent, number: int) -> None:
    one["id"] = "adk-partial"


def _own_id(one: JsonEvent, number: int) -> None:
    one["id"] = f"adk-partial-{number}"


def _no_name(one: JsonEvent, number: int) -> None:
    one.pop("name", None)


def _name_on_second(one: JsonEvent, number: int) -> None:
    if number == 0:
        one.pop("name", None)
    elif number == 1:
        one["name"] = "get_weather"


def _misroute_first_fragment(events: list[JsonEvent]) -> list[JsonEvent]:
    """Make the first fragment alone the call, as an earlier ADK did. The tool ran without arguments, and later
    fragments were ignored.
    """
    for event in _each_partial_call(_fresh_id)(events):
        for part in event.get("content", {}).get("parts", []):
            if "functionCall" in part and event.get("partial") is False:
                part["functionCall"] = {"id": "adk-whole", "name": "get_weather", "willContinue": True}
            if "functionResponse" in part:
                part["functionResponse"]["id"] = "adk-whole"
                part["functionResponse"]["response"] = {"error": "Invoking `get_weather()` failed: `city` is missing."}
    return events


def _without_ids(*keys: str) -> Edit:
    def edit(events: list[JsonEvent]) -> list[JsonEvent]:
        for event in events:
            for part in event.get("content", {}).get("parts", []):
                for key in keys:
                    part.get(key, {}).pop("id", None)
        return events

    return edit


def _own_event_ids(events: list[JsonEvent]) -> list[JsonEvent]:
    for number, event in enumerate(events):
        event["id"] = f"event-{number}"
    return events


def _with_the_future(events: list[JsonEvent]) -> list[JsonEvent]:
    for event in events:
        event["hologram"] = {"depth": 3}
    return events


def _streamed() -> LlmAgent:
    return agent([*weather_stream("Bordeaux"), end()], text("21 °C."), tools=[get_weather])


_TWO_CALLS = (
    calls(call("get_weather", {"city": "Paris"}), call("get_weather", {"city": "Oslo"})),
    text("Fine."),
)


def _two_calls() -> LlmAgent:
    return agent(*_TWO_CALLS, tools=[get_weather])


def _two_calls_twice() -> LlmAgent:
    return agent(*_TWO_CALLS, *_TWO_CALLS, tools=[get_weather])


def _unknown_part() -> LlmAgent:
    unknown = types.Part(video_metadata=types.VideoMetadata(fps=1.0))
    return agent([chunk(types.Part(text="One. ")), chunk(unknown, types.Part(text="Two.")), end()])


OLD = (
    Scenario(
        name="old_fresh_id_per_fragment",
        description="ADK before 2.11: each continuation fragment of a streamed call has a fresh id.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_each_partial_call(_fresh_id),
    ),
    Scenario(
        name="old_id_changes_to_aggregate",
        description="ADK before 1.31: fragments have one id, the aggregate and the response another.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_each_partial_call(_other_id),
    ),
    Scenario(
        name="old_ids_change_for_two_calls",
        description="The same for two whole calls of one tool.",
        build=_two_calls,
        turns=[say("weather?")],
        edit=_each_partial_call(_own_id),
    ),
    Scenario(
        name="old_first_fragment_misrouted",
        description="ADK before 1.24: the first fragment of a streamed call ran as a call without arguments.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_misroute_first_fragment,
    ),
    Scenario(
        name="old_event_id_per_fragment",
        description="ADK before 2.6: each fragment is an event with an id of its own.",
        build=lambda: agent(text("Hello ", "Ann.")),
        turns=[say("hi")],
        edit=_own_event_ids,
    ),
    Scenario(
        name="nameless_call",
        description="Fragments of a call never name it: it is held until the aggregate does.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_each_partial_call(_no_name),
    ),
    Scenario(
        name="nameless_call_named_later",
        description="The first fragment of a call has no name, the second has: it starts then.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_each_partial_call(_name_on_second),
    ),
    Scenario(
        name="nameless_call_fits_schema",
        description="Fragments never name the call, but their paths fit one tool of tool_schemas: it streams.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_each_partial_call(_no_name),
        options={
            "tool_schemas": {
                "get_weather": SCHEMA,
                "now": {"type": "object", "properties": {}},
            }
        },
    ),
    Scenario(
        name="nameless_call_hidden",
        description="The aggregate names the call, and it is a hidden one: nothing was sent.",
        build=_streamed,
        turns=[say("weather?")],
        edit=_each_partial_call(_no_name),
        options={"hidden_tools": ["get_weather"]},
    ),
    Scenario(
        name="no_ids",
        description="Neither calls nor responses have ids: counted ones, outputs in order.",
        build=_two_calls_twice,
        turns=[say("weather?"), say("again?")],
        edit=_without_ids("functionCall", "functionResponse"),
    ),
    Scenario(
        name="no_response_ids",
        description="Only the responses lack ids: they go to the oldest open call of their name.",
        build=_two_calls,
        turns=[say("weather?")],
        edit=_without_ids("functionResponse"),
    ),
    Scenario(
        name="no_call_ids",
        description="Only the calls lack ids: counted ones, each response on the oldest open call of its name.",
        build=_two_calls,
        turns=[say("weather?")],
        edit=_without_ids("functionCall"),
    ),
    Scenario(
        name="unknown_part",
        description="A part of a kind that is not known stands between two texts: it is skipped, they are not.",
        build=_unknown_part,
        turns=[say("count")],
    ),
    Scenario(
        name="unknown_field",
        description="Events with a field that is not known.",
        build=lambda: agent(text("Hello.")),
        turns=[say("hi")],
        edit=_with_the_future,
    ),
)
