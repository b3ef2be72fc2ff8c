"""What cannot be read is named by its place: the line and column of a text, and the event and field of a document."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

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

FILES: Final[dict[str, tuple[str, str]]] = {
    "YAML that is cut off": (f"events:\n{GOOD}\n- {{author: root,\n", "line 4, column 1 is not YAML"),
    "YAML with a tab": (f"events:\n{GOOD}\n- author:\t[\n", "line 4, column 1 is not YAML"),
    "YAML with a tag": (f"events:\n{GOOD}\n- author: !!python/name:os.system\n", "line 3, column 11 is not YAML"),
    "YAML with two keys in one": (f"events:\n{GOOD}\n- author: a: b\n", "line 3, column 12 is not YAML"),
    "a date that is none": (
        f"events:\n{GOOD}\n- author: root\n  timestamp: 2025-02-31\n",
        "line 4, column 14 has a value that YAML cannot read",
    ),
    **{
        f"{value} in YAML": (
            f"events:\n{GOOD}\n- author: root\n  turn_complete: {value}\n",
            "line 4, column 18 has a value that YAML cannot read",
        )
        for value in ('!!int ""', '!!float ""', "!!bool x", "!!timestamp x")
    },
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
        "event 2 is not an ADK event: it has no author",
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
    (tmp_path / "file").write_text(content)
    with pytest.raises(RecordingError) as refused:
        load_recording(tmp_path / "file")
    assert str(refused.value) == reason


ODD: Final[dict[str, Any]] = {
    "contents": {"contents": 3},
    "parts": {"contents": [{"role": "user", "parts": 3}, 4]},
    "calls": {"contents": [{"role": "user", "parts": [{"function_call": 3}]}]},
}


@pytest.mark.parametrize("request_", ODD.values(), ids=ODD)
def test_what_is_odd_in_a_request_is_no_words_of_the_user(request_: Any, tmp_path: Path) -> None:
    answer = {"content": {"role": "model", "parts": [{"text": "Hi."}]}}
    recorded = {"llm_request": request_, "llm_responses": [answer]}
    (tmp_path / "file").write_text(json.dumps({"recordings": [{"llm_recording": recorded}]}))
    assert len(list(load_recording(tmp_path / "file").turns())) == 1
