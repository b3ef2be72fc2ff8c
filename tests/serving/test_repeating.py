"""A recovered run repeats stored events until it takes another way."""

from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai import types

from stream_protocol.serving.engine._resumed_sessions import ResumedSessions


def said(text: str) -> Event:
    return Event(author="root", content=types.Content(role="model", parts=[types.Part(text=text)]))


@pytest.mark.parametrize(("repeated", "is_repeating"), [("It is 10:00.", True), ("It is 10:01.", False)])
async def test_a_run_that_takes_another_way_repeats_no_longer(repeated: str, is_repeating: bool) -> None:
    store = InMemorySessionService()
    stored = await store.create_session(app_name="app", user_id="ann", session_id="c1")
    for text in ("It is 10:00.", "Good morning."):
        await store.append_event(stored, said(text))
    record: Any = SimpleNamespace(
        found_events=0, state={}, idempotency_key="key", id="r1", invocation_id="i1", rewind_before=None
    )
    sessions = ResumedSessions(store, stored, record)
    assert sessions.is_repeating()
    await sessions.append_event(sessions.found, said(repeated))
    assert sessions.is_repeating() == is_repeating
    await sessions.append_event(sessions.found, said("Good morning."))
    assert not sessions.is_repeating()
