"""Visits with the requests of two kits: Vercel's chatbot template and AI Elements."""

from tests.conformance.tool_agent import HELD
from tests.conformance.visits.visit import (
    ASKED,
    FAILED,
    FOREVER,
    LOOK,
    OFFLINE,
    PAID,
    RELOAD,
    SUPERSEDED,
    TWO_TURNS,
    WHERE,
    Step,
    Visit,
    answer,
    approve,
    deny,
    pay,
    text,
    two_turns,
)

PNG = {"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": "data:image/png;base64,iVBORw0KGgo="}

UPLOADED = {"type": "file", "mediaType": "image/png", "name": "dot.png", "url": "https://files.example/dot.png"}
"""File in the template's form, with `name` instead of `filename`. The name is not stored."""

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
        action="send a message while an approval is pending",
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
