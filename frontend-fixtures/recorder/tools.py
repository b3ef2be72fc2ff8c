"""Scenarios with tool calls: complete, parallel, streamed in each form, failing, reporting progress."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.tools import ToolContext
from google.genai import types

from recorder.fixture import JsonEvent
from recorder.functions import book, explode, get_weather
from recorder.model import ResponseScript, call, calls, chunk, end, fragment_of, text, whole_of
from recorder.scenario import Scenario
from recorder.texts import agent
from recorder.user import say
from stream_protocol.agents import report_progress

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc000000301010018dd8db00000000049454e44ae426082"
)
"""Red PNG of one pixel. Its base64 has ``+`` and ``/``, which ADK's JSON writes as ``-`` and ``_``."""


def now() -> dict[str, str]:
    """Returns the time."""
    return {"time": "12:00"}


def find(query: str) -> dict[str, str]:
    """Finds nothing."""
    return {"error": f"nothing found for {query}"}


def mcp_find(query: str) -> dict[str, Any]:
    """Finds nothing, and says so as MCP servers do."""
    return {"content": [{"type": "text", "text": f"nothing found for {query}"}], "isError": True}


def plain(query: str) -> str:
    """Returns a bare string."""
    return f"found {query}"


def _steered(events: list[JsonEvent]) -> list[JsonEvent]:
    """Add the user message that the run received after its tool. The service stores it, and no Runner yields it."""
    place = next(place for place, event in enumerate(events) if "functionResponse" in str(event.get("content"))) + 1
    message = {
        "id": "steering",
        "author": "user",
        "invocationId": events[0]["invocationId"],
        "content": {"role": "user", "parts": [{"text": "And in Rome?"}]},
        "customMetadata": {"adk_ui_stream": {"steering": {"id": "s1", "call": "root//2"}}},
        "timestamp": events[place - 1]["timestamp"],
    }
    return [*events[:place], message, *events[place:]]


def _report(words: str) -> Event:
    return Event(content=types.Content(role="user", parts=[types.Part(text=words)]))


async def count(up_to: int) -> AsyncGenerator[Any, None]:
    """Counts, and reports on the way."""
    for step in range(1, up_to + 1):
        yield _report(f"step {step}")
    yield {"counted": up_to}


async def watch(up_to: int) -> AsyncGenerator[Any, None]:
    """Counts, and reports on the way with text and data."""
    yield _report("starting")
    yield {"counted": up_to}


def index(tool_context: ToolContext) -> dict[str, int]:
    """Indexes two files, and reports on the way."""
    report_progress(tool_context, 2, 2, "b.txt")
    return {"indexed": 2}


def _post_first_report(events: list[JsonEvent]) -> list[JsonEvent]:
    """Add a posted report before the stored report, as a chat service does."""
    place, stored = next(
        (place, event) for place, event in enumerate(events) if event["actions"].get("renderUiWidgets")
    )
    (last,) = stored["actions"]["renderUiWidgets"]
    first = {**last, "payload": {**last["payload"], "data": {"progress": 1, "total": 2, "message": "a.txt"}}}
    header = {key: stored[key] for key in ("author", "id", "invocationId", "timestamp", "nodeInfo")}
    posted = [
        {
            **header,
            "partial": True,
            "actions": {**events[0]["actions"], "renderUiWidgets": [report]},
            "customMetadata": {"adk_ui_stream_posted": "widgets"},
        }
        for report in (first, last)
    ]
    return [*events[:place], *posted, *events[place:]]


def draw(subject: str) -> types.Part:
    """Draws."""
    return types.Part(inline_data=types.Blob(data=PIXEL, mime_type="image/png"))


def opening(name: str | None, call_id: str | None = None) -> types.Part:
    """Return the first fragment of a streamed call, which has only a name."""
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, will_continue=True))


def fragment(*args: types.PartialArg, name: str | None = None, call_id: str | None = None) -> types.Part:
    """Return a later fragment of a streamed call, which has values and no name."""
    return types.Part(
        function_call=types.FunctionCall(id=call_id, name=name, partial_args=list(args), will_continue=True)
    )


def closing() -> types.Part:
    """Return the last fragment of a streamed call, which is empty."""
    return types.Part(function_call=types.FunctionCall())


def string(path: str, value: str, *, more: bool = False) -> types.PartialArg:
    return types.PartialArg(json_path=path, string_value=value, will_continue=True if more else None)


def number(path: str, value: float) -> types.PartialArg:
    return types.PartialArg(json_path=path, number_value=value)


def flag(path: str, value: bool) -> types.PartialArg:
    return types.PartialArg(json_path=path, bool_value=value)


def null(path: str) -> types.PartialArg:
    return types.PartialArg(json_path=path, null_value="NULL_VALUE")


