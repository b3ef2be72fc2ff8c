"""The demo agent's script, through ADK's own Runner."""

import zlib
from collections.abc import Callable
from struct import unpack
from typing import Any
from uuid import uuid4

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool, FunctionTool, request_input
from google.genai import types

from stream_protocol.agents import declared_title
from stream_protocol.demo import SUGGESTIONS, demo_agent
from stream_protocol.demo._agent import MODEL
from stream_protocol.demo._chart import bar_chart
from stream_protocol.demo._tools import TOOLS


@pytest.fixture(autouse=True)
def _without_pauses_or_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setattr("stream_protocol.demo._script.PACE", 0)
    monkeypatch.setattr("stream_protocol.demo._tools.RUN_SECONDS", 0)


class Chat:
    def __init__(self, agent: LlmAgent | None = None) -> None:
        self._runner = InMemoryRunner(agent=agent or demo_agent(), app_name="demo")
        self._id = str(uuid4())
        self.events: list[Event] = []

    async def send(self, *parts: types.Part) -> list[Event]:
        service = self._runner.session_service
        if await service.get_session(app_name="demo", user_id="u", session_id=self._id) is None:
            await service.create_session(app_name="demo", user_id="u", session_id=self._id)
        message = types.Content(role="user", parts=list(parts))
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        run = self._runner.run_async(user_id="u", session_id=self._id, new_message=message, run_config=config)
        events = [event async for event in run]
        self.events += events
        return events

    async def say(self, text: str) -> list[Event]:
        return await self.send(types.Part(text=text))

    async def answer(self, name: str, response: dict[str, Any]) -> list[Event]:
        """Answers the newest call of that name."""
        call = [call for event in self.events for call in event.get_function_calls() if call.name == name][-1]
        reply = types.FunctionResponse(id=call.id, name=name, response=response)
        return await self.send(types.Part(function_response=reply))


def told(events: list[Event]) -> str:
    parts = [part for event in events if not event.partial and event.content for part in event.content.parts or []]
    return " ".join(part.text for part in parts if part.text and not part.thought)


def called(events: list[Event]) -> list[list[str]]:
    turns = [event.get_function_calls() for event in events if not event.partial]
    return [[call.name or "" for call in turn] for turn in turns if turn]


def outputs(events: list[Event]) -> dict[str, types.FunctionResponse]:
    return {response.name or "": response for event in events for response in event.get_function_responses()}


async def test_the_tour_reasons_calls_two_tools_at_once_streams_arguments_draws_and_asks_for_approval() -> None:
    chat = Chat()
    events = await chat.say("Plan a weekend in Lisbon")
    assert any(part.thought for event in events if event.content for part in event.content.parts or [])
    assert called(events) == [
        ["get_weather", "find_hotels"],
        ["write_itinerary"],
        ["draw_temperatures"],
        ["book_trip"],
        ["adk_request_confirmation"],
    ]
    streamed = [call for event in events for call in event.get_function_calls() if call.partial_args]
    assert len(streamed) > 50
    assert any(event.grounding_metadata for event in events)
    (chart,) = outputs(events)["draw_temperatures"].parts or []
    assert chart.inline_data is not None
    assert (chart.inline_data.data or b"").startswith(b"\x89PNG")
    assert "reference is **LIS-2-190**" in told(await chat.answer("adk_request_confirmation", {"confirmed": True}))


def test_the_letters_of_the_chart_have_smooth_edges() -> None:
    chart = bar_chart((1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6))
    width, height = unpack(">II", chart[16:24])
    lines = zlib.decompress(chart[chart.index(b"IDAT") + 4 : -16])
    stride = 1 + 4 * width
    shades = {lines[stride * row + 4 : stride * (row + 1) : 4] for row in range(height - 24, height - 8)}
    alphas = {alpha for row in shades for alpha in row}
    assert {0, 255} < alphas
    assert len(alphas) > 16


async def test_a_denied_booking_is_not_made() -> None:
    chat = Chat()
    await chat.say("Book two nights in Kyoto")
    assert "won't book" in told(await chat.answer("adk_request_confirmation", {"confirmed": False}))


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        ("one night", "OSL-1-130"),
        ("3 nights", "OSL-3-390"),
        ("seven nights", "OSL-7-910"),
        ("a few nights", "OSL-2-260"),
    ],
)
async def test_as_many_nights_are_booked_as_the_traveller_names(words: str, reference: str) -> None:
    chat = Chat()
    await chat.say(f"Book {words} in Oslo")
    assert reference in told(await chat.answer("adk_request_confirmation", {"confirmed": True}))


async def test_the_weather_of_each_city_is_in_the_answer() -> None:
    answer = told(await Chat().say("Compare the weather in Oslo and Rome"))
    assert "**Oslo**: " in answer
    assert "**Rome**: " in answer


async def test_the_restaurant_agent_counts_its_tokens() -> None:
    events = await Chat().say("Where do I eat in Lisbon?")
    assert {event.author for event in events if event.usage_metadata} == {"guide", "foodie"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"confirmed": True, "payload": {"seat": "7F", "quiet_car": False}}, "Seat **7F** is yours."),
        ({"confirmed": True, "payload": "by the window"}, "Seat **12A** is yours, in the quiet car."),
        ({"confirmed": False}, "You can always stand."),
    ],
)
async def test_the_seat_is_the_one_that_the_traveller_asks_for(answer: dict[str, Any], says: str) -> None:
    chat = Chat()
    assert "as soon as you have chosen" in told(await chat.say("Reserve a seat on the train to Oslo"))
    assert says in told(await chat.answer("adk_request_confirmation", answer))


