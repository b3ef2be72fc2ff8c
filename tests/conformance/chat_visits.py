"""Chats as people hold them with ``useChat``: what the model says, what is done on the page, what must come of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.genai import types

from stream_protocol.serving._loop_guard import NOTHING_NEW_TEXT
from stream_protocol.session import HistoryCut
from stream_protocol.testing import Call, Wait
from tests.conformance.chat_desk import HELD
from tests.frontends.actions import Action

FAILED = "An error occurred."
"""What the page is told of a run that failed, by default."""


@dataclass(frozen=True, slots=True)
class Step:
    """``do`` as in ``visit-chats.mjs``, then what there is at the end of it.

    ``shows``: the messages on the page, each as its texts and the states of its calls. ``posts``: how many requests it
    took. ``ran``: all tools that have run by then. ``kept``: how many of the messages before keep their ids and places;
    by default all of them. ``error``: what the page says. ``stored``: what the server has, where it cannot be what the
    page shows: of answers that it refused or was not sent, and of the rest of a response that the page did not read.
    """

    do: Mapping[str, Any]
    shows: Sequence[str]
    posts: int = 1
    ran: Sequence[str] = ()
    kept: int | None = None
    error: str | None = None
    stored: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A chat with an agent whose model says ``turns``, after a workflow that ``asks`` under one fixed id.

    ``streams``: of a streamed response ADK itself drops a call whose id another call of it has. ``awaited``: calls that
    the page has not answered when ADK calls the model again, for another tool's output. ``sends``: when it sends by
    itself, and what, as in ``harness/chat.js``. ``leaving_stops``: a run ends when its page leaves it. ``history_cut``:
    as of ``ChatService``. ``action``: the row of the matrix in docs/frontends.md that this is.
    """

    name: str
    turns: Sequence[Any]
    steps: Sequence[Step]
    awaited: Sequence[str] = ()
    sends: str = "helpers"
    asks: Sequence[str] = ()
    streams: bool = True
    leaving_stops: bool = True
    history_cut: HistoryCut = "append"
    action: Action | None = None

    @property
    def is_template(self) -> bool:
        """Whether it sends as Vercel's chatbot template does, which says neither `trigger` nor `messageId`."""
        return self.sends in ("template", "adapted")


def pay(amount: int) -> Call:
    return Call("pay", {"amount": amount})


def half_a_call() -> list[types.Part]:
    """A call that the model has begun to write: its name and half of an argument."""
    city = types.PartialArg(json_path="$.city", string_value="Os", will_continue=True)
    return [
        types.Part(function_call=types.FunctionCall(name="look", will_continue=True)),
        types.Part(function_call=types.FunctionCall(partial_args=[city], will_continue=True)),
    ]


FOREVER = Wait(3600)
WHERE = Call("where", {"question": "city"})
LOOK = Call("look", {"city": "Oslo"})
WHO = Call(
    "adk_request_input",
    {"message": "Who?", "response_schema": {"type": "object", "properties": {"age": {"type": "integer"}}}},
)
WRONG = "The answer is not what was asked for: the field age does not fit."
CREDENTIAL = "adk_request_credential"
NO_KEY = "The credential must be an object with texts; it takes apiKey."
OFFLINE = "offline"
OTHERWISE = "That request was answered differently before."
GONE = "There is no such request to answer any more."


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"text": words, **more}


def approve(**more: Any) -> dict[str, Any]:
    return {"approve": "pay", "approved": True, **more}


def deny(**more: Any) -> dict[str, Any]:
    return {"approve": "pay", "approved": False, **more}


def book(approved: bool = True, **more: Any) -> dict[str, Any]:
    return {"approve": "book", "approved": approved, **more}


RELOAD = {"reload": True}
SEND = {"send": True}

ASKED = ["pay", "pay approval-requested"]
ASKED_TWICE = ["pay", "pay approval-requested, pay approval-requested"]
SUPERSEDED = ["pay", "pay output-error"]
HALF_ANSWERED = ["pay", "pay approval-responded, pay approval-requested"]
PAID = ["pay", "pay output-available, Paid."]
SEAT_ASKED = ["book", "book approval-requested, Which seat?, I asked."]
BOOKED = ["book", "book output-available, Which seat?, I asked., Booked."]
KEY_ASKED = ["go", "calendar input-available, adk_request_credential input-available"]
KEY_GIVEN = ["go", "calendar output-available, adk_request_credential output-available, Three."]
TWO_TURNS = ["hi", "one", "and?", "two"]


def two_turns() -> list[Step]:
    return [Step(text("hi"), ["hi", "one"]), Step(text("and?"), TWO_TURNS)]


