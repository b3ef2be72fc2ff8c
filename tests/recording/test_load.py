"""Files that are recordings of ADK events, and files that are not."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

from stream_protocol.recording import Recording, load_recording


def event(text: str, **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(invocation_id="e-1", author="root", content=content, **fields)


EVENTS = [event("one"), event("two")]
SESSION = Session(id="s", app_name="a", user_id="u", events=EVENTS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "recording"


def events_in(recording: Recording) -> list[Event]:
    return [event for turn in recording.turns() for event in turn.events]


@pytest.mark.parametrize("by_alias", [True, False])
@pytest.mark.parametrize("exclude_none", [True, False])
@pytest.mark.parametrize(
    "form", ["jsonl", "jsonl with blank lines", "jsonl of Windows", "session", "session on lines", "array", "on lines"]
)
def test_every_form_of_json_gives_the_same_events(form: str, by_alias: bool, exclude_none: bool, file: Path) -> None:
    events = [item.model_dump(mode="json", by_alias=by_alias, exclude_none=exclude_none) for item in EVENTS]
    session = SESSION.model_dump(mode="json", by_alias=by_alias, exclude_none=exclude_none)
    lines = [json.dumps(item) for item in events]
    text = {
        "jsonl": "\n".join(lines),
        "jsonl with blank lines": "\n\n" + "\n \n".join(lines) + "\n\n",
        "jsonl of Windows": "\ufeff" + "\r\n".join(lines) + "\r\n",
        "session": json.dumps(session),
        "session on lines": json.dumps(session, indent=1),
        "array": json.dumps(events),
        "on lines": json.dumps(events, indent=1),
    }[form]
    file.write_bytes(text.encode())
    assert events_in(load_recording(file)) == EVENTS
