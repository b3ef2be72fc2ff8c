"""The code of docs/recording.md runs, and the table of the format lists the lines of a file."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai.types import UserContent

from stream_protocol.recording import Redact, record
from stream_protocol.testing import ScriptedLlm
from tests.documents import block, install_my_package
from tests.recording.recordings import drained, lines, said, source, turns

FORMAT = (Path(__file__).parents[2] / "docs" / "decisions" / "recorded-files.md").read_text()


def run(code: str) -> dict[str, Any]:
    """Return the names that the code defines."""
    scope: dict[str, Any] = {}
    exec(compile(code, "recording.md", "exec"), scope)  # code of our own page
    return scope


async def test_a_run_is_recorded_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = InMemoryRunner(LlmAgent(name="assistant", model=ScriptedLlm(turns=["Hello there."])))
    runner.auto_create_session = True
    scope = run(block("docs/recording.md", "def answer("))
    sent = [event async for event in scope["answer"](runner, UserContent("Hi"))]
    (turn,) = turns(tmp_path / "weather.jsonl")
    assert [json.loads(event.removeprefix(b"data: ")) for event in sent[:-1]] == turn.chunks
    assert turn.events[0].author == "user"


def test_a_service_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    install_my_package(monkeypatch, LlmAgent(name="assistant"))
    run(block("docs/recording.md", "ChatService(root_agent, recorder="))
    assert [path.name for path in tmp_path.iterdir()] == ["recordings"]


def assert_masks_the_whole_text(redact: Redact, path: Path) -> None:
    events = [said("I am Ada L", partial=True), said("ovelace.", partial=True), said("I am Ada Lovelace.")]
    asyncio.run(drained(record(source(events), path, redact=redact, request={"id": "Ada Lovelace"})))
    assert "ovelace" not in path.read_text()
    assert "I am [redacted]." in path.read_text()


def test_names_are_masked_in_the_whole_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given: list[Redact] = []
    monkeypatch.setattr("stream_protocol.recording.ChatRecorder", lambda _, redact: given.append(redact))
    run(block("docs/recording.md", "redact=redact_texts("))
    assert_masks_the_whole_text(given[0], tmp_path / "chat.jsonl")


def test_a_function_of_ones_own_masks_the_whole_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    redact = run(block("docs/recording.md", "def redact("))["redact"]
    assert_masks_the_whole_text(redact, tmp_path / "chat.jsonl")


def test_a_recording_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weather.jsonl").write_text(said("Mild.").model_dump_json(exclude_none=True))
    run(block("docs/recording.md", "replay(load_recording("))
    assert '"delta":"Mild."' in capsys.readouterr().out


async def test_the_table_shows_the_lines_of_a_file(tmp_path: Path) -> None:
    await drained(record(source([said("Hi")]), tmp_path / "chat.jsonl"))
    shown = [re.findall(r'"(\w+)"', row)[0] for row in re.findall(r"^\| `(\{.*?\})` \|", FORMAT, re.MULTILINE)]
    written = dict.fromkeys(next(iter(line)) for line in lines(tmp_path / "chat.jsonl"))
    assert shown == list(written)
