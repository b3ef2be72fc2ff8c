"""If a later event marks a flat call as a delegation, it is hidden from the beginning, in recordings and sessions."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from stream_protocol.check import check_file
from stream_protocol.cli import main
from stream_protocol.recording import load_recording, replay
from stream_protocol.session import session_to_messages


def event(author: str, *parts: Part, task: str | None = None, node: str = "") -> Event:
    return Event(
        invocation_id="e-1",
        author=author,
        content=Content(role="user" if author == "user" else "model", parts=list(parts)),
        branch=f"{author}@{task}" if task else None,
        isolation_scope=task,
        node_info={"path": node},  # type: ignore[arg-type]  # pydantic converts it
    )


def call(call_id: str, name: str) -> Part:
    return Part(function_call=FunctionCall(id=call_id, name=name, args={}))


def response(call_id: str, name: str) -> Part:
    return Part(function_response=FunctionResponse(id=call_id, name=name, response={"result": "ok"}))


# Both agents are called at once. The second begins when the first has ended, in the next message.
EVENTS = [
    event("user", Part(text="a table and a cab")),
    event("root", call("L", "look"), call("T", "tables"), call("C", "cabs")),
    event("root", response("L", "look")),
    event("tables", Part(text="Which day?"), task="T"),
    event("user", Part(text="Monday"), task="T"),
    event("user", response("T", "tables"), node="root@1"),
    event("cabs", Part(text="Where to?"), task="C"),
    event("user", Part(text="home"), task="C"),
    event("user", response("C", "cabs"), node="root@1"),
    event("root", Part(text="Done.")),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(one.model_dump_json(by_alias=True, exclude_none=True) for one in EVENTS))
    return path


def shown(stream: bytes) -> tuple[list[str], str]:
    """Return the tools that the stream shows, and all its text."""
    chunks: list[dict[str, Any]] = [
        json.loads(item.removeprefix("data: ")) for item in stream.decode().split("\n\n") if item.startswith("data: {")
    ]
    tools = [chunk["toolName"] for chunk in chunks if chunk["type"] == "tool-input-available"]
    return tools, " ".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


SHOWN = ["look"], "Which day? Where to? Done."


def test_a_replay_hides_them(file: Path) -> None:
    assert shown(b"".join(replay(load_recording(file), nested_agents="flat"))) == SHOWN
    assert shown(b"".join(replay(load_recording(file), hidden_tools={"look"}, nested_agents="flat"))) == ([], SHOWN[1])


def test_the_command_shows_them_nested(file: Path) -> None:
    result = CliRunner().invoke(main, ["replay", str(file)])
    assert result.exit_code == 0
    assert shown(result.stdout_bytes) == (["look", "tables", "cabs"], SHOWN[1])


def test_the_check_judges_the_stream_without_them(file: Path) -> None:
    assert list(check_file(file)) == []


def test_history_hides_them() -> None:
    session = Session(id="c", app_name="a", user_id="u", events=EVENTS)
    messages: list[Any] = session_to_messages(session, nested_agents="flat")
    parts = [part for message in messages if message["role"] == "assistant" for part in message["parts"]]
    assert [part["type"] for part in parts if part["type"].startswith("tool-")] == ["tool-look"]
    assert " ".join(part["text"] for part in parts if part["type"] == "text") == SHOWN[1]
