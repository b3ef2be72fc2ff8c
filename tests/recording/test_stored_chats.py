"""A replay of a chat that our own endpoint has stored shows the messages of its client."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from google.adk.agents.run_config import StreamingMode
from google.adk.sessions import InMemorySessionService

from stream_protocol.check import check_file
from stream_protocol.cli import main
from stream_protocol.recording import load_recording, replay
from stream_protocol.testing import Call
from tests.properties.conversations import Act, Chat, Surroundings, with_ids

ABOUT = Surroundings(ai_sdk=6, mode=StreamingMode.SSE, keeps=False, compacts=False)


async def stored(folder: Path, script: list[list[Any]], acts: Sequence[Act]) -> Path:
    """Return the file of the session after these actions."""
    chat = Chat(with_ids(script), ABOUT, [InMemorySessionService()] * 2)
    for act in acts:
        await chat.act(act)
    path = folder / "session.json"
    path.write_text((await chat.session()).model_dump_json())
    await chat.aclose()
    return path


def printed(path: Path) -> list[Any]:
    """Return the output of ``replay --to messages``."""
    result = CliRunner().invoke(main, ["replay", str(path), "--to", "messages"])
    assert result.exit_code == 0
    messages: list[Any] = json.loads(result.stdout)
    return messages


def texts(messages: list[Any]) -> list[str]:
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


async def test_turns_that_were_taken_back_stay_away(tmp_path: Path) -> None:
    path = await stored(tmp_path, [["one"], ["two"], ["three"], ["four"]], ["say", "regenerate", "say", "edit"])
    assert texts(printed(path)) == ["edited", "four"]
    assert b"".join(replay(load_recording(path))).count(b"[DONE]") == 1
    (turn,) = load_recording(path).turns()
    assert [event.author for event in turn.events] == ["user", "root"]
    assert list(check_file(path)) == []


async def test_a_call_that_new_messages_superseded_is_closed(tmp_path: Path) -> None:
    path = await stored(tmp_path, [[Call("where", {"question": "?"})], ["Well."]], ["say", "say"])
    (part,) = [part for message in printed(path) for part in message["parts"] if "toolCallId" in part]
    assert (part["state"], part["errorText"]) == ("output-error", "The user went on without an answer.")
    assert b"tool-output" not in b"".join(replay(load_recording(path)))


async def test_a_stopped_answer_has_its_text_once(tmp_path: Path) -> None:
    path = await stored(tmp_path, [["Half ", "an answer."]], [("stop", 3)])
    stream = b"".join(replay(load_recording(path)))
    assert stream.count(b"text-delta") == 1
    assert texts(printed(path))[1:] == [json.loads(stream.split(b"data: ")[4])["delta"]]


async def test_a_late_result_is_on_its_own_call(tmp_path: Path) -> None:
    path = await stored(tmp_path, [[Call("report")], ["Wait."], ["Sure."]], ["say", "say", "report"])
    (part,) = [part for message in printed(path) for part in message["parts"] if "toolCallId" in part]
    assert part["output"] == {"done": 0}
