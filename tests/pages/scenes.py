"""Agent that sends each kind of part that a page can get. The user's first word selects the reply."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import AgentTool, BaseTool, FunctionTool, ToolContext, request_input
from google.genai.types import Part, SearchEntryPoint

from stream_protocol.agents import emit_data, for_users, report_progress
from stream_protocol.demo._chart import bar_chart
from stream_protocol.demo._question import Question, read_question
from stream_protocol.demo._sights import grounding
from stream_protocol.demo._tools import get_location, get_time_zone, set_theme
from stream_protocol.testing import Call, ScriptedLlm, Step, Thought, Wait, token_usage, web_sources

BEGINNING: Final = "Once upon a time there was a stream,"
END: Final = " and it reached the sea."

ALWAYS: Final = ("break always", "fail always")
"""Messages whose replies fail each time: before and after their first word."""

SUGGESTIONS: Final = ("hello there", "think about it")

TABLE: Final = """
| Station | Departure | Remark |
|---|---|---|
| Hauptbahnhof Untergeschoss | 07:45 | Straßenbahnersatzverkehrshaltestelle |
| Kyoto | 08:15 | Reservierungspflichtig |

- [x] packed
- [ ] paid

```python
def greet(name: str) -> str:
    return f"Hello, {name}, and everybody who reads lines as long as this one, which is long"
```

$$e^{i\\pi} + 1 = 0$$
"""

GROWING: Final = ("**Before.**\n\nhttps://rivers.example/boom", "erang")
"""Reply whose last paragraph ends with a URL, which then changes."""

SOURCES: Final = web_sources({"https://rivers.example/a": "All rivers", "https://sea.example/": "The sea"})

MORE_SOURCES: Final = web_sources({"https://sea.example/": "The sea", "https://ocean.example/": "The ocean"})
BOUGHT: Final[Sequence[Step]] = ("Bought. More rivers.", MORE_SOURCES)

BOOKING: Final[dict[str, Any]] = {
    "hotel_name": "Plaza",
    "guests": ["Ana", "Bo"],
    "breakfast": True,
    "rooms": {"large": [2, {"beds": 1}]},
}

SHEET: Final = "city,price\nOslo,130\nRome,110\n"

CITED: Final = (
    "Himeji Castle 🏯 stands in 姫路市. **It was built in 1333.**\n\n"
    "| שלום | Café |\n|---|---|\n| one | two |\n\n```\ncode\n```\n"
)
CITED_PAGES: Final = {"https://castle.example/a": "Himeji <Castle>", "https://other.example/": "Another"}
CITED_PLACES: Final = {
    "Himeji Castle 🏯 stands in 姫路市.": [0, 1],
    "It was built in 1333.**\n": [1],
    "שלום": [0],
    "```\ncode\n```\n": [1],
}
CHIPS: Final = (
    "<style>.chip { color: rgb(1, 2, 3) }"
    "@media (prefers-color-scheme: dark) { .chip { background: rgb(204, 205, 206) } }</style>"
    '<a class="chip" style="font-size: 17px" href="https://search.example/himeji">himeji</a>'
)
PLAIN_CHIP: Final = '<a href="https://search.example/himeji">himeji</a>'
HOSTILE: Final = (
    "<script>parent.document.title = 'taken'</script><b onclick=\"parent.taken = 1\">himeji</b>"
    '<img src="https://elsewhere.example/seen.png" onerror="parent.taken = 1">'
    '<link rel="stylesheet" href="https://elsewhere.example/a.css"><meta http-equiv="refresh" content="0;url=https://elsewhere.example/">'
)
"""Actions that a frame of the page must not be able to do."""

ARABIC: Final = "مرحبا، كيف يمكنني مساعدتك اليوم؟"


FORM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["name", "city", "nights", "interests", "contact"],
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "city": {"type": "string", "enum": ["Oslo", "Rome"]},
        "nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 14, "default": 2},
        "budget": {"type": "number", "description": "In euros."},
        "interests": {"type": "array", "minItems": 1, "items": {"enum": ["Food", "Art"]}},
        "late": {"type": "boolean"},
        "contact": {
            "type": "object",
            "required": ["email"],
            "properties": {"email": {"type": "string", "title": "E-mail", "format": "email"}},
        },
    },
}


TRIP: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["guests"],
    "properties": {
        "guests": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}},
    },
    "$defs": {
        "Stop": {
            "type": "object",
            "title": "Stop",
            "required": ["city"],
            "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
        }
    },
}


async def manual() -> str:
    """Returns code in a fence."""
    return "Read:\n\n```zig\nconst a = 1;\n```"


async def trains() -> dict[str, Any]:
    """Lists trains."""
    return {"trains": [{"city": "Oslo", "leaves_at": "07:45"}, {"city": "Rome", "leaves_at": "08:15"}]}


async def timetable() -> dict[str, Any]:
    """Gives a timetable, which has many lines."""
    stops = [
        {"city": city, "tracks": {"in": 1, "out": number}} for number, city in enumerate(("Oslo", "Rome", "Kyoto"))
    ]
    return {"line": "R1", "stops": stops, "prices": list(range(150)), "remarks": {}}


PAYLOAD: Final[dict[str, Any]] = {"rooms": [{"beds": 2}], "guests": ["Ana", "Bo"], "remarks": {}, "late": None}


async def rooms(tool_context: ToolContext) -> Any:
    """Asks for approval with a payload that has a list in it."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Which rooms?", payload=PAYLOAD)
        return {"status": "asked"}
    return tool_context.tool_confirmation.payload