APPROVALS = [
    Visit(
        "an approved call runs",
        [pay(5), "Paid.", "Bye."],
        [
            Step(text("pay"), ASKED),
            Step(approve(), PAID, ran=["pay 5"]),
            Step(text("bye"), [*PAID, "bye", "Bye."], ran=["pay 5"]),
        ],
    ),
    Visit(
        "a denied call does not run and keeps its reason",
        [pay(5), "As you like."],
        [
            Step(text("pay"), ASKED),
            Step(deny(reason="too much"), ["pay", "pay output-denied (too much), As you like."]),
            Step(RELOAD, ["pay", "pay output-denied (too much), As you like."], posts=0),
        ],
    ),
    Visit(
        "two questions are answered one after the other",
        [[pay(1), pay(2)], "Both."],
        [
            Step(text("pay"), ASKED_TWICE),
            Step(approve(), HALF_ANSWERED, posts=0, stored=ASKED_TWICE),
            Step(SEND, HALF_ANSWERED, error=NOTHING_NEW_TEXT, stored=ASKED_TWICE),
            Step(deny(), ["pay", "pay output-available, pay output-denied, Both."], ran=["pay 1"]),
        ],
    ),
    Visit(
        "a double click runs once",
        [pay(5), "Paid."],
        [Step(text("pay"), ASKED), Step(approve(clicks=2), PAID, ran=["pay 5"])],
    ),
    Visit(
        "two pages that approve the same call run it once",
        [pay(5), "Paid."],
        [
            Step(text("pay"), ASKED),
            Step(RELOAD, ASKED, posts=0),
            Step(approve(page=1), PAID, ran=["pay 5"]),
            Step(approve(page=0), PAID, ran=["pay 5"]),
        ],
    ),
    Visit(
        "a page that says otherwise later is refused",
        [pay(5), "Paid."],
        [
            Step(text("pay"), ASKED),
            Step(RELOAD, ASKED, posts=0),
            Step(approve(), PAID, ran=["pay 5"]),
            Step(deny(page=0), ["pay", "pay approval-responded"], ran=["pay 5"], error=OTHERWISE, stored=PAID),
        ],
    ),
    Visit(
        "a page that reloads in mid-approval shows the question and answers it",
        [pay(5), "Paid.", "Bye."],
        [
            Step(text("pay"), ASKED),
            Step(RELOAD, ASKED, posts=0),
            Step(approve(), PAID, ran=["pay 5"]),
            Step(text("bye"), [*PAID, "bye", "Bye."], ran=["pay 5"]),
        ],
    ),
    Visit(
        "what the model does after an approval needs an approval too",
        [pay(1), pay(2), "Both."],
        [
            Step(text("pay"), ASKED),
            Step(approve(), ["pay", "pay output-available, pay approval-requested"], ran=["pay 1"]),
            Step(approve(), ["pay", "pay output-available, pay output-available, Both."], ran=["pay 1", "pay 2"]),
        ],
    ),
    Visit(
        "a tool that asks by itself",
        [Call("pay_if_small", {"amount": 3}), "I asked.", "Done."],
        [
            Step(text("pay"), ["pay", "pay_if_small approval-requested, Pay?, I asked."]),
            Step(
                {"approve": "pay_if_small", "approved": True},
                ["pay", "pay_if_small output-available, Pay?, I asked., Done."],
                ran=["pay 3"],
            ),
        ],
    ),
    Visit(
        "a tool that asks for a payload gets it",
        [Call("book"), "I asked.", "Booked.", "Bye."],
        [
            Step(text("book"), SEAT_ASKED),
            Step(RELOAD, SEAT_ASKED, posts=0),
            Step(book(payload={"seat": "12A"}), BOOKED, ran=["book {'seat': '12A'}"]),
            Step(RELOAD, BOOKED, posts=0, ran=["book {'seat': '12A'}"]),
            Step(text("bye"), [*BOOKED, "bye", "Bye."], ran=["book {'seat': '12A'}"]),
        ],
    ),
    Visit(
        "a payload beside another approval",
        [[pay(5), Call("book")], "Both."],
        [
            Step(text("go"), ["go", "pay approval-requested, book approval-requested, Which seat?"]),
            Step(
                book(payload={"seat": "1F"}),
                ["go", "pay approval-requested, book approval-responded, Which seat?"],
                posts=0,
                stored=["go", "pay approval-requested, book approval-requested, Which seat?"],
            ),
            Step(
                approve(),
                ["go", "pay output-available, book output-available, Which seat?, Both."],
                ran=["pay 5", "book {'seat': '1F'}"],
            ),
        ],
    ),
    Visit(
        "a tool that asks for a payload is denied without one",
        [Call("book"), "I asked.", "Not booked."],
        [
            Step(text("book"), SEAT_ASKED),
            Step(book(approved=False), ["book", "book output-denied, Which seat?, I asked., adk-denial, Not booked."]),
        ],
    ),
    Visit(
        "a text in place of an answer supersedes the question",
        [pay(5), "Never mind.", "Bye."],
        [
            Step(text("pay"), ASKED),
            Step(text("wait"), [*ASKED, "wait", "Never mind."], stored=[*SUPERSEDED, "wait", "Never mind."]),
            Step(RELOAD, [*SUPERSEDED, "wait", "Never mind."], posts=0),
            Step(text("bye"), [*SUPERSEDED, "wait", "Never mind.", "bye", "Bye."]),
        ],
    ),
    Visit(
        "an answer to a superseded question is refused",
        [pay(5), "Never mind."],
        [
            Step(text("pay"), ASKED),
            Step(RELOAD, ASKED, posts=0),
            Step(text("wait"), [*ASKED, "wait", "Never mind."]),
            Step(
                approve(page=0),
                ["pay", "pay approval-responded"],
                error=GONE,
                stored=[*SUPERSEDED, "wait", "Never mind."],
            ),
        ],
    ),
]

