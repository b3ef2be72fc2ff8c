"""Writes a Python test for a recording, as a complete file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.recording import load_recording, replay_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.wire import UIMessage

MAX_TEXT: Final = 2000
"""The number of characters of a reply's beginning that a test compares."""

MAX_NAME: Final = 40

_TEST: Final = '''\
"""Put the recording beside this file, at recordings/{name}.jsonl, and run pytest.

``--update-recordings`` and the fixture ``assert_stream_matches`` compare each chunk: see docs/testing.md.
"""

from stream_protocol.recording import replay_messages

ANSWERS = {answers}


def test_{name}(adk_recording):
    recording = adk_recording("{name}")
    messages = replay_messages(recording.stream_turns(), delegated=recording.delegated)
    parts = [part for message in messages if message["role"] == "assistant" for part in message["parts"]]
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    tools = [(part["type"], part["state"]) for part in parts if "toolCallId" in part]
    assert {comparison}
    assert tools == {tools}
'''


def test_name(messages: Sequence[UIMessage]) -> str:
    """Return a name for a test and its recording, made from the user's first message. Returns ``chat`` if there is no
    text.
    """
    text = next((part["text"] for part in _parts(messages, "user") if part.get("type") == "text"), "")
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return name[:MAX_NAME].rstrip("_") or "chat"


def named_test(path: Path, session: str | None = None) -> tuple[str, str]:
    """Return a name for a recording, and the text of a Python test for it. Raises ``RecordingError``."""
    recording = load_recording(path, session=session)
    messages = replay_messages(recording.stream_turns(), delegated=recording.delegated)
    parts = _parts(messages, "assistant")
    text = "".join(part["text"] for part in parts if part.get("type") == "text")
    tools = [(part["type"], part["state"]) for part in parts if "toolCallId" in part]
    name = test_name(messages)
    comparison = "text == ANSWERS" if len(text) <= MAX_TEXT else "text.startswith(ANSWERS)"
    filled = _TEST.format(name=name, answers=repr(text[:MAX_TEXT]), tools=repr(tools), comparison=comparison)
    return name, filled


def _parts(messages: Sequence[UIMessage], role: str) -> list[dict[str, Any]]:
    return [dict(part) for message in messages if message["role"] == role for part in message["parts"]]