async def pay(amount: float) -> dict[str, float]:
    """Pays. The user is asked for approval first."""
    return {"paid": amount}


async def book(hotel_name: str, guests: list[str], breakfast: bool, rooms: dict[str, Any]) -> dict[str, Any]:
    """Books rooms. The user is asked for approval first."""
    return {"code": 7, "confirmed": True}


async def refuse(hotel_name: str, guests: list[str], breakfast: bool, rooms: dict[str, Any]) -> dict[str, str]:
    """Fails to book."""
    return {"error": "No room is free."}


async def draw() -> dict[str, Any]:
    """Draws a chart."""
    return {"chart": Part.from_bytes(data=bar_chart((1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6)), mime_type="image/png")}


async def sketch(thing: str) -> dict[str, Any]:
    """Sketches a thing."""
    return await draw()


async def measure(tool_context: ToolContext, complete: bool) -> str:
    """Measures the wind, and shows it on the page."""
    if not complete:
        emit_data(tool_context, "weather", {"city": "Porto"})
        return "failed"
    emit_data(tool_context, "wind", {"knots": 12})
    days = [{"day": "Mon", "celsius": 21, "sky": "clear"}, {"day": "Tue", "celsius": 17, "sky": "hail"}]
    emit_data(tool_context, "weather", {"city": "Lisbon", "days": days})
    return "measured"


@for_users(title="Lend a book", approval_reason=lambda args: f"{args['book']} leaves the house for a month.")
def lend(book: str) -> str:
    """Lends a book."""
    return f"lent {book}"