PAGE_TOOLS = [
    Visit(
        "the output of a page's tool goes to the model",
        [WHERE, "Oslo, then."],
        [
            Step(text("go"), ["go", "where input-available"]),
            Step({"answer": "where", "output": {"city": "Oslo"}}, ["go", "where output-available, Oslo, then."]),
        ],
    ),
    Visit(
        "a text in place of an output closes the question of a page's tool",
        [WHERE, "Never mind."],
        [
            Step(text("go"), ["go", "where input-available"]),
            Step(
                text("wait"),
                ["go", "where input-available", "wait", "Never mind."],
                stored=["go", "where output-error", "wait", "Never mind."],
            ),
            Step(RELOAD, ["go", "where output-error", "wait", "Never mind."], posts=0),
        ],
    ),
    Visit(
        "so does its error",
        [WHERE, "Then not."],
        [
            Step(text("go"), ["go", "where input-available"]),
            Step(
                {"answer": "where", "state": "output-error", "errorText": "denied"},
                ["go", "where output-error, Then not."],
            ),
        ],
    ),
    Visit(
        "a page's tool beside one of the server's",
        [[WHERE, LOOK], "Blue, but where?", "Oslo."],
        [
            Step(
                text("go"), ["go", "where input-available, look output-available, Blue, but where?"], ran=["look Oslo"]
            ),
            Step(
                {"answer": "where", "output": "Oslo"},
                ["go", "where output-available, look output-available, Blue, but where?, Oslo."],
                ran=["look Oslo"],
            ),
        ],
        awaited=["where"],
    ),
    Visit(
        "a page's tool beside an approval",
        [[WHERE, pay(5)], "Paid in Oslo."],
        [
            Step(text("go"), ["go", "where input-available, pay approval-requested"]),
            Step(
                approve(),
                ["go", "where input-available, pay approval-responded"],
                posts=0,
                stored=["go", "where input-available, pay approval-requested"],
            ),
            Step(
                {"answer": "where", "output": "Oslo"},
                ["go", "where output-available, pay output-available, Paid in Oslo."],
                ran=["pay 5"],
            ),
        ],
    ),
    Visit(
        "an approval beside a page's tool",
        [[pay(5), WHERE], "Paid in Oslo."],
        [
            Step(text("go"), ["go", "pay approval-requested, where input-available"]),
            Step(
                approve(),
                ["go", "pay approval-responded, where input-available"],
                posts=0,
                stored=["go", "pay approval-requested, where input-available"],
            ),
            Step(
                {"answer": "where", "output": "Oslo"},
                ["go", "pay output-available, where output-available, Paid in Oslo."],
                ran=["pay 5"],
            ),
        ],
    ),
    Visit(
        "a credential that the user gives reaches the tool, and the server never shows it",
        [Call("calendar"), "Three.", "Bye."],
        [
            Step(text("go"), KEY_ASKED),
            Step(RELOAD, KEY_ASKED, posts=0),
            Step({"answer": CREDENTIAL, "output": {"apiKey": "hunter2"}}, KEY_GIVEN, ran=["calendar hunter2"]),
            Step(RELOAD, KEY_GIVEN, posts=0, ran=["calendar hunter2"]),
            Step(text("bye"), [*KEY_GIVEN, "bye", "Bye."], ran=["calendar hunter2"]),
        ],
    ),
    Visit(
        "a credential that is none is refused, and the request stays open",
        [Call("calendar"), "Three."],
        [
            Step(text("go"), KEY_ASKED),
            Step(
                {"answer": CREDENTIAL, "output": {"password": "hunter2"}},
                ["go", "calendar input-available, adk_request_credential output-available"],
                error=NO_KEY,
                stored=KEY_ASKED,
            ),
            Step({"answer": CREDENTIAL, "output": {"apiKey": "hunter2"}}, KEY_GIVEN, ran=["calendar hunter2"]),
        ],
    ),
    Visit(
        "an answer that does not fit is refused, and the request stays open",
        [WHO, "Hello."],
        [
            Step(text("hi"), ["hi", "adk_request_input input-available"]),
            Step(
                {"answer": "adk_request_input", "output": {"age": "old"}},
                ["hi", "adk_request_input output-available"],
                error=WRONG,
                stored=["hi", "adk_request_input input-available"],
            ),
            Step(
                {"answer": "adk_request_input", "output": {"age": 3}},
                ["hi", "adk_request_input output-available, Hello."],
            ),
        ],
    ),
]

TAKEN_BACK = [
    Visit(
        "the last answer is given again",
        ["one", "two", "three", "four"],
        [
            *two_turns(),
            Step({"regenerate": None}, ["hi", "one", "and?", "three"], kept=3),
            Step(text("more"), ["hi", "one", "and?", "three", "more", "four"]),
        ],
    ),
    Visit(
        "an earlier answer is given again",
        ["one", "two", "three", "four"],
        [
            *two_turns(),
            Step({"regenerate": 1}, ["hi", "three"], kept=1),
            Step(text("more"), ["hi", "three", "more", "four"]),
        ],
    ),
    Visit(
        "an earlier question is answered again",
        ["one", "two", "three"],
        [*two_turns(), Step({"regenerate": 0}, ["hi", "three"], kept=1)],
    ),
    Visit(
        "the last question is put otherwise",
        ["one", "two", "three"],
        [*two_turns(), Step({"edit": 2, "text": "what?"}, ["hi", "one", "what?", "three"], kept=3)],
    ),
    Visit(
        "an answer with a tool is given again",
        [LOOK, "Blue.", LOOK, "Still blue."],
        [
            Step(text("hi"), ["hi", "look output-available, Blue."], ran=["look Oslo"]),
            Step(
                {"regenerate": None},
                ["hi", "look output-available, Still blue."],
                ran=["look Oslo", "look Oslo"],
                kept=1,
            ),
        ],
    ),
    Visit(
        "what the server never got is sent again",
        ["one", "two"],
        [
            Step(text("hi"), ["hi", "one"]),
            Step(text("and?", offline=True), ["hi", "one", "and?"], error=OFFLINE, stored=["hi", "one"]),
            Step({"regenerate": None}, TWO_TURNS),
        ],
    ),
    Visit(
        "an earlier question is put otherwise",
        ["one", "two", "three", "four"],
        [
            *two_turns(),
            Step({"edit": 0, "text": "hi!"}, ["hi!", "three"], kept=1),
            Step(text("more"), ["hi!", "three", "more", "four"]),
        ],
    ),
]

