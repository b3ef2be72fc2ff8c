"""The clients without the AI SDK, as their README shows them."""

import os
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest

from tests.documents import block
from tests.frontends.scripted_chats import Backend, serving_scripted_chats
from tests.processes import HANG, ROOT
from tests.tools import require_command

EXAMPLE: Final = ROOT / "examples" / "plain"

pytestmark = [pytest.mark.frontends, pytest.mark.node]


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving_scripted_chats() as backend:
        yield backend


def run(*command: str, backend: Backend, typed: str = "") -> str:
    """The output of a command."""
    return subprocess.run(
        [require_command(command[0]), *command[1:]],
        cwd=EXAMPLE,
        env={**os.environ, "AGENT_URL": backend.url},
        input=typed,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=True,
    ).stdout


def test_the_fetch_client_shows_answers_and_asks_for_approvals(backend: Backend) -> None:
    told = run("node", "chat.mjs", backend=backend, typed="hello\npay\ny\npay\nn\n")
    chat_id = told.split()[1]
    assert "You said: hello\n" in told
    assert told.count('pay({"amount":5})? [y/n]') == 2
    assert '[{"paid":5}]' in told
    assert [words for who, words in backend.stored(chat_id) if who == "assistant"] == [
        "You said: hello",
        "Done: 5.0.",
        "Done: None.",
    ]


def test_the_curl_commands_do_what_they_say(backend: Backend) -> None:
    commands = block("examples/plain/README.md", "# Send a message.")
    told = run("sh", "-ec", commands.replace("curl ", "curl --silent --show-error --fail-with-body "), backend=backend)
    assert '"delta":"You"' in told
    assert "data: [DONE]" in told
    assert '"role":"assistant"' in told
    assert '{"chats":[{"id":"c1"' in told
