"""Visits in which the user or a failure ends a run: edits, stops, new messages, truncated histories."""

from stream_protocol.serving import ServiceLimits
from stream_protocol.testing import Call
from tests.conformance.visits.visit import (
    ASKED,
    ASKED_TWICE,
    FAILED,
    FOREVER,
    HALF_ANSWERED,
    LOOK,
    OFFLINE,
    RELOAD,
    SEAT_ASKED,
    SUPERSEDED,
    TOO_LONG,
    TWO_TURNS,
    WHERE,
    Step,
    Visit,
    approve,
    book,
    deny,
    half_a_call,
    pay,
    text,
    two_turns,
)

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
        "an answer becomes too long",
        [[*["Half"] * 8, FOREVER], "Better."],
        [
            Step(text("go"), ["go", "Half" * 8], error=TOO_LONG),
            Step(text("again"), ["go", "Half" * 8, "again", "Better."]),
        ],
        limits=ServiceLimits(max_chunks=10),
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
        truncated_history="rewind",
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
        truncated_history="rewind",
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
