"""Visits with calls that the page answers: approvals, client tools, equal ids, answers that are sent too early."""

from stream_protocol.serving.runs._auto_resend import NOTHING_NEW_TEXT
from stream_protocol.testing import Call
from tests.conformance.visits.visit import (
    ASKED,
    ASKED_TWICE,
    BOOKED,
    CREDENTIAL,
    GONE,
    HALF_ANSWERED,
    KEY_ASKED,
    KEY_GIVEN,
    LOOK,
    NO_KEY,
    OTHERWISE,
    PAID,
    RELOAD,
    SEAT_ASKED,
    SEND,
    SUPERSEDED,
    WHERE,
    WHO,
    WRONG,
    Step,
    Visit,
    answer,
    approve,
    book,
    deny,
    pay,
    text,
)

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

BOTH_PAID = ["pay", "pay output-available, pay output-available, Both."]

ONE_PAID = ["pay", "pay output-available, pay output-denied, Both."]

HALF_SENT = Step(approve(), HALF_ANSWERED, error=NOTHING_NEW_TEXT, stored=ASKED_TWICE)
"""Visit in which the page sends the first answer while the agent waits for two."""

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
