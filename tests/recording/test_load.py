import io
import json
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

from stream_protocol.recording import LenientReader, RecordingError, read_events


def event(text: str, **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(invocation_id="e-1", author="root", content=content, **fields)


EVENTS = [event("one"), event("two")]
SESSION = Session(id="s", app_name="a", user_id="u", events=EVENTS)


def read(text: str) -> list[Event]:
    return list(read_events(io.StringIO(text)))


@pytest.mark.parametrize("by_alias", [True, False])
@pytest.mark.parametrize(
    "form", ["jsonl", "jsonl with blank lines", "session", "session on lines", "array", "array on lines"]
)
def test_every_form_gives_the_same_events(form: str, by_alias: bool) -> None:
    events = [item.model_dump(mode="json", by_alias=by_alias, exclude_none=True) for item in EVENTS]
    session = SESSION.model_dump(mode="json", by_alias=by_alias)
    lines = [json.dumps(item) for item in events]
    text = {
        "jsonl": "\n".join(lines),
        "jsonl with blank lines": "\n\n" + "\n \n".join(lines) + "\n\n",
        "session": json.dumps(session),
        "session on lines": json.dumps(session, indent=1),
        "array": json.dumps(events),
        "array on lines": json.dumps(events, indent=1),
    }[form]
    assert read(text) == EVENTS


def test_a_jsonl_is_read_as_it_is_asked_for() -> None:
    def lines() -> Any:
        yield EVENTS[0].model_dump_json() + "\n"
        raise AssertionError("read ahead")

    assert next(read_events(lines())) == EVENTS[0]


GOOD = EVENTS[0].model_dump_json()
BAD: dict[str, tuple[str, str]] = {
    "nothing": ("", "no events in it"),
    "blank lines": ("\n\n", "no events in it"),
    "no JSON": ("hello", "line 1 is not JSON"),
    "no JSON later": (f"{GOOD}\n\n{{", "line 3 is not JSON"),
    "a broken document": ('{\n"events": [\n', "line 3 is not JSON"),
    "a number": ("3", "neither events nor a session"),
    "no list": ('{"events": 3}', "neither events nor a session"),
    "a list of numbers": ("[3]", "event 1 is not an ADK event: it: "),
    "an event without its author": (f'{GOOD}\n{{"id": "x"}}', "line 2 is not an ADK event: it has no author"),
    "a number among the lines": (f"{GOOD}\n3", "line 2 is not an ADK event: it: "),
    "a deep document": ("[" * 100_000, "line 1 is nested too deeply"),
    "a deep line": (f"{GOOD}\n" + "[" * 100_000, "line 2 is nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_recording_is_refused_with_its_line(name: str) -> None:
    text, reason = BAD[name]
    with pytest.raises(RecordingError) as refused:
        read(text)
    assert str(refused.value).startswith(reason)
    assert "\n" not in str(refused.value)


def test_a_binary_file_is_refused() -> None:
    with pytest.raises(RecordingError, match="not a text file"):
        list(read_events(io.TextIOWrapper(io.BytesIO(b"\xff\x00\x80"), encoding="utf-8")))


@pytest.mark.parametrize("by_alias", [True, False])
def test_fields_of_another_adk_are_dropped_and_the_rest_counts(
    by_alias: bool, caplog: pytest.LogCaptureFixture
) -> None:
    call = types.Part(function_call=types.FunctionCall(id="A", name="look", args={"novel": 1}))
    content = types.Content(role="model", parts=[types.Part(text="hi"), call])
    known = Event(invocation_id="e-1", author="root", content=content)
    novel = known.model_dump(mode="json", by_alias=by_alias, exclude_none=True)
    novel["unheardOf"] = True
    novel["actions"]["novelAction"] = {"x": 1}
    novel["content"]["parts"][0]["novel_part"] = 1
    novel["content"]["parts"][1]["functionCall" if by_alias else "function_call"]["novelField"] = 2
    reader = LenientReader()
    text = f"{json.dumps(novel)}\n{json.dumps(novel)}"
    assert list(read_events(io.StringIO(text), reader)) == [known, known]
    assert [record.args for record in caplog.records] == [
        (name,)
        for name in (
            "content.parts.novel_part",
            f"content.parts.{'functionCall' if by_alias else 'function_call'}.novelField",
            "actions.novelAction",
        )
    ]
    list(read_events(io.StringIO(text), reader))
    assert len(caplog.records) == 3