BROKEN = [
    Visit(
        "the model fails in a text",
        [["Half ", RuntimeError("hunter2")], "Better."],
        [
            Step(text("go"), ["go", "Half "], error=FAILED),
            Step(text("again"), ["go", "Half ", "again", "Better."]),
        ],
    ),
    Visit(
        "a tool fails",
        [["So: ", Call("explode")], "Better."],
        [
            Step(text("go"), ["go", "So: , explode output-error"], ran=["explode"], error=FAILED),
            Step(text("again"), ["go", "So: , explode output-error", "again", "Better."], ran=["explode"]),
        ],
    ),
    Visit(
        "a tool fails and the answer is given again",
        [Call("explode"), "Better."],
        [
            Step(text("go"), ["go", "explode output-error"], ran=["explode"], error=FAILED),
            Step({"regenerate": None}, ["go", "Better."], ran=["explode"], kept=1),
        ],
    ),
    Visit(
        "a tool fails beside a page's tool, which can still be answered",
        [[WHERE, Call("explode")], "Oslo, then."],
        [
            Step(text("go"), ["go", "where input-available, explode output-error"], ran=["explode"], error=FAILED),
            Step(
                {"answer": "where", "output": "Oslo"},
                ["go", "where output-available, explode output-error, Oslo, then."],
                ran=["explode"],
            ),
        ],
    ),
    Visit(
        "the user stops a text",
        [["Half ", FOREVER, "said."], "Better."],
        [
            Step(text("go", stopAt="streaming"), ["go", "Half "], stored=["go", "Half "]),
            Step(text("again"), ["go", "Half ", "again", "Better."], stored=["go", "Half ", "again", "Better."]),
            Step(RELOAD, ["go", "Half ", "again", "Better."], posts=0),
        ],
    ),
    Visit(
        "the user stops a text and has it said again",
        [["Half ", FOREVER, "said."], "Better."],
        [
            Step(text("go", stopAt="streaming"), ["go", "Half "], stored=["go", "Half "]),
            Step({"regenerate": None}, ["go", "Better."], kept=1),
        ],
    ),
    Visit(
        "the model fails before it says anything, and is asked again",
        [RuntimeError("hunter2"), "Better."],
        [
            Step(text("go"), ["go", ""], error=FAILED),
            Step({"regenerate": None}, ["go", "Better."], kept=1),
        ],
    ),
    Visit(
        "the user stops a tool",
        [["So: ", Call("dig")], "Better."],
        [
            Step(
                text("go", stopAt="input-available"),
                ["go", "So: , dig input-available"],
                ran=["dig"],
                stored=["go", "So: , dig output-error"],
            ),
            Step(
                text("again"),
                ["go", "So: , dig input-available", "again", "Better."],
                ran=["dig"],
                stored=["go", "So: , dig output-error", "again", "Better."],
            ),
        ],
    ),
    Visit(
        "the user stops a call",
        [["So: ", *half_a_call(), FOREVER], "Better."],
        [
            Step(text("go", stopAt="input-streaming"), ["go", "So: , look input-streaming"]),
            Step(text("again"), ["go", "So: , look input-streaming", "again", "Better."]),
        ],
    ),
]

BOTH_PAID = ["pay", "pay output-available, pay output-available, Both."]
ONE_PAID = ["pay", "pay output-available, pay output-denied, Both."]
HALF_SENT = Step(approve(), HALF_ANSWERED, error=NOTHING_NEW_TEXT, stored=ASKED_TWICE)
"""A page that sends the first answer although the agent waits for both."""

