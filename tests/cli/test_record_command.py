"""Recording on the command line, in a separate process, and the file of a killed server."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.processes import HANG, cli, serving
from tests.recording.recordings import turns
from tests.terminals import terminal

AGENT = """
import asyncio
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool
from stream_protocol.testing import Call, ScriptedLlm, Wait
def answer(request):
    said = request.contents[-1].parts[0].text
    return ["You said ", said, "."] if said != "wait" else ["Half", Wait(3600), "never"]
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=answer))
def answer_aloud(request):
    print("as it answers")
    return "Hi."
loud = LlmAgent(name="mine", model=ScriptedLlm(respond=answer_aloud))
broken = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda request: 1 / 0))
def pay(amount: int) -> str:
    return "paid"
def answer_carefully(request):
    answered = any(part.function_response for part in request.contents[-1].parts)
    return ["So be it."] if answered else [Call("pay", {"amount": 3})]
payment = FunctionTool(pay, require_confirmation=True)
careful = LlmAgent(name="mine", model=ScriptedLlm(respond=answer_carefully), tools=[payment])
failing = LlmAgent(name="mine", model=ScriptedLlm(turns=[RuntimeError("hunter2"), "Better."]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(AGENT)
    return tmp_path


def say(text: str) -> dict[str, Any]:
    return {"id": "c1", "messages": [{"id": text, "role": "user", "parts": [{"type": "text", "text": text}]}]}


def complaints(stderr: str) -> list[str]:
    """The lines but those in which ADK 2.11 warns of itself, each with the line of code below it."""
    lines = stderr.splitlines()
    is_adk = ["[EXPERIMENTAL]" in line for line in lines]
    return [line for index, line in enumerate(lines) if not is_adk[index] and not (index and is_adk[index - 1])]


def test_a_conversation_is_recorded_turn_by_turn(folder: Path) -> None:
    done = cli("record", "mine:root_agent", "--say", "hi", "--say", "bye", "--to", "chat.jsonl", cwd=folder)
    assert (done.exit_code, complaints(done.stderr)) == (0, [])
    assert (
        done.stdout
        == """\
You
  hi

mine
  You said hi.

You
  bye

mine
  You said bye.

Recorded 2 turns in chat.jsonl
"""
    )
    first, second = turns(folder / "chat.jsonl")
    said = {"id": "user-1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    assert first.request == {"id": "recorded", "messages": [said], "trigger": "submit-message"}
    assert second.request is not None
    assert [message["role"] for message in second.request["messages"]] == ["user", "assistant", "user"]
    assert "".join(chunk.get("delta", "") for chunk in second.chunks) == "You said bye."


def test_a_turn_that_fails_is_told_and_recorded(folder: Path) -> None:
    done = cli("record", "mine:failing", "--say", "hi", "--say", "again", "--to", "chat.jsonl", cwd=folder)
    assert done.exit_code == 0
    assert "mine\n  ✗ An error occurred.\n\nYou\n  again\n\nmine\n  Better.\n" in done.stdout
    assert done.stdout.endswith("\nRecorded 2 turns in chat.jsonl, 1 of which failed\n")
    assert "hunter2" in done.stderr
    assert [turn.end for turn in turns(folder / "chat.jsonl")] == ["error", "finish"]


@pytest.mark.parametrize("count", [1, 2])
def test_if_all_turns_fail_no_file_is_written_and_it_is_exit_1(folder: Path, count: int) -> None:
    done = cli("record", "mine:broken", *["--say", "hi"] * count, "--to", "chat.jsonl", cwd=folder)
    assert done.exit_code == 1
    assert done.stdout.count("✗ An error occurred.") == count
    assert done.stdout.endswith(f"\nRecorded nothing: {'each turn' if count > 1 else 'the turn'} failed\n")
    assert not (folder / "chat.jsonl").exists()


def test_what_an_agent_prints_while_it_is_recorded_goes_to_stderr(folder: Path) -> None:
    done = cli("record", "mine:loud", "--say", "hi", "--to", "chat.jsonl", cwd=folder)
    assert (done.exit_code, done.stdout) == (0, "You\n  hi\n\nmine\n  Hi.\n\nRecorded 1 turn in chat.jsonl\n")
    assert "as it answers" in done.stderr.splitlines()


@pytest.mark.parametrize(
    ("option", "answered", "ended"),
    [
        ("--approve", "Approved pay", "    pay → paid\n  So be it."),
        ("--deny", "Denied pay", "    pay was denied\n  So be it."),
    ],
)
def test_each_call_that_needs_approval_is_answered(folder: Path, option: str, answered: str, ended: str) -> None:
    done = cli("record", "mine:careful", "--say", "pay", option, "--to", "chat.jsonl", cwd=folder)
    assert (done.exit_code, complaints(done.stderr)) == (0, [])
    assert (
        done.stdout
        == f"""\
You
  pay

mine
  ● pay {{"amount":3}}
  ? pay needs approval

You
  {answered}

mine
{ended}

Recorded 2 turns in chat.jsonl
"""
    )
    _, answer = turns(folder / "chat.jsonl")
    assert answer.request is not None
    assert [message["role"] for message in answer.request["messages"]] == ["user", "assistant"]
    replayed = cli("replay", "chat.jsonl", "--to", "text", cwd=folder)
    assert replayed.stdout == done.stdout.removesuffix("\nRecorded 2 turns in chat.jsonl\n")


def test_without_an_answer_the_call_waits(folder: Path) -> None:
    done = cli("record", "mine:careful", "--say", "pay", "--to", "chat.jsonl", cwd=folder)
    assert done.stdout.endswith("? pay needs approval\n\nRecorded 1 turn in chat.jsonl\n")


def test_a_terminal_shows_the_conversation_in_colours_while_it_goes_on(folder: Path) -> None:
    with terminal("record", "mine:careful", "--say", "pay", "--to", "chat.jsonl", cwd=folder) as shown:
        said = shown.read_until("needs approval")
    assert "\x1b[1mYou\x1b[0m\n  pay\n" in said
    assert "\x1b[36m● pay\x1b[0m" in said
    assert "\x1b[33m? pay needs approval\x1b[0m" in said


def test_a_folder_of_agents_offers_a_command_for_one_of_them(folder: Path) -> None:
    for name in ("first", "second one", "third"):
        (folder / "agents" / name).mkdir(parents=True)
        (folder / "agents" / name / "agent.py").write_text(AGENT)
    sentence = "cannot load agents: it has 3 agents: first, second one, third. Try: adk-ui-stream"
    recorded = cli("record", "agents", "--say", "hi", "--to", "chat.jsonl", cwd=folder)
    assert recorded.stderr == f"error: {sentence} record agents/first --say …\n"
    for command in ("serve", "types"):
        done = cli(command, "agents", cwd=folder)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == f"error: {sentence} {command} agents/first\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere:agent", "--say", "hi", "--to", "new.jsonl"], "cannot load nowhere:agent"),
        (
            ["mine:root_agent", "--say", "hi", "--to", "mine.py"],
            "mine.py already exists: delete it, or pass another file with --to",
        ),
        (["mine:root_agent", "--say", "hi", "--to", "no/new.jsonl"], "no is not a folder"),
        (["mine:root_agent", "--say", "", "--to", "new.jsonl"], "The message is empty."),
    ],
)
def test_what_cannot_be_recorded_is_one_line(folder: Path, arguments: list[str], reason: str) -> None:
    before = sorted(folder.iterdir())
    done = cli("record", *arguments, cwd=folder)
    assert (done.exit_code, done.stdout) == (2, "")
    first, *others = done.stderr.splitlines()
    assert first.startswith(f"error: {reason}")
    assert all(line.startswith("  mine:") for line in others)
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before


def test_a_server_that_is_killed_leaves_all_that_it_had_sent(folder: Path) -> None:
    seen = []
    with serving("mine:root_agent", "--record", "recordings", cwd=folder) as (process, url):
        httpx.post(f"{url}/api/chat", json=say("hi"), timeout=HANG)
        with httpx.stream("POST", f"{url}/api/chat", json=say("wait"), timeout=HANG) as response:
            for line in response.iter_lines():
                if line:
                    seen.append(json.loads(line.removeprefix("data: ")))
                if "Half" in line:
                    break
            process.kill()
    (path,) = (folder / "recordings").iterdir()
    whole, broken = turns(path)
    assert (whole.end, broken.end) == ("finish", None)
    assert broken.chunks == seen


def test_a_folder_that_cannot_be_recorded_into_is_one_line(folder: Path) -> None:
    done = cli("serve", "mine:root_agent", "--port", "0", "--record", "mine.py/recordings", cwd=folder)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: cannot record into mine.py/recordings: Not a directory\n"
