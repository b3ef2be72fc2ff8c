"""Our reducer and the real ``ai`` package fold the same random streams, legal and illegal, to the same message."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from stream_protocol.wire.chunks import AiSdkVersion
from stream_protocol.wire.errors import ClientStreamError
from stream_protocol.wire.reducer import MessageReducer
from stream_protocol.wire.sse_reader import parse_sse

FIXTURES = Path(__file__).parents[2] / "frontend-fixtures"
RUNS = 1500

IDS = ["a", "b"]
CALLS = ["t1", "t2"]
JSON_VALUES: list[Any] = [None, 0, -1.5, True, "text", [], {}, {"a": [1, {"b": None}]}, "😀\u2028"]
PROVIDERS: list[Any] = [{}, {"p": {}}, {"p": {"k": None}}]
INPUT_TEXTS = [
    *('{"city":"Par', 'is", "n": [1, -', "2.5e", "1, tru", "e]}", "{", "}", "[", '"\\u00', 'e9"', "nul", " ", "x", "-"),
    *('{"a":{"b":[', '{"__proto__":1}', ",", ":", '"', "\\", "[[", "[ 1", "]", "tx", "0", '"k":'),
]
METADATA: list[Any] = [
    None,
    {},
    {"n": {"a": 1}, "l": [1]},
    {"n": {"b": 2}, "l": None},
    {"n": 5},
    {"constructor": 1, "x": {}},
]


def some(rng: random.Random, **optional: Sequence[Any]) -> dict[str, Any]:
    return {key: rng.choice(values) for key, values in optional.items() if rng.random() < 0.25}


def call_keys(rng: random.Random) -> dict[str, Any]:
    flags = [True, False]
    names = {"toolCallId": rng.choice(CALLS), "toolName": rng.choice(["w", "get-x"])}
    return names | some(
        rng,
        dynamic=flags,
        providerExecuted=flags,
        title=["T", "U"],
        providerMetadata=PROVIDERS,
        toolMetadata=[{}, {"m": 1}],
    )


def result_keys(rng: random.Random) -> dict[str, Any]:
    extra = some(rng, providerExecuted=[True], providerMetadata=PROVIDERS, toolMetadata=[{"r": 1}], dynamic=[True])
    return {"toolCallId": rng.choice(CALLS), **extra}


def random_chunk(rng: random.Random) -> dict[str, Any]:
    provider = some(rng, providerMetadata=PROVIDERS)
    lane = rng.choice(["text", "reasoning"])
    value = rng.choice(JSON_VALUES)
    approval = {"approvalId": rng.choice(["p1", "p2"])}
    source = {"type": "source", "sourceType": "url", "id": "s", "url": "u", "title": "t", "more": 1}
    return rng.choice(
        [
            {"type": "start", **some(rng, messageId=["m1", "m2", ""], messageMetadata=METADATA)},
            {"type": "finish", **some(rng, finishReason=["stop", "other"], messageMetadata=METADATA)},
            {"type": "message-metadata", "messageMetadata": rng.choice(METADATA)},
            {"type": "abort", **some(rng, reason=["r"])},
            {"type": "start-step"},
            {"type": "finish-step"},
            *[{"type": f"{lane}-start", "id": rng.choice(IDS), **provider}] * 3,
            *[{"type": f"{lane}-delta", "id": rng.choice(IDS), "delta": rng.choice(["x", "", "é😀"]), **provider}] * 3,
            *[{"type": f"{lane}-end", "id": rng.choice(IDS), **provider}] * 2,
            {"type": "file", "url": "u", "mediaType": "m", "filename": "f", **provider},
            {"type": "source-url", "sourceId": "s", "url": "u", **some(rng, title=["t"]), **provider},
            {"type": "source-document", "sourceId": "s", "mediaType": "m", "title": "t", **provider},
            {"type": "data-x", "data": value, **some(rng, id=["1", "2"], transient=[True, False], other=[1])},
            *[{"type": "tool-input-start", **call_keys(rng), **some(rng, inputEncoding=["json", "text"])}] * 4,
            *[
                {
                    "type": "tool-input-delta",
                    "toolCallId": rng.choice(CALLS),
                    "inputTextDelta": rng.choice(INPUT_TEXTS),
                },
            ]
            * 8,
            *[{"type": "tool-input-available", **call_keys(rng), "input": value}] * 3,
            {"type": "tool-input-error", **call_keys(rng), "input": value, "errorText": "e"},
            *[
                {
                    "type": "tool-approval-request",
                    "toolCallId": rng.choice(CALLS),
                    **approval,
                    **some(
                        rng,
                        signature=["s"],
                        approvalDescriptor=[None, 1],
                        inputSchemaInput=[None, 2],
                        reason=["r"],
                        isAutomatic=[True, False],
                    ),
                }
            ]
            * 2,
            *[{"type": "tool-output-available", **result_keys(rng), "output": value, **some(rng, preliminary=[True])}]
            * 3,
            {"type": "tool-output-error", **result_keys(rng), "errorText": "e"},
            {"type": "tool-output-denied", "toolCallId": rng.choice(CALLS)},
            {
                "type": "tool-approval-response",
                **approval,
                "approved": rng.choice([True, False]),
                **some(rng, reason=["r"], providerExecuted=[True], providerMetadata=PROVIDERS),
            },
            {"type": "custom", "kind": "a.b", **provider},
            {"type": "reasoning-file", "url": "u", "mediaType": "m", **provider},
            {"type": "reset-step"},
            {"type": "steering-message", "id": "s", "parts": [{"type": "text", "text": "t", "more": 1}]},
            {
                "type": "text-end",
                "id": rng.choice(IDS),
                "citations": [{"source": source, "startIndex": 0, "more": 2}, {"source": source, "citedText": "c"}],
            },
        ]
    )


SPOILED: list[Any] = [None, 1, "s", True, [], {}, {"p": 1}, [1], -1]


def spoil(rng: random.Random, chunk: dict[str, Any]) -> dict[str, Any]:
    """One key wrong, gone or new: mostly what the schema must refuse, sometimes what it must not."""
    key = rng.choice([*chunk, "providerMetadata", "title", "finishReason", "surplus"])
    if rng.random() < 0.3:
        return {name: value for name, value in chunk.items() if name != key}
    return {**chunk, key: rng.choice(SPOILED)}


def opens(chunks: list[dict[str, Any]], chunk: dict[str, Any], ai_sdk: int) -> bool:
    """Whether the chunk fits the stream so far. Most must, or no stream would live for long."""
    reducer = MessageReducer(ai_sdk=7 if ai_sdk == 7 else 6)
    try:
        for each in (*chunks, chunk):
            typed: Any = each
            reducer.apply(typed)
    except ClientStreamError:
        return False
    return True


def random_stream(rng: random.Random, ai_sdk: int) -> list[dict[str, Any]]:
    chunks: list[dict[str, Any]] = []
    for _ in range(rng.randrange(1, 25)):
        chunk = random_chunk(rng)
        if rng.random() < 0.03 or opens(chunks, chunk, ai_sdk):
            chunks.append(chunk)
    if rng.random() < 0.2:
        place = rng.randrange(len(chunks) or 1)
        chunks[place : place + 1] = [spoil(rng, random_chunk(rng))]
    if rng.random() < 0.03:
        chunks.append({"type": "error", "errorText": "boom"})
    return chunks


def random_case(rng: random.Random) -> dict[str, Any]:
    ai_sdk = rng.choice([6, 7])
    messages: list[dict[str, Any]] = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]
    if rng.random() < 0.3:
        reducer = MessageReducer(ai_sdk=7 if ai_sdk == 7 else 6, message_id="m1")
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


def test_random_streams_become_the_same_message_and_the_same_error() -> None:
    if shutil.which("node") is None or not (FIXTURES / "node_modules" / "ai-v6").exists():
        assert os.environ.get("CI") != "true", "CI must have Node and the packages of frontend-fixtures"
        pytest.skip("needs Node and `npm ci` in frontend-fixtures")
    rng = random.Random(20)
    cases = [random_case(rng) for _ in range(RUNS)]
    for case, expected in zip(cases, theirs(cases), strict=True):
        assert ours(case) == without_library_detail(expected), orjson.dumps(case).decode()
