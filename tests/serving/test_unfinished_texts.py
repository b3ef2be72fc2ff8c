"""Texts of agents inside a call that a stop leaves unfinished, and calls whose arguments cannot be copied."""

from threading import Lock
from types import SimpleNamespace
from typing import Any

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import RunningCalls
from stream_protocol.serving.adk_runner._nested_runs import MAX_UNFINISHED, _UnfinishedTexts


def event(author: str, text: str, *, partial: bool) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author=author, content=content, partial=partial)


def test_the_texts_that_ended_leave_room_for_later_texts_beside_an_open_one() -> None:
    texts = _UnfinishedTexts()
    texts.add(event("open", "waits", partial=True))
    half = "x" * (MAX_UNFINISHED // 2)
    for _ in range(3):
        texts.add(event("other", half, partial=True))
        texts.end(event("other", half, partial=False))
    texts.add(event("other", "last", partial=True))
    assert [each["content"]["parts"][0]["text"] for each in texts.events()] == ["waits", "last"]


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