EAGER = [
    Visit(
        "each of two questions is sent as soon as it is approved",
        [[pay(1), pay(2)], "Both."],
        [
            Step(text("pay"), ASKED_TWICE),
            HALF_SENT,
            Step(approve(), BOTH_PAID, ran=["pay 1", "pay 2"]),
            Step(RELOAD, BOTH_PAID, posts=0, ran=["pay 1", "pay 2"]),
        ],
        sends="template",
    ),
    Visit(
        "one of two questions is approved and sent, and the other denied",
        [[pay(1), pay(2)], "Both.", "Bye."],
        [
            Step(text("pay"), ASKED_TWICE),
            HALF_SENT,
            Step(deny(), ONE_PAID, ran=["pay 1"]),
            Step(text("bye"), [*ONE_PAID, "bye", "Bye."], ran=["pay 1"]),
        ],
        sends="template",
    ),
    Visit(
        "one of two questions is denied, and the other approved and sent",
        [[pay(1), pay(2)], "Both."],
        [
            Step(text("pay"), ASKED_TWICE),
            Step(deny(), HALF_ANSWERED, posts=0, stored=ASKED_TWICE),
            Step(approve(), ["pay", "pay output-denied, pay output-available, Both."], ran=["pay 2"]),
        ],
        sends="template",
    ),
    Visit(
        "each of two questions is sent as soon as it is answered",
        [[pay(1), pay(2)], "Both."],
        [
            Step(text("pay"), ASKED_TWICE),
            Step(deny(), HALF_ANSWERED, error=NOTHING_NEW_TEXT, stored=ASKED_TWICE),
            Step(approve(), ["pay", "pay output-denied, pay output-available, Both."], ran=["pay 2"]),
        ],
        sends="any",
    ),
    Visit(
        "half an answer is given up for other words",
        [[pay(1), pay(2)], "Never mind."],
        [
            Step(text("pay"), ASKED_TWICE),
            HALF_SENT,
            Step(
                text("wait"),
                [*HALF_ANSWERED, "wait", "Never mind."],
                stored=["pay", "pay output-error, pay output-error", "wait", "Never mind."],
            ),
        ],
        sends="template",
    ),
    Visit(
        "an approval that is sent before a page's tool beside it has its output",
        [[pay(5), WHERE], "Paid in Oslo."],
        [
            Step(text("go"), ["go", "pay approval-requested, where input-available"]),
            Step(
                approve(),
                ["go", "pay approval-responded, where input-available"],
                error=NOTHING_NEW_TEXT,
                stored=["go", "pay approval-requested, where input-available"],
            ),
            Step(
                {"answer": "where", "output": "Oslo"},
                ["go", "pay output-available, where output-available, Paid in Oslo."],
                ran=["pay 5"],
            ),
        ],
        sends="template",
    ),
    Visit(
        "a stale page of an eager app approves one of two calls that have run",
        [[pay(1), pay(2)], "Both."],
        [
            Step(text("pay"), ASKED_TWICE),
            Step(RELOAD, ASKED_TWICE, posts=0),
            HALF_SENT,
            Step(approve(), BOTH_PAID, ran=["pay 1", "pay 2"]),
            Step(approve(page=0), BOTH_PAID, ran=["pay 1", "pay 2"], stored=BOTH_PAID),
        ],
        sends="template",
    ),
    Visit(
        "an approved call that then lacks a credential",
        [Call("gated_calendar"), "No key."],
        [
            Step(text("go"), ["go", "gated_calendar approval-requested"]),
            Step({"approve": "gated_calendar", "approved": True}, ["go", "gated_calendar output-available, No key."]),
            Step(RELOAD, ["go", "gated_calendar output-available, No key."], posts=0),
        ],
        sends="any",
    ),
]


def where_again(call_id: str = "0") -> Call:
    return Call("where", {"question": "city"}, id=call_id)


def pay_again(amount: int) -> Call:
    return Call("pay", {"amount": amount}, id="0")


def answer(output: Any, call: int = 0, tool: str = "where") -> dict[str, Any]:
    return {"answer": tool, "call": call, "output": output}


WHERE_ASKED = "where input-available"
WHERE_TOLD = "where output-available"
INPUT = "adk_request_input"

SAME_IDS = [
    Visit(
        "a page's tool is called under the id of an earlier turn's call",
        [where_again(), "Oslo.", where_again(), "Rome.", where_again(), "Bonn."],
        [
            Step(text("go"), ["go", WHERE_ASKED]),
            Step(answer("Oslo"), ["go", f"{WHERE_TOLD}, Oslo."]),
            Step(text("on"), ["go", f"{WHERE_TOLD}, Oslo.", "on", WHERE_ASKED]),
            Step(answer("Rome", 1), ["go", f"{WHERE_TOLD}, Oslo.", "on", f"{WHERE_TOLD}, Rome."]),
            Step({"regenerate": None}, ["go", f"{WHERE_TOLD}, Oslo.", "on", WHERE_ASKED], kept=3),
            Step(RELOAD, ["go", f"{WHERE_TOLD}, Oslo.", "on", WHERE_ASKED], posts=0),
            Step(answer("Bonn", 1), ["go", f"{WHERE_TOLD}, Oslo.", "on", f"{WHERE_TOLD}, Bonn."]),
        ],
    ),
    Visit(
        "two calls of a page's tool under one id are answered together",
        [[where_again(), where_again()], "Both."],
        [
            Step(text("go"), ["go", f"{WHERE_ASKED}, {WHERE_ASKED}"]),
            Step(
                answer("Rome", 1),
                ["go", f"{WHERE_ASKED}, {WHERE_TOLD}"],
                posts=0,
                stored=["go", f"{WHERE_ASKED}, {WHERE_ASKED}"],
            ),
            Step(answer("Oslo", 0), ["go", f"{WHERE_TOLD}, {WHERE_TOLD}, Both."]),
            Step(RELOAD, ["go", f"{WHERE_TOLD}, {WHERE_TOLD}, Both."], posts=0),
        ],
        streams=False,
    ),
    Visit(
        "a page's tool is called again under the same id in one message",
        [where_again(), where_again(), "Both."],
        [
            Step(text("go"), ["go", WHERE_ASKED]),
            Step(answer("Oslo"), ["go", f"{WHERE_TOLD}, {WHERE_ASKED}"]),
            Step(answer("Rome", 1), ["go", f"{WHERE_TOLD}, {WHERE_TOLD}, Both."]),
            Step(RELOAD, ["go", f"{WHERE_TOLD}, {WHERE_TOLD}, Both."], posts=0),
        ],
    ),
    Visit(
        "a gated call comes under the id of an earlier turn's call",
        [pay_again(1), "One.", pay_again(2), "Two.", Call("look", {"city": "Oslo"}, id="0"), "Blue."],
        [
            Step(text("pay"), ASKED),
            Step(approve(), ["pay", "pay output-available, One."], ran=["pay 1"]),
            Step(text("pay"), ["pay", "pay output-available, One.", *ASKED], ran=["pay 1"]),
            Step(
                deny(reason="no"),
                ["pay", "pay output-available, One.", "pay", "pay output-denied (no), Two."],
                ran=["pay 1"],
            ),
            Step(
                text("look"),
                [
                    *("pay", "pay output-available, One.", "pay", "pay output-denied (no), Two."),
                    *("look", "look output-available, Blue."),
                ],
                ran=["pay 1", "look Oslo"],
            ),
        ],
    ),
    Visit(
        "a workflow asks twice under one id in one message, and again in the next",
        ["Thanks.", "Thanks again."],
        [
            Step(text("hi"), ["hi", f"{INPUT} input-available"]),
            Step(answer("a", 0, INPUT), ["hi", f"{INPUT} output-available, {INPUT} input-available"]),
            Step(answer("b", 1, INPUT), ["hi", f"{INPUT} output-available, {INPUT} output-available, Thanks."]),
            Step(RELOAD, ["hi", f"{INPUT} output-available, {INPUT} output-available, Thanks."], posts=0),
            Step(
                text("on"),
                [
                    *("hi", f"{INPUT} output-available, {INPUT} output-available, Thanks."),
                    *("on", f"{INPUT} input-available"),
                ],
            ),
            Step(
                answer("c", 2, INPUT),
                [
                    *("hi", f"{INPUT} output-available, {INPUT} output-available, Thanks."),
                    *("on", f"{INPUT} output-available, {INPUT} input-available"),
                ],
            ),
            Step(
                answer("d", 3, INPUT),
                [
                    *("hi", f"{INPUT} output-available, {INPUT} output-available, Thanks."),
                    *("on", f"{INPUT} output-available, {INPUT} output-available, Thanks again."),
                ],
            ),
        ],
        asks=["Who?", "Where?"],
    ),
]


