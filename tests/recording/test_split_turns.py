"""Recorded events are split into the turns that a client had."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.genai import types

from stream_protocol import ConverterOptions, recording
from stream_protocol.recording import TimedEvent
from stream_protocol.recording._split_turns import split_turns
from stream_protocol.session import HiddenEvents
from stream_protocol.wire.client import MessageReducer


def event(
    author: str, *parts: types.Part, invocation: str = "e-1", waiting: Iterable[str] = (), **fields: Any
) -> Event:
    return Event(
        invocation_id=invocation,
        author=author,
        content=types.Content(role="user" if author == "user" else "model", parts=list(parts)),
        long_running_tool_ids=set(waiting),
        **fields,
    )


def text(words: str) -> types.Part:
    return types.Part(text=words)


def call(call_id: str, name: str = "pay", **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def response(call_id: str, name: str = "pay", **value: Any) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=value))


def gate(call_id: str, approval_id: str, invocation: str = "e-1") -> list[Event]:
    """Return a call, its confirmation call and its placeholder response."""
    asked = call(approval_id, "adk_request_confirmation", originalFunctionCall={"id": call_id, "name": "pay"})
    placeholder = EventActions(requested_tool_confirmations={call_id: {"hint": ""}})  # type: ignore[dict-item]  # pydantic converts it
    return [
        event("root", call(call_id), invocation=invocation),
        event("root", asked, waiting=[approval_id], invocation=invocation),
        event("root", response(call_id, error="confirm"), actions=placeholder, invocation=invocation),
    ]


def ran(call_id: str, **fields: Any) -> Event:
    return event("root", response(call_id, paid=1), **fields)


CONFIRMED = event("user", response("B", "adk_request_confirmation", confirmed=True))
HI, MORE = event("user", text("hi")), event("user", text("more"))
HELLO = event("root", text("Hello."))


def replay_sse(events: Iterable[Event], **options: Unpack[ConverterOptions]) -> Iterator[bytes]:
    return recording.replay_sse(split_turns(map(TimedEvent, events), HiddenEvents(), None), **options)


def replayed(events: Iterable[Event]) -> list[list[dict[str, Any]]]:
    """Return the responses, each as a list of chunks. All responses must be complete."""
    *responses, rest = b"".join(replay_sse(events)).decode().split("data: [DONE]\n\n")
    assert rest == ""
    split = [[json.loads(item[6:]) for item in found.split("\n\n") if item] for found in responses]
    assert all(chunks[0]["type"] == "start" and chunks[-1]["type"] in ("finish", "abort", "error") for chunks in split)
    return split


def ids(events: Iterable[Event]) -> list[str]:
    return [chunks[0]["messageId"] for chunks in replayed(events)]


SPLIT: list[tuple[str, list[Event], list[str]]] = [
    ("nothing", [], []),
    ("one turn", [HI, HELLO], ["e-1"]),
    ("one turn without the user's event", [HELLO, HELLO], ["e-1"]),
    (
        "two invocations without the user's events",
        [HELLO, event("root", text("Again."), invocation="e-2")],
        ["e-1", "e-2"],
    ),
    ("a second text in one invocation", [HI, HELLO, MORE, HELLO], ["e-1", "e-1.2"]),
    ("an approval", [HI, *gate("A", "B"), CONFIRMED, ran("A")], ["e-1", "e-1"]),
    ("an approval without the user's event", [*gate("A", "B"), ran("A"), HELLO], ["e-1", "e-1"]),
    ("an approval that ADK 1 ran as an invocation", [*gate("A", "B"), ran("A", invocation="e-2")], ["e-1", "e-1"]),
    (
        "an approval of ADK 1 with the user's event",
        [
            HI,
            *gate("A", "B"),
            event("user", response("B", "adk_request_confirmation", confirmed=True), invocation="e-2"),
            ran("A", invocation="e-2"),
        ],
        ["e-1", "e-1"],
    ),
    (
        "a client tool",
        [HI, event("root", call("L", "ask"), waiting=["L"]), event("user", response("L", "ask", x=1)), HELLO],
        ["e-1", "e-1"],
    ),
    (
        "a long-running tool that answers at once",
        [
            HI,
            event("root", call("L", "ask"), waiting=["L"]),
            event("root", response("L", "ask", status="pending")),
            HELLO,
        ],
        ["e-1"],
    ),
    (
        "a delegation's result, which ADK writes in the user's name",
        [
            HI,
            event("root", call("T", "task")),
            event("user", response("T", "task"), node_info={"path": "root@1"}),
            HELLO,
        ],
        ["e-1"],
    ),
    (
        "an answer to a call that was not recorded, with words",
        [HI, HELLO, event("user", text("yes"), response("Z", "ask", x=1)), HELLO],
        ["e-1", "e-1.2"],
    ),
    (
        "several answers in events of their own",
        [
            HI,
            event("root", call("L", "ask"), call("M", "ask"), waiting=["L", "M"]),
            event("user", response("L", "ask", x=1)),
            event("user", response("M", "ask", x=1)),
            HELLO,
        ],
        ["e-1", "e-1"],
    ),
    ("an approval that a text superseded", [HI, *gate("A", "B"), MORE, HELLO, ran("A")], ["e-1", "e-1.2"]),
]


@pytest.mark.parametrize(("events", "expected"), [row[1:] for row in SPLIT], ids=[row[0] for row in SPLIT])
def test_each_time_somebody_speaks_or_answers_a_response_begins(events: list[Event], expected: list[str]) -> None:
    assert ids(events) == expected


def test_a_continuation_brings_the_output_and_not_the_call_again() -> None:
    first, second = replayed([HI, *gate("A", "B"), CONFIRMED, ran("A"), HELLO])
    assert [chunk["type"] for chunk in first if chunk["type"].startswith("tool")] == [
        "tool-input-start",
        "tool-input-available",
        "tool-approval-request",
    ]
    assert [chunk["type"] for chunk in second[:3]] == ["start", "tool-output-available", "start-step"]
    assert second[1]["output"] == {"paid": 1}


def test_what_is_stored_but_never_shown_begins_no_response() -> None:
    compaction = EventCompaction(
        start_timestamp=0, end_timestamp=1, compacted_content=types.Content(role="model", parts=[text("short")])
    )
    hidden = [
        Event(author="user", invocation_id="e-7", actions=EventActions(compaction=compaction)),
        Event(author="user", invocation_id="e-8", actions=EventActions(state_delta={"a": 1})),
    ]
    assert ids([HI, HELLO, *hidden]) == ["e-1"]


def test_a_response_is_given_out_before_the_recording_ends() -> None:
    def endless() -> Iterator[Event]:
        yield HI
        yield HELLO
        raise AssertionError("read ahead")

    stream = replay_sse(endless())
    assert b'"start"' in next(stream)


def test_options_are_the_converters() -> None:
    thought = event("root", types.Part(text="hm", thought=True))
    assert b"reasoning" in b"".join(replay_sse([HI, thought, HELLO]))
    assert b"reasoning" not in b"".join(replay_sse([HI, thought, HELLO], send_reasoning=False))


def folded(events: Iterable[Event]) -> dict[str, Any]:
    """Return the assistant messages of a client that gets each response. The client fails if a response is for another
    one."""
    messages: dict[str, Any] = {}
    responses: list[Any] = replayed(events)
    for chunks in responses:
        reducer = MessageReducer(message=messages.get(chunks[0]["messageId"]))
        for chunk in chunks:
            reducer.apply(chunk)
        messages[reducer.message["id"]] = reducer.message
    return messages


def test_messages_that_come_with_answers_break_no_replay() -> None:
    answers = [response("L", "ask", x=1), response("B", "adk_request_confirmation", confirmed=True)]
    events = [
        event("root", call("L", "look"), call("A")),
        event("user", text("and hurry"), *answers),
        *gate("A", "B"),
        event("user", text("yes"), response("B", "adk_request_confirmation", confirmed=False)),
    ]
    calls = [[part["toolCallId"] for part in one["parts"] if "toolCallId" in part] for one in folded(events).values()]
    assert calls == [["L", "A"], ["A.2"], []]


def test_answers_in_events_of_their_own_begin_one_response() -> None:
    events = [
        HI,
        *gate("A", "B"),
        event("user", response("B", "adk_request_confirmation", confirmed=False)),
        event("user", response("L", "ask", x=1)),
        *gate("A", "B"),
        event("user", response("B", "adk_request_confirmation", confirmed=True)),
        HELLO,
    ]
    assert list(folded(events)) == ["e-1"]
