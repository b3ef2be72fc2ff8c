"""The recorded runs of the site are those that this version would record."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from stream_protocol.inspector._dropped_file import numbered_entries
from stream_protocol.recording.write import header_line
from website.demo_runs import CHATS
from website.runs import RUNS, path_of


def entries_of(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path_of(name).read_text(encoding="utf-8"))["entries"]
    return found


def chunks_of(entries: list[dict[str, Any]]) -> list[Any]:
    """The chunks, without the texts of failed runs: the server's ``on_error`` wrote them."""
    chunks = [entry["chunk"] for entry in entries if "chunk" in entry]
    return [{"type": "error"} if chunk["type"] == "error" else chunk for chunk in chunks]


def test_each_run_of_the_list_can_be_recorded_again() -> None:
    assert RUNS.keys() == CHATS.keys()


@pytest.mark.parametrize("name", RUNS)
def test_the_events_of_a_run_become_its_chunks(name: str, tmp_path: Path) -> None:
    entries = entries_of(name)
    lines = [header_line(chat=None, options={"ai_sdk": 7})]
    lines += [orjson.dumps(entry) + b"\n" for entry in entries if entry.keys() & {"turn", "event", "chunk", "end"}]
    (file := tmp_path / "run.jsonl").write_bytes(b"".join(lines))
    now = [orjson.loads(entry) for entry in numbered_entries(file, None)]
    assert chunks_of(now) == chunks_of(entries), "python -m website.demo_runs"


@pytest.mark.parametrize("name", RUNS)
def test_a_run_shows_the_prompts_of_its_models_and_the_user_messages(name: str) -> None:
    entries = entries_of(name)
    calls = [(number, entry["prompt"]["call"]) for number, entry in enumerate(entries) if "prompt" in entry]
    assert calls
    said = [entry["turn"]["request"]["message"] for entry in entries if "turn" in entry]
    texts = [part["text"] for message in said if message["role"] == "user" for part in message["parts"]]
    assert texts == [*CHATS[name].messages]
    assert ("failure" in json.dumps(entries)) == (name == "failure")


def test_no_run_names_a_folder_of_the_machine_that_recorded_it() -> None:
    texts = [path_of(name).read_text(encoding="utf-8") for name in RUNS]
    assert not any('File \\"/' in text and "site-packages" in text for text in texts)