INTERRUPTED = [
    Visit(
        "the user stops a text and goes on at once",
        [["Half ", FOREVER, "said."], "Better."],
        [
            Step(
                text("go", stopAt="streaming", then=text("no: this")),
                ["go", "Half ", "no: this", "Better."],
                posts=2,
                stored=["go", "Half ", "no: this", "Better."],
            ),
            Step(RELOAD, ["go", "Half ", "no: this", "Better."], posts=0),
        ],
        leaving_stops=False,
    ),
    Visit(
        "the user stops a tool and goes on at once",
        [["So: ", Call("dig")], "Better."],
        [
            Step(
                text("go", stopAt="input-available", then=text("no: this")),
                ["go", "So: , dig input-available", "no: this", "Better."],
                posts=2,
                ran=["dig"],
                stored=["go", "So: , dig output-error", "no: this", "Better."],
            ),
        ],
        leaving_stops=False,
    ),
    Visit(
        "the user stops a text and wants another at once",
        [["Half ", FOREVER, "said."], "Better."],
        [Step(text("go", stopAt="streaming", then={"regenerate": None}), ["go", "Better."], posts=2)],
        leaving_stops=False,
    ),
    Visit(
        "the user stops a text and rewrites the question at once",
        [["Half ", FOREVER, "said."], "Better."],
        [Step(text("go", stopAt="streaming", then={"rewrite": 0, "text": "go on"}), ["go on", "Better."], posts=2)],
        leaving_stops=False,
    ),
    Visit(
        "an earlier question is rewritten as the chatbot template does it",
        ["one", "two", "three", "four"],
        [
            *two_turns(),
            Step({"rewrite": 0, "text": "hi!"}, ["hi!", "three"], kept=1),
            Step(text("more"), ["hi!", "three", "more", "four"]),
        ],
    ),
]

PNG = {"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": "data:image/png;base64,iVBORw0KGgo="}
UPLOADED = {"type": "file", "mediaType": "image/png", "name": "dot.png", "url": "https://files.example/dot.png"}
"""A file as the template describes it, with a `name` in place of the `filename`: that is not kept."""

DOT = ["image/png, what?", "A dot."]