def weather_stream(city: str) -> list[types.GenerateContentResponse]:
    """Return a streamed call of get_weather. Its string has two pieces and an empty end."""
    return [
        chunk(opening("get_weather")),
        chunk(fragment(string("$.city", city[:3], more=True))),
        chunk(fragment(string("$.city", city[3:], more=True))),
        chunk(fragment(string("$.city", ""))),
        chunk(closing()),
    ]


def _nested() -> LlmAgent:
    return agent(
        [
            chunk(opening("book")),
            chunk(fragment(string("$.trip.to", "Tō", more=True))),
            chunk(fragment(string("$.trip.to", 'kyō "丸の内"', more=True))),
            chunk(fragment(string("$.trip.to", ""))),
            chunk(fragment(string("$.trip.legs[0].from", "Paris"), number("$.trip.legs[0].hours", 12.0))),
            chunk(fragment(number("$.trip.legs[1].hours", 1.5), flag("$.trip.legs[1].train", True))),
            chunk(fragment(null("$.trip['odd key']"))),
            chunk(fragment(string("$.note", "wind", more=True))),
            chunk(fragment(string("$.note", "ow seat"))),
            chunk(closing()),
            end(),
        ],
        text("Booked."),
        tools=[book],
    )


def _out_of_order() -> LlmAgent:
    return agent(
        [
            chunk(opening("book")),
            chunk(fragment(string("$.trip.to", "Paris"))),
            chunk(fragment(string("$.note", "window"))),
            chunk(fragment(number("$.trip.days", 3.0))),
            chunk(closing()),
            end(),
        ],
        text("Booked."),
        tools=[book],
    )


def _unclosed() -> LlmAgent:
    return agent(
        [
            chunk(opening("book")),
            chunk(fragment(string("$.trip.to", "Par", more=True))),
            chunk(fragment(string("$.trip.to", "is", more=True))),
            chunk(fragment(string("$.note", "win", more=True))),
            chunk(fragment(string("$.note", "dow", more=True))),
            end(),
        ],
        text("Booked."),
        tools=[book],
    )


def _interleaved() -> LlmAgent:
    return agent(
        [
            chunk(opening("book")),
            chunk(fragment(string("$.note", "win", more=True))),
            chunk(fragment(string("$.trip.to", "Paris"))),
            chunk(fragment(string("$.note", "dow"))),
            chunk(closing()),
            end(),
        ],
        text("Booked."),
        tools=[book],
    )


def _accumulated() -> LlmAgent:
    steps: list[dict[str, Any]] = [{"trip": {}}, {"trip": {"to": "Par"}}, {"trip": {"to": "Paris"}}]
    last = {"trip": {"to": "Paris", "days": 3}, "note": "window"}
    grown = [types.FunctionCall(id="call_A", name="book", args=args, will_continue=True) for args in [*steps, last]]
    fragments = [fragment_of(types.Part(function_call=one)) for one in grown]
    whole = whole_of(call("book", last, "call_A"))
    done = whole_of(types.Part(text="Booked."))
    return LlmAgent(name="root", model=ResponseScript([*fragments, whole], [done]), tools=[book])


def _calls_then_text(*parts: types.Part, tools: list[Any], words: str = "Done.") -> LlmAgent:
    return agent(calls(*parts), text(words), tools=tools)