async def test_the_visa_tool_fails_and_the_guide_says_so() -> None:
    events = await Chat().say("Do I need a visa for Norway?")
    assert set(outputs(events)["check_visa"].response or {}) == {"error"}
    assert "try again later" in told(events)


async def test_the_travellers_choice_is_waited_for() -> None:
    chat = Chat()
    events = await chat.say("Help me choose a city")
    assert called(events) == [["adk_request_input"]]
    assert "Rome" in told(await chat.answer("adk_request_input", {"result": "Rome"}))


@pytest.mark.parametrize("prompt", [each["prompt"] for each in SUGGESTIONS if "Fail" not in each["prompt"]])
async def test_every_suggestion_has_a_scene(prompt: str) -> None:
    answer = told(await Chat().say(prompt))
    assert "script has no line" not in answer
    assert "Which city?" not in answer


@pytest.mark.parametrize("words", ["Plan a weekend in Atlantis", "weather?", "draw a chart", "book it", "any sights?"])
async def test_a_scene_without_a_city_asks_for_one(words: str) -> None:
    assert "Which city?" in told(await Chat().say(words))


async def test_other_messages_get_an_answer_and_attachments_are_named() -> None:
    image = types.Part.from_bytes(data=b"abc", mime_type="image/png")
    answer = told(await Chat().send(types.Part(text="What is this?"), image))
    paragraphs = answer.split("\n\n")
    assert paragraphs[:2] == ["You attached:", "- `image/png`, 3 bytes"]
    assert all(len(paragraph) < 80 for paragraph in paragraphs)
    assert SUGGESTIONS[0]["prompt"] in told(await Chat().say("Anything else?"))


async def test_a_form_is_asked_for_with_a_schema_and_its_answer_is_read() -> None:
    chat = Chat()
    assert called(await chat.say("Ask me what my trip needs")) == [["adk_request_input"]]
    answer = {"name": "Ana", "city": "Rome", "nights": 3, "interests": ["Art"], "contact": {"email": "ana@example.org"}}
    assert "Thank you, Ana: 3 nights in Rome" in told(await chat.answer("adk_request_input", answer))


@pytest.mark.parametrize(
    ("prompt", "tool", "output", "says"),
    [
        ("Which time zone am I in?", "get_time_zone", {"timeZone": "Europe/Rome"}, "**Europe/Rome**"),
        ("Make the page dark", "set_theme", {"theme": "dark"}, "Done."),
        ("Where am I?", "get_location", {"latitude": 41.9, "longitude": 12.5}, "41.90°, 12.50°"),
        ("Where am I?", "get_location", {"error": "The user does not share the location."}, "your secret"),
    ],
)
async def test_the_page_answers_its_own_tools(prompt: str, tool: str, output: dict[str, Any], says: str) -> None:
    chat = Chat()
    assert called(await chat.say(prompt)) == [[tool]]
    assert says in told(await chat.answer(tool, output))


async def test_the_foodie_answers_once_and_the_next_question_is_the_guides() -> None:
    chat = Chat()
    events = await chat.say("Where do I eat in Lisbon?")
    assert [event.author for event in events if not event.partial][-1] == "foodie"
    assert "In Lisbon, eat" in told(events)
    assert {event.author for event in await chat.say("What is worth seeing in Rome?")} == {"guide"}


async def test_the_forecast_is_data_for_the_page_and_the_temperatures_a_file() -> None:
    events = await Chat().say("Show the forecast for Lisbon")
    (widget,) = [widget for event in events for widget in event.actions.render_ui_widgets or []]
    assert widget.payload["name"] == "weather"
    assert len(widget.payload["data"]["days"]) == 4
    (file,) = outputs(await Chat().say("Give me the temperatures of Rome as CSV"))["export_temperatures"].parts or []
    assert file.inline_data is not None
    assert file.inline_data.mime_type == "text/csv"


async def test_the_calendar_asks_for_its_key() -> None:
    assert called(await Chat().say("What does my calendar say?")) == [["read_calendar"], ["adk_request_credential"]]


async def test_a_model_that_fails_is_asked_for_and_its_retry_succeeds() -> None:
    chat = Chat()
    with pytest.raises(ConnectionError, match="hung up"):
        await chat.say("Fail in the middle of a sentence")
    assert "as good as the first" in told(await chat.say("Fail in the middle of a sentence"))


async def test_a_new_question_in_the_same_chat_starts_its_scene_anew() -> None:
    chat = Chat()
    first = await chat.say("Draw the temperatures of Kyoto")
    assert called(await chat.say("Draw the temperatures of Rome")) == called(first) == [["draw_temperatures"]]


def test_with_a_key_the_same_agent_runs_on_gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = demo_agent()
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    assert demo_agent().model == MODEL
    assert len(demo_agent().tools) == len(scripted.tools)


async def test_each_chat_has_a_failure_of_its_own_to_retry() -> None:
    agent = demo_agent()
    chats = [Chat(agent), Chat(agent)]
    for chat in chats:
        with pytest.raises(ConnectionError):
            await chat.say("Fail in the middle of a sentence")
    for chat in chats:
        assert "as good as the first" in told(await chat.say("Fail in the middle of a sentence"))


def tool_name(tool: BaseTool | Callable[..., Any]) -> str:
    return tool.name if isinstance(tool, BaseTool) else tool.__name__


@pytest.mark.parametrize("tool", [each for each in TOOLS if each is not request_input], ids=tool_name)
def test_each_tool_has_a_title_for_users(tool: BaseTool | Callable[..., Any]) -> None:
    assert declared_title(tool if isinstance(tool, BaseTool) else FunctionTool(tool))