@dataclass
class Scenes:
    """Replies of the agent. ``go_on`` lets each unfinished story end."""

    told: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop | None = None
    failed: set[str] = field(default_factory=set)

    def go_on(self) -> None:
        told, self.told = self.told, asyncio.Event()
        if self.loop is not None and not self.loop.is_closed():  # the server of the other version may be gone
            self.loop.call_soon_threadsafe(told.set)

    async def dig(self, depth: int) -> str:
        """Digs until the test goes on, and without a depth until the run ends."""
        await (self.told if depth else asyncio.Event()).wait()
        return "dug"

    def agent(self) -> LlmAgent:
        skipper = LlmAgent(name="skipper", model=ScriptedLlm(respond=lambda _: ["Aye."]), description="Sails.")
        gated = FunctionTool(pay, require_confirmation=True)
        researcher = LlmAgent(
            name="researcher",
            model=ScriptedLlm(respond=self._research),
            description="Finds out.",
            tools=[trains, self.wait],
        )
        cashier = LlmAgent(
            name="cashier",
            model=ScriptedLlm(respond=_charge),
            description="Charges.",
            mode="single_turn",
            tools=[gated],
        )

        async def count_books(tool_context: ToolContext) -> str:
            """Counts the books, and goes on when it is told."""
            report_progress(tool_context, 12, 50, "Second shelf")
            await self.told.wait()
            report_progress(tool_context, 50, 50)
            return "fifty"

        async def crash() -> str:
            """Raises an exception, once the test goes on."""
            await self.told.wait()
            raise RuntimeError("The spade is broken.")

        page_tools = [get_location, get_time_zone, set_theme]
        tools: list[BaseTool | Callable[..., Any]] = [
            gated,
            FunctionTool(lend, require_confirmation=True),
            FunctionTool(book, require_confirmation=True),
            refuse,
            count_books,
            self.dig,
            crash,
            AgentTool(researcher),
            draw,
            sketch,
            manual,
            measure,
            trains,
            timetable,
            rooms,
            request_input,
            *page_tools,
        ]
        model = ScriptedLlm(model="scripted", respond=self.respond)
        return LlmAgent(name="guide", model=model, tools=[*tools], sub_agents=[skipper, cashier])

    async def wait(self) -> str:
        """Wait until the story may continue."""
        assert self.loop is not None
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.told.wait(), self.loop))
        return "waited"

    def _research(self, request: LlmRequest) -> list[Step]:
        match [*read_question(request).results]:
            case []:
                return [Thought("The timetable knows that."), "I look it up.", Call("trains", {})]
            case ["trains"]:
                return [Call("wait", {})]
        return ["Two trains leave: one to Oslo, and one to Rome."]

    def respond(self, request: LlmRequest) -> list[Step]:
        self.loop = asyncio.get_running_loop()
        return [*self._answer(read_question(request)), token_usage(prompt=1234, answer=5, thoughts=7)]

    def _answer(self, question: Question) -> Sequence[Step]:
        answers = question.results
        match question.text.split()[0].lower() if question.text else "":
            case "story":
                return [BEGINNING, Wait(self.told), END]
            case "slowly":
                return ["One", Wait(1), " two", Wait(1), " three", Wait(1), " four."]
            case "think":
                return [Thought("Let me see.", signature=b"s"), Wait(1.3), "I have thought.", SOURCES]
            case "pay" if "pay" in answers:
                return ["Paid."]
            case "pay":
                return [Call("pay", {"amount": 5.0})]
            case "lend":
                return ["Lent."] if answers else [Call("lend", {"book": "Momo"})]
            case "count":
                return ["Fifty."] if answers else [Call("count_books", {})]
            case "dig":
                calls = 2 if "twice" in question.text else 1
                return ["Dug."] if answers else [Call("dig", {"depth": depth + 3}) for depth in range(calls)]
            case "crash":
                return [Call("dig", {"depth": 0}), Call("crash", {}), Call("trains", {})]
            case "pause":
                return [Wait(self.told), "I go on."] if answers else [Call("trains", {})]
            case "buy":
                return [*BOUGHT] if answers else ["Rivers cost.", SOURCES, Call("pay", {"amount": 5.0})]
            case "book":
                return ["Booked, or not."] if answers else [Call("book", BOOKING), Call("refuse", BOOKING)]
            case "draw":
                return ["There."] if answers else [Call("draw", {})]
            case "sketch":
                return ["There."] if answers else [Call("sketch", {"thing": question.text.partition(" ")[2]})]
            case "wind":
                return ["Twelve knots."] if answers else [Call("measure", {"complete": True})]
            case "misshapen":
                return ["Not measured."] if answers else [Call("measure", {"complete": False})]
            case "form":
                asked = {"message": "What do you need?", "response_schema": FORM}
                return ["Noted."] if answers else [Call("adk_request_input", asked)]
            case "trip":
                asked = {"message": "Who goes where?", "response_schema": TRIP}
                return [f"Noted: {answers}"] if answers else [Call("adk_request_input", asked)]
            case "nested":
                match answers.get("rooms"):
                    case {"rooms": [*rooms], "guests": [*guests], "remarks": {}, "late": late}:
                        beds = [room["beds"] for room in rooms]
                        return [f"{sum(beds)} beds. For {', '.join(guests)}. Late: {late}."]
                    case None:
                        return [Call("rooms", {})]
                return ["I wait."]
            case "research":
                return ["Found."] if answers else [Call("researcher", {"request": "Which trains leave?"})]
            case "charge":
                return ["Charged."] if "cashier" in answers else [Call("cashier", {"request": "Charge five euros."})]
            case "zone":
                return ["The page has answered."] if answers else [Call("get_time_zone", {})]
            case "dark":
                return ["Dark."] if answers else [Call("set_theme", {"theme": "dark"})]
            case "where":
                return ["There."] if answers else [Call("get_location", {})]
            case "list":
                return ["Two trains."] if answers else [Call("trains", {})]
            case "timetable":
                return ["Three stops."] if answers else [Call("timetable", {})]
            case "sheet":
                return [Part.from_bytes(data=SHEET.encode(), mime_type="text/csv"), "There."]
            case "both":
                return ["Both are there."] if answers else [Call("trains", {}), Call("draw", {})]
            case "cite" | "hostile" | "plain" as scene:
                found = grounding(CITED, CITED_PAGES, CITED_PLACES, ["himeji castle"])
                html = {"cite": CHIPS, "hostile": HOSTILE, "plain": PLAIN_CHIP}[scene]
                return [CITED, found.model_copy(update={"search_entry_point": SearchEntryPoint(rendered_content=html)})]
            case "sail":
                return [Call("transfer_to_agent", {"agent_name": "skipper"})]
            case "write":
                return [_below(question)]
            case "ponder":
                return [Thought(_below(question)), "I have thought."]
            case "grow":
                return [GROWING[0], Wait(self.told), GROWING[1]]
            case "manual":
                return ["Read it."] if answers else [Call("manual", {})]
            case "arabic" | "table" as scene:
                return [ARABIC if scene == "arabic" else TABLE]
            case "files":
                return ["; ".join(f"{file.mime_type}, {len(file.data or b'')} bytes" for file in question.files)]
            case "fail" | "break" as scene if question.text not in self.failed:
                self.failed |= {question.text} - {*ALWAYS}
                error = ConnectionError("The model is not there.")
                return ["I begin", error] if scene == "fail" else [error]
        return [f"You said: {question.text}"]


def _charge(request: LlmRequest) -> list[Step]:
    return ["It is paid."] if "pay" in read_question(request).results else ["One moment.", Call("pay", {"amount": 5.0})]


def _below(question: Question) -> str:
    """Return the lines of the question after its first line."""
    return question.text.partition("\n")[2]