TEMPLATE = [
    Visit(
        "the template sends its last message",
        ["one", "two"],
        [*two_turns(), Step(RELOAD, TWO_TURNS, posts=0)],
        sends="template",
        action="send",
    ),
    Visit(
        "the template stops and sends at once",
        [["Half ", FOREVER, "said."], "Better."],
        [
            Step(
                text("go", stopAt="streaming", then=text("no: this")),
                ["go", "Half ", "no: this", "Better."],
                posts=2,
                stored=["go", "Half ", "no: this", "Better."],
            )
        ],
        sends="template",
        leaving_stops=False,
        action="stop, then send",
    ),
    Visit(
        "the template edits an earlier message",
        ["one", "two", "three", "four"],
        [
            *two_turns(),
            Step({"rewrite": 0, "text": "hi!"}, ["hi!", "three"], kept=1),
            Step(text("more"), ["hi!", "three", "more", "four"]),
        ],
        sends="template",
        action="edit",
    ),
    Visit(
        "the template asks again by an edit that changes nothing",
        ["one", "two", "three"],
        [*two_turns(), Step({"rewrite": 2, "text": "and?"}, ["hi", "one", "and?", "three"], kept=3)],
        sends="template",
        action="regenerate",
    ),
    Visit(
        "the template approves, and sends all messages from then on",
        [pay(5), "Paid.", "Bye."],
        [
            Step(text("pay"), ASKED),
            Step(approve(), PAID, ran=["pay 5"]),
            Step(text("bye"), [*PAID, "bye", "Bye."], ran=["pay 5"]),
        ],
        sends="template",
        action="approve",
    ),
    Visit(
        "the template denies, with the line of the guide",
        [pay(5), "As you like.", "Bye."],
        [
            Step(text("pay"), ASKED),
            Step(deny(reason="no"), ["pay", "pay output-denied (no), As you like."]),
            Step(text("bye"), ["pay", "pay output-denied (no), As you like.", "bye", "Bye."]),
        ],
        sends="adapted",
        action="deny",
    ),
    Visit(
        "the template denies, which it does not send, and words go with it",
        [pay(5), "As you like."],
        [
            Step(text("pay"), ASKED),
            Step(deny(reason="no"), ["pay", "pay approval-responded (no)"], posts=0, stored=ASKED),
            Step(
                text("less?"),
                ["pay", "pay approval-responded (no)", "less?", "As you like."],
                stored=["pay", "pay output-denied (no)", "less?", "As you like."],
            ),
        ],
        sends="template",
        action="deny",
    ),
    Visit(
        "the template's user types past an approval",
        [pay(5), "Never mind."],
        [
            Step(text("pay"), ASKED),
            Step(text("wait"), [*ASKED, "wait", "Never mind."], stored=[*SUPERSEDED, "wait", "Never mind."]),
            Step(RELOAD, [*SUPERSEDED, "wait", "Never mind."], posts=0),
        ],
        sends="template",
        action="type past an approval",
    ),
    Visit(
        "the template runs a tool of the page, with the line of the guide",
        [WHERE, "Oslo, then."],
        [
            Step(text("go"), ["go", "where input-available"]),
            Step(answer("Oslo"), ["go", "where output-available, Oslo, then."]),
        ],
        sends="adapted",
        action="client tool",
    ),
    Visit(
        "the template sends a file",
        ["A dot.", "Bye."],
        [
            Step(text("what?", files=[UPLOADED]), DOT, stored=DOT),
            Step(text("bye"), [*DOT, "bye", "Bye."], stored=[*DOT, "bye", "Bye."]),
            Step(RELOAD, [*DOT, "bye", "Bye."], posts=0),
        ],
        sends="template",
        action="file",
    ),
    Visit(
        "the template reloads in the middle of an answer",
        [["Half ", HELD, "said."], "Bye."],
        [
            Step(text("go", reloadAt="streaming"), ["go", "Half said."]),
            Step(text("bye"), ["go", "Half said.", "bye", "Bye."]),
        ],
        sends="template",
        leaving_stops=False,
        action="reload in mid-answer",
    ),
    Visit(
        "the template reloads after a tool has run, with the line of the guide",
        [LOOK, ["Half ", HELD, "said."]],
        [Step(text("go", reloadAt="streaming"), ["go", "look output-available, Half said."], ran=["look Oslo"])],
        sends="adapted",
        leaving_stops=False,
        action="reload in mid-answer",
    ),
    Visit(
        "the template is open in a second tab",
        [["Half ", HELD, "said."]],
        [
            Step(text("go", joinAt="streaming"), ["go", "Half said."]),
            Step({"look": True, "page": 0}, ["go", "Half said."], posts=0),
        ],
        sends="template",
        leaving_stops=False,
        action="second tab",
    ),
    Visit(
        "the template asks again after a failure",
        [["Half ", RuntimeError("hunter2")], "Better."],
        [
            Step(text("go"), ["go", "Half "], error=FAILED),
            Step({"rewrite": 0, "text": "go"}, ["go", "Better."], kept=1),
        ],
        sends="template",
        action="error and retry",
    ),
    Visit(
        "the template asks again for what the server never got",
        ["one", "two"],
        [
            Step(text("hi"), ["hi", "one"]),
            Step(text("and?", offline=True), ["hi", "one", "and?"], error=OFFLINE, stored=["hi", "one"]),
            Step({"rewrite": 2, "text": "and?"}, TWO_TURNS),
        ],
        sends="template",
        action="error and retry",
    ),
]

ELEMENTS = [
    Visit(
        "an app of AI Elements sends a file and keys of its own",
        ["A dot."],
        [
            Step(
                text("Sent with attachments", files=[PNG], body={"model": "a/model", "webSearch": True}),
                ["image/png, Sent with attachments", "A dot."],
            )
        ],
        sends="nothing",
    ),
    Visit(
        "an app of AI Elements sends nothing when the user approves",
        [pay(5), "Never mind."],
        [
            Step(text("pay"), ASKED),
            Step(approve(), ["pay", "pay approval-responded"], posts=0, stored=ASKED),
            Step(
                text("well?"),
                ["pay", "pay approval-responded", "well?", "Never mind."],
                stored=[*SUPERSEDED, "well?", "Never mind."],
            ),
        ],
        sends="nothing",
    ),
    Visit(
        "an app of AI Elements sends in the middle of an answer",
        [["Half ", FOREVER, "said."], "Better."],
        [
            Step(
                text("go", at="streaming", then=text("no: this")),
                ["go", "Half ", "no: this", "Better."],
                posts=2,
            ),
            Step(RELOAD, ["go", "Half ", "no: this", "Better."], posts=0),
        ],
        sends="nothing",
        leaving_stops=False,
    ),
    Visit(
        "an app of AI Elements goes back to a checkpoint",
        ["one", "two", "three"],
        [
            *two_turns(),
            Step(text("more", cut=2), ["hi", "one", "more", "three"], kept=2, stored=[*TWO_TURNS, "more", "three"]),
        ],
        sends="nothing",
    ),
]

