"""What docs/recording.md says is so: its code runs, and its table has the lines of a file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.recording import record
from stream_protocol.testing import ScriptedLlm
from tests.recording.recordings import drained, lines, said, source, turns

PAGE = (Path(__file__).parents[2] / "docs" / "recording.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(mark: str, **names: Any) -> dict[str, Any]:
    """The names that the one block with this text defines, beside those that it is given."""
    (code,) = [block for block in BLOCKS if mark in block]
    scope = dict(names)
    exec(compile(code, "recording.md", "exec"), scope)  # the page is ours
    return scope


async def test_a_run_is_recorded_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    agent = LlmAgent(name="assistant", model=ScriptedLlm(turns=["Hello there."]))
    scope = run("def answer(", root_agent=agent)
    sent = [event async for event in scope["answer"]("Hi")]
    (turn,) = turns(tmp_path / "weather.jsonl")
    assert [json.loads(event.removeprefix(b"data: ")) for event in sent[:-1]] == turn.chunks
    assert turn.events[0].author == "user"


def test_a_service_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("ChatService(root_agent, recorder=")
    assert [path.name for path in tmp_path.iterdir()] == ["recordings"]


async def test_a_function_of_ones_own_masks_the_whole_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def masked(value: dict[str, Any]) -> Any:
        return json.loads(json.dumps(value).replace("Ada Lovelace", "N. N."))

    redact = run("def redact(", masked=masked, ChatRecorder=lambda *_, **__: None)["redact"]
    events = [said("I am Ada L", partial=True), said("ovelace.", partial=True), said("I am Ada Lovelace.")]
    await drained(record(source(events), tmp_path / "chat.jsonl", redact=redact))
    assert "ovelace" not in (tmp_path / "chat.jsonl").read_text()
    assert "I am N. N." in (tmp_path / "chat.jsonl").read_text()


async def test_the_table_shows_the_lines_of_a_file(tmp_path: Path) -> None:
    await drained(record(source([said("Hi")]), tmp_path / "chat.jsonl"))
    shown = [re.findall(r'"(\w+)"', row)[0] for row in re.findall(r"^\| `(\{.*?\})` \|", PAGE, re.MULTILINE)]
    written = dict.fromkeys(next(iter(line)) for line in lines(tmp_path / "chat.jsonl"))
    assert shown == list(written)
