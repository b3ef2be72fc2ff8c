"""Errors name the place of unreadable data: the line and column in a text, or the event and field in a document."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.utils.yaml_utils import dump_pydantic_to_yaml
from google.genai import types

from stream_protocol.recording import RecordingError, load_recording

GOOD: Final = "- {author: root, invocation_id: e-1, content: {parts: [{text: Hi.}]}}"
ENTRY: Final = """recordings:
- user_message_index: 0
  agent_name: root
  llm_recording:
    llm_response: {content: {parts: [{text: Hi.}]}}
- user_message_index: 0
  agent_name: root
"""

UNKNOWN: Final = "not a recording: pass ADK events as JSON, JSON lines, YAML, an SSE response or an SQLite store"

FILES: Final[dict[str, tuple[str | bytes, str]]] = {
    "YAML that is cut off": (f"events:\n{GOOD}\n- {{author: root,\n", "line 4, column 1 is not YAML"),
    "YAML with a tab": (f"events:\n{GOOD}\n- author:\t[\n", "line 4, column 1 is not YAML"),
    "YAML with a tag": (
        f"events:\n{GOOD}\n- author: !!python/name:os.system\n",
        "line 3, column 11 has a YAML tag that is not read",
    ),
    "YAML with two keys in one": (f"events:\n{GOOD}\n- author: a: b\n", "line 3, column 12 is not YAML"),
    **{
        f"{value} in YAML": (
            f"events:\n{GOOD}\n- author: root\n  turn_complete: {value}\n",
            "line 4, column 18 has a value that YAML cannot read",
        )
        for value in ('!!int ""', '!!float ""', "!!bool x", "!!timestamp x")
    },
    "YAML that nothing shows to be a recording": ("a: [1\n", f"{UNKNOWN} (line 2, column 1 is not YAML)"),
    "YAML that begins with a tab": ("\ta: 1\n", f"{UNKNOWN} (line 1, column 1 is not YAML)"),
    "YAML with a list on a key's line": ("a: 1\nb: - c\n", f"{UNKNOWN} (line 2, column 4 is not YAML)"),
    "YAML with an own tag": (f"events:\n{GOOD}\n- !event {{}}\n", "line 3, column 3 has a YAML tag that is not read"),
    "YAML with a key that comes twice": (
        f"events:\n{GOOD}\n- author: a\n  invocation_id: e-2\n  author: b\n",
        'line 5, column 3 repeats the key "author"',
    ),
    "YAML with such a key in braces": ('a: {b: 1, "b": 2}\n', f'{UNKNOWN} (line 1, column 11 repeats the key "b")'),
    "YAML with a list as a key": (f"events:\n{GOOD}\n- ? [a]\n  : 1\n", "line 3, column 5 has a key that is no text"),
    "two documents of YAML": (f"events:\n{GOOD}\n---\nevents: []\n", "line 3, column 1 begins a second YAML document"),
    "YAML with a control character": (
        "name: Zoë\nä: \x01\n",
        f"{UNKNOWN} (line 2, column 4 has a character that YAML forbids)",
    ),
    "YAML of Latin-1": ("events: \n- author: Zoë\n".encode("latin-1"), "line 2, column 13 is not UTF-8"),
    "JSON of Latin-1": (
        json.dumps({"author": "Zoë"}, ensure_ascii=False).encode("latin-1"),
        "line 1, column 15 is not UTF-8",
    ),
    "JSON of Latin-1 on several lines": (
        '{"events": [\n{"author": "Zoë"}]}'.encode("latin-1"),
        "line 2, column 15 is not UTF-8",
    ),
    "text of Latin-1": ("Zoë\n".encode("latin-1"), "line 1, column 3 is not UTF-8"),
    "a number on the second line": (
        '{"events": [\n {"timestamp": ' + "9" * 5000 + "}]}",
        "line 2, column 16 has a number that is too long",
    ),
    "a deep list on the second line": ('{"events": \n' + "[" * 100_000, "it is nested too deeply"),
    "an event of a YAML session": (
        f"id: s\nevents:\n{GOOD}\n\n- id: x\n",
        "event 2 (line 5) is not an ADK event: it has no author",
    ),
    "an event of a YAML list": (f"{GOOD}\n- 3\n- x\n", "event 2 (line 2) is not an ADK event: it is of the type int"),
    "a list in an event of YAML": (
        f"events:\n- author: root\n  content:\n    parts:\n    - text: Hi.\n{GOOD}\n- [1]\n",
        "event 3 (line 7) is not an ADK event: it is of the type list",
    ),
    "an event of a JSON session": (
        json.dumps({"id": "s", "events": [{"author": "root"}, {"author": 3}]}),
        "event 2 is not an ADK event: its author is of the type int",
    ),
    "JSON on one line": ('{"id": "s", "events": [{"author" "root"}]}', "line 1, column 34 is not JSON"),
    "JSON on several lines": ('{"id": "s",\n "events": [\n  {"author" "root"}]}', "line 3, column 13 is not JSON"),
    "a frame": ('data: {"author" "root"}\n\n', "line 1, column 17 is not JSON"),
    "a recording that is none": (
        f"{ENTRY}- hello\n",
        "recordings[2] (line 8) cannot be read: it is no object",
    ),
    "a response that is none": (
        f"{ENTRY}  llm_recording: {{llm_responses: [{{}}, hello]}}\n",
        "recordings[1] (line 6) cannot be read: llm_recording.llm_responses[1] is no object",
    ),
    "a result that is none": (
        f"{ENTRY}  tool_recording: {{tool_call: {{id: x}}, tool_response: done}}\n",
        "recordings[1] (line 6) cannot be read: tool_recording.tool_response is no object",
    ),
    "a result that is none, in JSON": (
        json.dumps({"recordings": [{"tool_recording": 3}]}),
        "recordings[0] cannot be read: tool_recording is no object",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_the_place_is_named(name: str, tmp_path: Path) -> None:
    content, reason = FILES[name]
    (tmp_path / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RecordingError) as refused:
        load_recording(tmp_path / "file")
    assert str(refused.value) == reason


ODD: Final[dict[str, Any]] = {
    "contents": {"contents": 3},
    "parts": {"contents": [{"role": "user", "parts": 3}, 4]},
    "calls": {"contents": [{"role": "user", "parts": [{"function_call": 3}]}]},
}


@pytest.mark.parametrize("request_", ODD.values(), ids=ODD)
def test_what_is_odd_in_a_request_is_no_message_of_the_user(request_: Any, tmp_path: Path) -> None:
    answer = {"content": {"role": "model", "parts": [{"text": "Hi."}]}}
    recorded = {"llm_request": request_, "llm_responses": [answer]}
    (tmp_path / "file").write_text(json.dumps({"recordings": [{"llm_recording": recorded}]}))
    assert len(list(load_recording(tmp_path / "file").turns())) == 1


TEXTS: Final = (
    "yes",
    "No",
    "on",
    "12:30:00",
    "59:59",
    "2025-02-31",
    "2025-01-05",
    "1_000",
    "=",
    "010",
    "0b1",
    "1.5:30",
)
"""Plain texts that are texts in YAML 1.2, but other values in YAML 1.1."""


@pytest.mark.parametrize("text", TEXTS)
def test_what_yaml_1_2_reads_as_a_text_is_a_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"- {{author: root, invocation_id: e-1, content: {{parts: [{{text: {text}}}]}}}}\n")
    (turn,) = load_recording(tmp_path / "file").turns()
    content = turn.events[0].content
    assert content is not None
    assert [part.text for part in content.parts or ()] == [text]


VALUES: Final[tuple[Any, ...]] = (
    True,
    False,
    None,
    0,
    -5,
    12,
    1.5,
    -0.25,
    1e20,
    1e-7,
    "",
    "~",
    "null",
    *TEXTS,
    "1e5",
    "a: b",
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_adk_writes_as_yaml_is_read_as_it_was(value: Any, tmp_path: Path) -> None:
    args = {"value": value, "values": [value]}
    call = types.FunctionCall(id="c", name="look", args=args)
    event = Event(author="root", invocation_id="e", content=types.Content(parts=[types.Part(function_call=call)]))
    dump_pydantic_to_yaml(Session(id="s", app_name="a", user_id="u", events=[event]), tmp_path / "file")
    (turn,) = load_recording(tmp_path / "file").turns()
    (read,) = turn.events[0].get_function_calls()
    assert read.args == args
    assert [type(one) for one in (read.args or {}).values()] == [type(value), list]