CUT = [
    Visit(
        "an earlier question is put otherwise as assistant-ui does it",
        ["one", "two", "three", "four"],
        [
            *two_turns(),
            Step({"cut": 0, "text": "hi!"}, ["hi!", "three"], kept=0),
            Step(RELOAD, ["hi!", "three"], posts=0),
            Step(text("more"), ["hi!", "three", "more", "four"]),
        ],
        history_cut="rewind",
    ),
    Visit(
        "the user stops a text and puts the question otherwise at once",
        ["one", ["Half ", FOREVER, "said."], "Better."],
        [
            Step(text("hi"), ["hi", "one"]),
            Step(
                text("go", stopAt="streaming", then={"cut": 2, "text": "go on"}),
                ["hi", "one", "go on", "Better."],
                posts=2,
            ),
        ],
        leaving_stops=False,
        history_cut="rewind",
    ),
    Visit(
        "a cut history takes nothing back if the app does not say so",
        ["one", "two", "three"],
        [
            *two_turns(),
            Step(
                {"cut": 2, "text": "what?"},
                ["hi", "one", "what?", "three"],
                kept=2,
                stored=[*TWO_TURNS, "what?", "three"],
            ),
        ],
    ),
]

DENIED = "pay output-denied (too much)"
NOT_SENT = ["pay", "pay approval-responded (too much)"]

WITH_WORDS = [
    Visit(
        "a denial that was not sent goes with the next words",
        [pay(5), "As you like.", "Bye."],
        [
            Step(text("pay"), ASKED),
            Step(deny(reason="too much"), NOT_SENT, posts=0, stored=ASKED),
            Step(text("less?"), [*NOT_SENT, "less?", "As you like."], stored=["pay", DENIED, "less?", "As you like."]),
            Step(RELOAD, ["pay", DENIED, "less?", "As you like."], posts=0),
            Step(text("bye"), ["pay", DENIED, "less?", "As you like.", "bye", "Bye."]),
        ],
        sends="tools",
    ),
    Visit(
        "an approval that was not sent runs nothing when other words come",
        [pay(5), "Never mind."],
        [
            Step(text("pay"), ASKED),
            Step(approve(), ["pay", "pay approval-responded"], posts=0, stored=ASKED),
            Step(
                text("wait"),
                ["pay", "pay approval-responded", "wait", "Never mind."],
                stored=[*SUPERSEDED, "wait", "Never mind."],
            ),
            Step(RELOAD, [*SUPERSEDED, "wait", "Never mind."], posts=0),
        ],
        sends="tools",
    ),
    Visit(
        "one of two questions is denied, and words take the other's place",
        [[pay(1), pay(2)], "Never mind."],
        [
            Step(text("pay"), ASKED_TWICE),
            Step(deny(), HALF_ANSWERED, posts=0, stored=ASKED_TWICE),
            Step(
                text("wait"),
                [*HALF_ANSWERED, "wait", "Never mind."],
                stored=["pay", "pay output-denied, pay output-error", "wait", "Never mind."],
            ),
        ],
    ),
    Visit(
        "a tool that asks for a payload is denied with words",
        [Call("book"), "I asked.", "By train, then."],
        [
            Step(text("book"), SEAT_ASKED),
            Step(
                book(approved=False),
                ["book", "book approval-responded, Which seat?, I asked."],
                posts=0,
                stored=SEAT_ASKED,
            ),
            Step(
                text("by train?"),
                ["book", "book approval-responded, Which seat?, I asked.", "by train?", "By train, then."],
                stored=[
                    "book",
                    "book output-denied, Which seat?, I asked., adk-denial",
                    "by train?",
                    "By train, then.",
                ],
            ),
        ],
        sends="tools",
    ),
    Visit(
        "what a page's tool gave goes with the next words, beside a question",
        [[WHERE, pay(5)], "In Oslo, then."],
        [
            Step(text("go"), ["go", "where input-available, pay approval-requested"]),
            Step(
                {"answer": "where", "output": "Oslo"},
                ["go", "where output-available, pay approval-requested"],
                posts=0,
                stored=["go", "where input-available, pay approval-requested"],
            ),
            Step(
                text("less?"),
                ["go", "where output-available, pay approval-requested", "less?", "In Oslo, then."],
                stored=["go", "where output-available, pay output-error", "less?", "In Oslo, then."],
            ),
            Step(RELOAD, ["go", "where output-available, pay output-error", "less?", "In Oslo, then."], posts=0),
        ],
    ),
]

VISITS = [
    *APPROVALS,
    *PAGE_TOOLS,
    *TAKEN_BACK,
    *BROKEN,
    *EAGER,
    *SAME_IDS,
    *INTERRUPTED,
    *TEMPLATE,
    *ELEMENTS,
    *CUT,
    *WITH_WORDS,
]

OF_THE_LAST_MESSAGE = [visit for visit in VISITS if not visit.is_template and visit not in [*CUT, *WITH_WORDS]]
"""Those to which it makes no difference that a client sends its last message alone."""
