"""``adk-ui-stream demo``: one line, without a key, a clone or a folder of one's own."""

import json
from pathlib import Path

import httpx
import pytest

from stream_protocol.demo import SUGGESTIONS
from tests.processes import HANG, started

pytestmark = pytest.mark.servers


def test_the_demo_is_served_with_its_prompts_and_the_inspector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.adk-ui-stream.serve]\nmax-runs = 0\n")
    with started("stream_protocol", "demo", "--port", "0", cwd=tmp_path) as process:
        url = process.read_line().split()[-1]
        screen = [process.read_line() for _ in range(8)]
        page = httpx.get(f"{url}/page.json", timeout=HANG).json()
        body = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}
        answer = httpx.post(f"{url}/api/chat", json=body, timeout=HANG)
    assert [line.split(maxsplit=1)[1] for line in screen if line.startswith("    Chats ")] == [
        "in memory, until the server ends\n"
    ]
    assert page["agent"] == "guide"
    assert (page["models"], page["suggestions"], page["inspector"]) == (["scripted"], [*SUGGESTIONS], True)
    chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert "I answer from a script" in "".join(chunk.get("delta", "") for chunk in chunks)
