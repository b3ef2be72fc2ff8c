"""Random streams of chunks with few ids, so that ids collide, for property tests of the reducer."""

import random
from collections.abc import Sequence
from typing import Any

from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire.client import MessageReducer

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
    """Return the chunk with a wrong, missing or new key. The schema must refuse most of these chunks."""
    key = rng.choice([*chunk, "providerMetadata", "title", "finishReason", "surplus"])
    if rng.random() < 0.3:
        return {name: value for name, value in chunk.items() if name != key}
    return {**chunk, key: rng.choice(SPOILED)}


def fits(chunks: list[dict[str, Any]], chunk: dict[str, Any], ai_sdk: AiSdkVersion) -> bool:
    """Return True if a client accepts the chunk at this position. Most chunks must fit, or streams would be short."""
    reducer = MessageReducer(ai_sdk=ai_sdk)
    try:
        for each in (*chunks, chunk):
            typed: Any = each
            reducer.apply(typed)
    except ClientStreamError:
        return False
    return True


def legal_stream(rng: random.Random, ai_sdk: AiSdkVersion) -> list[Any]:
    chunks: list[dict[str, Any]] = []
    for _ in range(rng.randrange(1, 25)):
        chunk = random_chunk(rng)
        if fits(chunks, chunk, ai_sdk):
            chunks.append(chunk)
    return chunks


def random_stream(rng: random.Random, ai_sdk: AiSdkVersion) -> list[Any]:
    """Return a stream that may have an error."""
    chunks = legal_stream(rng, ai_sdk)
    if rng.random() < 0.3:
        chunks.insert(rng.randrange(len(chunks) + 1), random_chunk(rng))
    if rng.random() < 0.2:
        place = rng.randrange(len(chunks) or 1)
        chunks[place : place + 1] = [spoil(rng, random_chunk(rng))]
    if rng.random() < 0.03:
        chunks.append({"type": "error", "errorText": "boom"})
    return chunks
