"""Texts of agents inside a call that a stop leaves unfinished, and calls whose arguments cannot be copied."""

from threading import Lock
from types import SimpleNamespace
from typing import Any

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import CallReference, RunningCalls
from stream_protocol.serving.adk_runner._nested_runs import MAX_UNFINISHED, NestedCall


def event(author: str, text: str, *, partial: bool) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author=author, content=content, partial=partial)


def nested_call() -> NestedCall:
    context: Any = SimpleNamespace(get_invocation_context=lambda: SimpleNamespace(run_config=None))
    call: Any = SimpleNamespace(reference=CallReference("c", "work"), invocation_id="i")
    outer: Any = SimpleNamespace(is_open=True, post=lambda _event: None)
    nested = NestedCall(call, context, outer)
    nested.begin()
    return nested


def kept_texts(nested: NestedCall) -> list[str]:
    kept: Any = nested.kept
    return [each["content"]["parts"][0]["text"] for each in kept["events"] if each.get("partial")]


def test_the_texts_that_ended_leave_room_for_later_texts_beside_an_open_one() -> None:
    nested = nested_call()
    nested.add(event("open", "waits", partial=True))
    half = "x" * (MAX_UNFINISHED // 2)
    for _ in range(3):
        nested.add(event("other", half, partial=True))
        nested.add(event("other", half, partial=False))
    nested.add(event("other", "last", partial=True))
    assert kept_texts(nested) == ["waits", "last"]


def test_the_texts_of_one_call_have_a_bound() -> None:
    nested = nested_call()
    nested.add(event("open", "x" * MAX_UNFINISHED, partial=True))
    nested.add(event("other", "too much", partial=True))
    assert kept_texts(nested) == ["x" * MAX_UNFINISHED]


def test_a_tool_without_a_call_event_may_have_arguments_that_cannot_be_copied() -> None:
    lock = Lock()
    context: Any = SimpleNamespace(
        agent_name="root",
        function_call_id=None,
        invocation_id="i",
        session=SimpleNamespace(events=[]),
        _invocation_context=SimpleNamespace(branch=None),
    )
    assert RunningCalls().start(context, "work", {"lock": lock}).args == {"lock": lock}
