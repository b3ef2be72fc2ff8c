"""The memory of messages is estimated before they exist: never far below what they take, and never far above."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.genai import types

from stream_protocol.serving.base._response_memory import held_size
from stream_protocol.session import session_to_messages

ENOUGH = 2**40


def event(author: str, *parts: types.Part, number: int = 0, **more: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, invocation_id=f"i{number}", content=types.Content(role=role, parts=list(parts)), **more)


def text(words: str) -> types.Part:
    return types.Part(text=words)


def called(result: Any) -> list[Event]:
    call = types.FunctionCall(id="c", name="look", args={"at": "it"})
    response = types.FunctionResponse(id="c", name="look", response={"result": result})
    return [
        event("user", text("hi")),
        event("root", types.Part(function_call=call)),
        event("root", types.Part(function_response=response)),
    ]


def file_of(size: int) -> types.Part:
    return types.Part(inline_data=types.Blob(data=bytes(size), mime_type="application/pdf"))


SHAPES: dict[str, list[Event]] = {
    "many short messages": [
        event(author, text(f"word {number}"), number=number) for number in range(200) for author in ("user", "root")
    ],
    "a file": [event("user", text("look"), file_of(2**20))],
    "many files": [event("user", *[file_of(2**14)] * 200)],
    "rows": called([{"id": number, "name": str(number), "tags": [number, number]} for number in range(2_000)]),
    "numbers": called(list(range(20_000))),
    "empty objects": called([{} for _ in range(20_000)]),
    "a text in another script": called("\u5bc6\U0001f52c" * 200_000),
    "many parts": [
        event("user", text("hi")),
        event("root", *[types.Part(text="t", thought=number % 2 == 0) for number in range(2_000)]),
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_is_about_what_the_messages_take(shape: str) -> None:
    events = SHAPES[shape]
    session = Session(id="c", app_name="app", user_id="ann", events=events)
    session_to_messages(session)  # loads modules, fills caches
    gc.collect()
    tracemalloc.start()
    messages = session_to_messages(session)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert messages
    estimated = held_size(events, with_state=False, enough=ENOUGH)
    assert 0.8 * taken < estimated
    if shape != "a text in another script":  # the events and the messages share it
        assert estimated < 5 * taken


def test_state_counts_where_it_is_shown() -> None:
    actions = EventActions(state_delta={"notes": "x" * 10**6})
    events = [event("root", text("hi"), actions=actions)]
    assert held_size(events, with_state=False, enough=ENOUGH) < 10_000
    assert held_size(events, with_state=True, enough=ENOUGH) > 10**6


def test_it_counts_no_further_than_is_enough() -> None:
    endless: list[Any] = []
    endless.append(endless)
    endless.append(endless)
    assert held_size(called(endless), with_state=False, enough=10**6) < 2 * 10**6
    many = called([bytes(10**6)] * 10)
    assert 3 * 10**6 <= held_size(many, with_state=False, enough=3 * 10**6) < 6 * 10**6
