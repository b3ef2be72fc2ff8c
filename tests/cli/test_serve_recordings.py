"""``adk-ui-stream serve --replay``: in a separate process, and its refusals."""

import hashlib
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette

from stream_protocol.check import Rule
from stream_protocol.cli import main
from stream_protocol.replay_server import load_library
from stream_protocol.wire import shown
from tests.conformance.fixtures import FOLDER
from tests.documents import block
from tests.processes import HANG, serving
from tests.replay_server.fixture_recordings import write_recordings
from tests.serving.support import JSON_TYPE, chat, chunks, said, text

SEVERAL = json.dumps(
    {
        "eval_set_id": "set",
        "eval_cases": [
            {
                "eval_id": name,
                "conversation": [
                    {
                        "invocation_id": f"i-{name}",
                        "user_content": {"role": "user", "parts": [{"text": f"hi {name}"}]},
                        "final_response": {"role": "model", "parts": [{"text": f"I am {name}."}]},
                    }
                ],
            }
            for name in "ab"
        ],
    }
)
"""An evalset of two conversations."""


def digests(folder: Path) -> dict[Path, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_folder_is_served_and_nothing_is_written(tmp_path: Path) -> None:
    folder = write_recordings(tmp_path / "recordings", "two_turns", "streamed_arguments")
    (folder / "README.md").write_text("Recordings of the weather agent.\n")
    for name in ("two_turns.expected.jsonl", "two_turns.v7.expected.jsonl"):
        (folder / name).write_text('{"type":"start"}\n[DONE]\n')
    before = digests(tmp_path)
    origin = {"origin": "http://localhost:5173"}
    command = ("--replay", str(folder), "--cors-origin", origin["origin"])
    with serving(*command, cwd=tmp_path) as (process, url), httpx.Client(base_url=url, timeout=HANG) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        listed = http.get("/api/chats").json()["chats"]
        assert [(one["id"], one["title"]) for one in listed] == [
            ("streamed_arguments", "weather?"),
            ("two_turns", "hi"),
        ]
        assert http.get("/api/chats?archived=true").json() == {"chats": [], "nextCursor": None, "hasArchived": False}
        assert http.get("/page.json").json() == {"suggestions": ["weather?", "hi"], "inspector": False}
        assert http.get("/api/chat/two_turns").json() == {"messages": []}
        assert http.get("/api/chat/nowhere").status_code == 404
        answer = http.post("/api/chat", json=chat(said("hi")), headers=origin)
        assert answer.headers["access-control-allow-origin"] == origin["origin"]
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert text(chunks(answer.text))
        assert [message["role"] for message in http.get("/api/chat/c1").json()["messages"]] == ["user", "assistant"]
        assert http.post("/api/chat/c1/stop").status_code == 202
        assert http.delete("/api/chat/c1").status_code == 204
        assert "<html" in http.get("/").text
        assert http.post("/api/chat", content=b"{", headers=JSON_TYPE).status_code == 400
        process.send_signal(signal.SIGTERM)
        process.wait()
        (warning,) = process.log.read_text().splitlines()
        assert "README.md is skipped: " in warning
    assert digests(tmp_path) == before


def test_the_environment_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GEMINI_"))]:
        monkeypatch.delenv(name)
    write_recordings(tmp_path, "text")
    options = ("--replay", str(tmp_path / "text.jsonl"), "--pace", "recorded", "--ai-sdk", "7")
    with serving(*options, cwd=tmp_path) as (_, url):
        words = httpx.get(f"{url}/api/chats", timeout=HANG).json()["chats"][0]["title"]
        assert chunks(httpx.post(f"{url}/api/chat", json=chat(said(words)), timeout=HANG).text)


def test_the_inspector_shows_the_turns_that_were_played(tmp_path: Path) -> None:
    write_recordings(tmp_path, "two_turns")
    command = ("--replay", "two_turns.jsonl", "--inspect")
    with serving(*command, cwd=tmp_path) as (_, url), httpx.Client(base_url=url, timeout=HANG) as http:
        assert http.get("/page.json").json()["inspector"] is True

        def entries(chat_id: str, after: int = 0) -> dict[str, Any]:
            found: dict[str, Any] = http.get(f"/api/chat/{chat_id}/inspect?after={after}").json()
            return found

        assert entries("c1") == {"entries": [], "next": 0}
        assert http.get("/api/chat/c1/inspect/findings").status_code == 404
        sent = chunks(http.post("/api/chat", json=chat(said("hi"))).text)
        first = entries("c1")
        assert [entry["chunk"] for entry in first["entries"] if "chunk" in entry] == sent
        assert "turn" in first["entries"][0]
        assert "end" in first["entries"][-1]
        assert first["next"] == len(first["entries"])
        http.post("/api/chat", json=chat(said("hi again")))
        second = entries("c1", first["next"])
        assert "turn" in second["entries"][0]
        assert second["next"] == first["next"] + len(second["entries"])
        assert http.get("/api/chat/c1/inspect/findings").json() == {"findings": []}
        assert http.get("/api/inspect/agents").json() is None
        assert [rule["name"] for rule in http.get("/api/inspect/rules").json()] == [*Rule]
        assert "def test_" in http.get("/api/chat/two_turns/inspect/pytest").text
        saved = http.get("/api/chat/c1/inspect/recording")
        assert saved.headers["content-disposition"].startswith("attachment; filename=")
        shown = http.post("/api/inspect", content=saved.content).json()
        assert [entry["chunk"] for entry in shown["entries"] if "chunk" in entry][: len(sent)] == sent


def test_a_held_turn_is_shown_as_far_as_it_was_sent(tmp_path: Path) -> None:
    write_recordings(tmp_path, "text")
    command = ("--replay", "text.jsonl", "--inspect", "--pace", "held")
    with serving(*command, cwd=tmp_path) as (_, url), httpx.Client(base_url=url, timeout=HANG) as http:
        words = http.get("/api/chats").json()["chats"][0]["title"]
        with http.stream("POST", "/api/chat", json=chat(said(words))):
            for count in (2, 3):
                http.post("/__replay/c1/step", json={"count": 1 if count == 3 else 2})
                shown = http.get("/api/chat/c1/inspect").json()["entries"]
                assert sum("chunk" in entry for entry in shown) == count
            http.post("/__replay/c1/step", json={"all": True})


def test_one_of_several_conversations_in_a_file_is_served(tmp_path: Path) -> None:
    (tmp_path / "several.json").write_text(SEVERAL)
    with serving("--replay", "several.json", "--session", "b", cwd=tmp_path) as (_, url):
        answer = httpx.post(f"{url}/api/chat", json=chat(said("hi b")), timeout=HANG)
    assert text(chunks(answer.text)) == "I am b."


NOTHING_TO_SERVE = (
    "`serve` needs the folder of an agent, or --replay. Try: adk-ui-stream serve my_agent. "
    "Without an agent: adk-ui-stream demo"
)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            [],
            NOTHING_TO_SERVE,
        ),
        (["agent", "--replay", "."], "agent and --replay cannot be combined: serve either the agent or the recordings"),
        (["--replay", "nowhere"], "nowhere: No such file or directory"),
        (["--replay", "n" * 300], f"{'n' * 300}: File name too long"),
        (["--replay", "empty"], "empty: the folder has no recordings"),
        (
            ["--replay", "a.expected.jsonl"],
            "a.expected.jsonl: the file is the expected stream of a test: pass the recording beside it",
        ),
        (["--replay", "several.json"], 'several.json: 2 eval cases are in it, and --session chooses one: "a", "b"'),
        (["--replay", "several.json", "--session", "c"], 'several.json: no eval case "c" in it; it has "a", "b"'),
        (["agent:root", "--pace", "held"], "--pace needs --replay"),
        (["agent:root", "--session", "a"], "--session needs --replay"),
        (["--replay", "text.jsonl", "--user-header", "X-User"], "--user-header cannot be combined with --replay"),
        (["--replay", "twins"], "twins: the names of a.json and a.jsonl differ only in the suffix: rename one"),
    ],
)
def test_what_cannot_be_served_is_one_line_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], told: str
) -> None:
    monkeypatch.chdir(write_recordings(tmp_path, "text"))
    Path("several.json").write_text(SEVERAL)
    Path("empty").mkdir()
    Path("a.expected.jsonl").touch()
    Path("twins").mkdir()
    for ending in ("json", "jsonl"):
        Path("twins", f"a.{ending}").write_bytes((FOLDER / "text" / "turn1.jsonl").read_bytes())
    result = CliRunner().invoke(main, ["serve", *arguments])
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {told}\n")