TOOLS = (
    Scenario(
        name="steering",
        description="A message of the user that the run took in after its tool, within the one answer.",
        build=lambda: _calls_then_text(call("get_weather", {"city": "Paris"}), tools=[get_weather]),
        turns=[say("weather?")],
        edit=_steered,
    ),
    Scenario(
        name="tool_without_arguments",
        description="A call without arguments: its args are absent, its input is an empty object.",
        build=lambda: _calls_then_text(call("now"), tools=[now]),
        turns=[say("time?")],
    ),
    Scenario(
        name="tool_none",
        description="A call and its output without streaming.",
        build=lambda: _calls_then_text(call("get_weather", {"city": "Paris"}), tools=[get_weather]),
        turns=[say("weather?")],
        streaming=False,
    ),
    Scenario(
        name="parallel_calls_of_one_tool",
        description="Two calls of one tool at once: each has its own output.",
        build=lambda: _calls_then_text(
            call("get_weather", {"city": "Paris"}), call("get_weather", {"city": "Oslo"}), tools=[get_weather]
        ),
        turns=[say("weather?")],
    ),
    Scenario(
        name="tool_returns_text",
        description="A tool that returns a bare string: ADK wraps it as {result}.",
        build=lambda: _calls_then_text(call("plain", {"query": "it"}), tools=[plain]),
        turns=[say("find")],
    ),
    Scenario(
        name="streamed_arguments",
        description="Streamed arguments as Vertex sends them: one string in pieces, closed by an empty one.",
        build=lambda: agent([*weather_stream("Bordeaux"), end()], text("21 °C."), tools=[get_weather]),
        turns=[say("weather?")],
    ),
    Scenario(
        name="streamed_arguments_nested",
        description="Streamed arguments: nested paths, arrays by index, a quoted key, numbers, a bool, a null.",
        build=_nested,
        turns=[say("book")],
    ),
    Scenario(
        name="streamed_arguments_out_of_order",
        description="An object gets another key after it was left: no deltas can say that; the final input is right.",
        build=_out_of_order,
        turns=[say("book")],
    ),
    Scenario(
        name="streamed_arguments_unclosed",
        description="Neither the strings nor the call are closed before the aggregate comes.",
        build=_unclosed,
        turns=[say("book")],
    ),
    Scenario(
        name="streamed_arguments_interleaved",
        description="Two strings that grow in turns: no deltas can say that; the final input is right.",
        build=_interleaved,
        turns=[say("book")],
    ),
    Scenario(
        name="streamed_arguments_two_calls",
        description="Two streamed calls of one tool, one behind the other.",
        build=lambda: agent(
            [*weather_stream("Paris"), *weather_stream("Lyon-3e"), end()], text("Fine."), tools=[get_weather]
        ),
        turns=[say("weather?")],
    ),
    Scenario(
        name="accumulated_arguments",
        description="Each fragment repeats the arguments and adds to them.",
        build=_accumulated,
        turns=[say("book")],
    ),
    Scenario(
        name="tool_error",
        description="A tool that returns {error} alone has failed.",
        build=lambda: _calls_then_text(call("find", {"query": "it"}), tools=[find]),
        turns=[say("find")],
    ),
    Scenario(
        name="tool_error_mcp",
        description="A tool that answers with MCP's isError has failed.",
        build=lambda: _calls_then_text(call("mcp_find", {"query": "it"}), tools=[mcp_find]),
        turns=[say("find")],
    ),
    Scenario(
        name="tool_missing_argument",
        description="A call that lacks an argument: ADK answers it with {error}, the tool never runs.",
        build=lambda: _calls_then_text(call("get_weather"), tools=[get_weather]),
        turns=[say("weather?")],
    ),
    Scenario(
        name="tool_raises",
        description="A tool raises: an error event, then the run dies. The open call ends; the error is masked.",
        build=lambda: _calls_then_text(call("explode"), tools=[explode]),
        raises=ValueError,
        turns=[say("explode")],
    ),
    Scenario(
        name="tool_raises_beside_sibling",
        description="One of two parallel tools raises: the other's output still stands.",
        build=lambda: _calls_then_text(
            call("get_weather", {"city": "Paris"}), call("explode"), tools=[get_weather, explode]
        ),
        raises=ValueError,
        turns=[say("explode")],
    ),
    Scenario(
        name="tool_progress",
        description="An async-generator tool reports progress: preliminary outputs, then the final one.",
        build=lambda: _calls_then_text(call("count", {"up_to": 2}), tools=[count]),
        turns=[say("count")],
    ),
    Scenario(
        name="tool_progress_parallel",
        description="Two calls of a tool that reports progress: each report stands with its own call.",
        build=lambda: _calls_then_text(call("count", {"up_to": 1}), call("watch", {"up_to": 9}), tools=[count, watch]),
        turns=[say("count")],
    ),
    Scenario(
        name="tool_reports",
        description="A tool reports its progress while it runs: one data part that each report replaces.",
        build=lambda: _calls_then_text(call("index"), tools=[index]),
        turns=[say("index")],
        edit=_post_first_report,
    ),
    Scenario(
        name="tool_draws",
        description="A tool that returns an image: a file beside its output.",
        build=lambda: _calls_then_text(call("draw", {"subject": "a rose"}), tools=[draw]),
        turns=[say("draw")],
    ),
    Scenario(
        name="tool_options",
        description="One tool hidden, one dynamic, one with a title.",
        build=lambda: _calls_then_text(
            call("now"),
            call("get_weather", {"city": "Paris"}),
            call("plain", {"query": "it"}),
            tools=[now, get_weather, plain],
        ),
        turns=[say("go")],
        options={
            "hidden_tools": ["now"],
            "dynamic_tools": ["get_weather"],
            "tool_titles": {"plain": "Search", "get_weather": "Weather"},
        },
    ),
    Scenario(
        name="tools_all_hidden",
        description="Every tool hidden: only text is left.",
        build=lambda: agent(
            [chunk(types.Part(text="One moment. ")), *weather_stream("Paris"), end()],
            text("21 °C."),
            tools=[get_weather],
        ),
        turns=[say("weather?")],
        options={"hidden_tools": "all"},
    ),
)
