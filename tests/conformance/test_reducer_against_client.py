"""Our reducer and the real ``ai`` package fold the same random streams, legal and illegal, to the same message."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import settings

from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire.client import MessageReducer, parse_sse
from tests.examples import IN_A_HUNT
from tests.wire.random_streams import random_stream

FIXTURES = Path(__file__).parents[2] / "frontend-fixtures"
RUNS = 1500
VERSIONS: list[AiSdkVersion] = [6, 7]


def random_case(rng: random.Random) -> dict[str, Any]:
    ai_sdk: AiSdkVersion = rng.choice(VERSIONS)
    messages: list[dict[str, Any]] = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]
    if rng.random() < 0.3:
        reducer = MessageReducer(ai_sdk=ai_sdk, message_id="m1")
        for chunk in random_stream(rng, ai_sdk):
            typed: Any = chunk
            try:
                reducer.apply(typed)
            except ClientStreamError:
                break
        messages.append(dict(reducer.message))
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in random_stream(rng, ai_sdk))
    trigger = "resume" if len(messages) == 1 and rng.random() < 0.2 else "submit"
    return {"ai": ai_sdk, "body": body, "messages": messages, "trigger": trigger}


def ours(case: dict[str, Any]) -> dict[str, Any]:
    ai_sdk: AiSdkVersion = case["ai"]
    last = case["messages"][-1]
    reducer = MessageReducer(ai_sdk=ai_sdk, message=last, message_id="new", replay=case["trigger"] == "resume")
    error = None
    try:
        for chunk in parse_sse(case["body"].encode()):
            reducer.apply(chunk)
    except ClientStreamError as caught:
        error = {"name": caught.error_class, "message": caught.text}
        if caught.chunk_type is not None:
            error |= {"chunkType": caught.chunk_type, "chunkId": caught.chunk_id or ""}
    result = {"status": "error" if error else "ready", "message": reducer.message, "data": reducer.data}
    result |= {"finishReason": reducer.finish_reason} if reducer.finish_reason else {}
    return result | ({"error": error} if error else {})


def theirs(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = b"".join(orjson.dumps(case) + b"\n" for case in cases)
    script = FIXTURES / "scripts" / "fold-streams.mjs"
    done = subprocess.run(["node", script], input=lines, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def without_library_detail(result: dict[str, Any]) -> dict[str, Any]:
    if "error" in result:
        result["error"]["message"] = result["error"]["message"].split("\nError message: ")[0]
    return result


@pytest.mark.node
def test_random_streams_become_the_same_message_and_the_same_error(rng: random.Random) -> None:
    if shutil.which("node") is None or not (FIXTURES / "node_modules" / "ai-v6").exists():
        assert os.environ.get("CI") != "true", "CI must have Node and the packages of frontend-fixtures"
        pytest.skip("needs Node and `npm ci` in frontend-fixtures")
    cases = [random_case(rng) for _ in range(RUNS * settings().max_examples // IN_A_HUNT)]
    for case, expected in zip(cases, theirs(cases), strict=True):
        assert ours(case) == without_library_detail(expected), orjson.dumps(case).decode()