def test_a_recording_in_place_of_a_target_offers_to_replay_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_recordings(tmp_path, "text"))
    Path("notes").mkdir()
    Path("notes", "notes.json").write_text('{"type": "note"}')
    Path("my recordings").mkdir()
    Path("my recordings", "text.jsonl").write_bytes(Path("text.jsonl").read_bytes())
    for name, offered in {"text.jsonl": "text.jsonl", "my recordings": "'my recordings'", "notes": None}.items():
        text = CliRunner().invoke(main, ["serve", name]).stderr
        assert text.startswith(f"error: cannot load {name}: ")
        assert text.partition(" Try: ")[2] == (f"adk-ui-stream serve --replay {offered}\n" if offered else "")


@pytest.mark.parametrize("pace", ["slow", "0", "-1", "nan", "inf", ""])
def test_a_pace_is_a_word_or_a_factor(pace: str) -> None:
    result = CliRunner().invoke(main, ["serve", "--replay", ".", "--pace", pace])
    assert result.exit_code == 2
    assert f"{shown(pace)} is not a pace: use instant, recorded, held or a factor" in result.stderr


def test_the_code_of_the_page_on_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_recordings(tmp_path / "recordings", "text")
    monkeypatch.chdir(tmp_path)
    code = block("docs/replay-server.md", "create_replay_app(")
    names: dict[str, Any] = {}
    exec(compile(code, "replay-server.md", "exec"), names)  # the page is ours
    assert isinstance(names["app"], Starlette)


def test_a_folder_of_other_files_has_three_warnings_and_a_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(write_recordings(tmp_path, "text"))
    for number in range(8):
        Path(f"note{number}.md").write_text("# Notes\n")
    assert [entry.name for entry in load_library(".")] == ["text"]
    *named, last = caplog.messages
    assert [message.partition(":")[0] for message in named] == [f"note{number}.md is skipped" for number in range(3)]
    assert last == "5 more files of . are skipped"
