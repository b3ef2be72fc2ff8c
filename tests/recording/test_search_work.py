"""The search for secrets blocks the event loop, so its work is limited for values of any size."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol import iter_chunks, parse_chat_request
from stream_protocol._secret_texts import REDACTED, search_work, without_secrets
from stream_protocol.inspector import Inspector
from stream_protocol.recording import ChatRecorder, record
from stream_protocol.recording.write._recording_lines import event_json
from stream_protocol.recording.write._redaction import redact_chunk, redact_event, redact_request
from stream_protocol.recording.write._search import MAX_WORK, TOO_LARGE
from stream_protocol.serving import ChatService
from stream_protocol.session._storable_events import MAX_STORED_DEPTH
from stream_protocol.testing import Call, ScriptedLlm
from tests.recording.recordings import drained, said, source, turns
from tests.recording.test_redaction_shapes import FULL_WIDTH, GO, has_secret
from tests.stream.counting import calls_made

MANY: Final = 40_000
EVERYWHERE: Final = ("assignments in texts of 100", "names", "levels", "small texts", "texts of JSON")
"""The shapes that each test run tries. The other shapes are tried with the samples."""

MAX_CALLS: Final = 800_000
"""The most function calls in one search. The smallest shapes below have millions of members."""


def texts_of(piece: Callable[[int], str], size: int) -> list[str]:
    """The size of texts made of numbered pieces, 4 MB together, so that no cache has them."""
    whole = "".join(map(piece, range(4_000_000 // len(piece(10_000)))))
    return [whole[begin : begin + size] for begin in range(0, len(whole), size)]


def nested(levels: int, inner: Any) -> Any:
    for level in range(levels):
        inner = [inner, level] if level % 2 else {f"k{level}": inner}
    return inner


def json_in_json(levels: int) -> str:
    text = '"x"'
    for _ in range(levels):
        text = json.dumps({"a": text})
    return text


HOSTILE: dict[str, Callable[[], Any]] = {
    **{
        f"{name} in texts of {size}": partial(texts_of, piece, size)
        for size in (100, 3_000, 100_000, 4_000_000)
        for name, piece in {
            "parameters of a URL": lambda n: f"http://a?a{n}=b&" if n % 300 == 0 else f"a{n}=b&",
            "assignments": lambda n: f"ab{n}=c ",
            "lines": lambda n: f"a{n}: b\n",
            "quoted names": lambda n: f'"a{n}":"b",',
            "elements": lambda n: f"<a{n}>b</a{n}>",
            "addresses": lambda n: f"a://b{n}:c@d ",
            "backslashes and quotes": lambda n: f"\\\"\\'{n}=",
            "words": lambda n: f"word{n} ",
        }.items()
    },
    "small texts": lambda: [f"a{number}" for number in range(MANY * 10)],
    "names": lambda: {f"name{number}": "v" for number in range(MANY * 5)},
    "names in another script": lambda: {f"{FULL_WIDTH[4:6]}{number}": "v" for number in range(MANY * 5)},
    "empty objects": lambda: [{} for _ in range(MANY * 20)],
    "objects of unlike names": lambda: [{f"k{number}": number} for number in range(MANY * 5)],
    "pairs": lambda: [[f"a{number}", "b"] for number in range(MANY * 5)],
    "names and values": lambda: [{"name": f"n{number}", "value": "v"} for number in range(MANY * 5)],
    "headers": lambda: {"headers": [f"h{number}" for number in range(MANY * 5)]},
    "options": lambda: ["--password"] * MANY * 5,
    "tokens": lambda: {"tokens": {f"t{number}": [number] for number in range(MANY)}},
    "an auth scheme": lambda: {"authScheme": {"flows": {f"f{number}": {"a": "b=c"} for number in range(MANY * 3)}}},
    "texts of JSON": lambda: [f'{{"a{number}":"b"}}' for number in range(MANY * 5)],
    "a text of JSON": lambda: json.dumps([{"a": "b"}] * MANY * 5),
    "JSON of empty lists": lambda: "[" + "[]," * MANY * 20 + "[]]",
    "broken JSON": lambda: ["[" + "[]," * 1000] * 400,
    "JSON in Base64": lambda: [b64encode(f'{{"a{number}":"b"}}'.encode()).decode() for number in range(MANY * 5)],
    "JSON in JSON": lambda: [json_in_json(12)] * 200,
    "levels": lambda: [nested(60, number) for number in range(MANY // 10)],
}


def as_chunk(value: Any) -> dict[str, Any]:
    return redact_chunk({"type": "tool-output-available", "toolCallId": "A", "output": value})


def as_request(value: Any) -> dict[str, Any]:
    message = {"id": "u1", "role": "user", "metadata": {"k": value}, "parts": [{"type": "text", "text": "hi"}]}
    return redact_request({"id": "c1", "messages": [message], "more": value})


def stored(value: Any) -> dict[str, Any]:
    part = types.Part(function_response=types.FunctionResponse(id="A", name="f", response={"r": value}))
    return event_json(Event(author="root", invocation_id="i", content=types.Content(role="user", parts=[part])))


def as_event(value: Any) -> dict[str, Any]:
    return redact_event(stored(value))


LEVELS: dict[str, Callable[[Any], Any]] = {
    "objects": lambda inner: {"k": inner},
    "lists": lambda inner: [inner],
    "pairs": lambda inner: ["k", inner],
    "objects and lists": lambda inner: {"k": inner} if isinstance(inner, list) else [inner],
    "names and values": lambda inner: {"name": "k", "value": inner},
    "headers": lambda inner: {"headers": inner} if isinstance(inner, list) else [inner],
}


@pytest.mark.parametrize("redact", [as_chunk, as_request, as_event])
@pytest.mark.parametrize("shape", LEVELS)
def test_a_value_as_deep_as_a_store_takes_is_recorded_whole(shape: str, redact: Callable[[Any], Any]) -> None:
    value: Any = 1
    for _ in range(MAX_STORED_DEPTH):
        value = LEVELS[shape](value)
    assert json.dumps(value) in json.dumps(redact(value))


@pytest.mark.parametrize("redact", [as_chunk, as_request, as_event])
@pytest.mark.parametrize(
    "shape", [shape if shape in EVERYWHERE else pytest.param(shape, marks=pytest.mark.samples) for shape in HOSTILE]
)
def test_the_work_is_bounded(
    shape: str, redact: Callable[[Any], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    value = HOSTILE[shape]()
    work = 0

    def searched(text: str) -> str:
        nonlocal work
        work += search_work(text)
        return without_secrets(text)

    monkeypatch.setattr("stream_protocol.recording.write._search.without_secrets", searched)
    calls_before = calls_made(lambda: stored(value)) if redact is as_event else 0
    assert calls_made(lambda: redact(value)) - calls_before < MAX_CALLS
    assert work < 2.1 * MAX_WORK  # an event or a request needs two searches
    assert TOO_LARGE in json.dumps(redact(value))


@pytest.mark.parametrize("shape", EVERYWHERE)
def test_no_secret_is_left_where_no_work_is(shape: str) -> None:
    hostile = HOSTILE[shape]()
    few = hostile[:2000] if isinstance(hostile, list) else dict(list(hostile.items())[:9000])
    for before in (hostile, few):
        for redact in (as_chunk, as_request):
            cleaned = redact([before, *GO, {"last": GO}])
            assert not has_secret(cleaned)


async def test_events_and_chunks_lose_the_same_and_replay_to_the_recorded_chunks(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    results: list[Any] = [
        *(["word " * size] for size in (10_000, 100_000, 139_000, 140_000, 200_000)),
        *([f"a{number}=b " for number in range(count)] for count in (1_000, 9_000, 20_000)),
        *([{"name": f"n{number}", "n": number} for number in range(count)] for count in (3_000, 6_000, 30_000)),
        {f"k{number}": number for number in range(30_000)},
        nested(70, "x"),
        nested(110, "x"),
        ["a: b\n" * 50_000, "token=hunter2", "short"],
        [json.dumps({"a": ["b"] * 200_000}), json.dumps({"password": "hunter2"})],
    ]
    events = []
    for number, result in enumerate(results):
        call = types.FunctionCall(id=f"c{number}", name="f", args={"x": result})
        response = types.FunctionResponse(id=f"c{number}", name="f", response={"r": result})
        for role, part in (("model", types.Part(function_call=call)), ("user", types.Part(function_response=response))):
            content = types.Content(role=role, parts=[part])
            events.append(Event(author="root", invocation_id="i", content=content))
    events.append(
        Event(author="root", invocation_id="i", actions=EventActions(state_delta={"a": results[4], "temp:b": results}))
    )
    await drained(record(source(events), path, send_state=True))
    (turn,) = turns(path)
    assert not has_secret(path.read_text())
    assert path.read_text().count(TOO_LARGE) > 10
    assert list(iter_chunks(turn.events, message_id=turn.message_id, send_state=True)) == turn.chunks
    outputs = [chunk["output"]["r"] for chunk in turn.chunks if "output" in chunk and "r" in chunk["output"]]
    assert outputs[:2] == results[:2]
    assert outputs[-2] == [TOO_LARGE, f"token={REDACTED}", "short"]


async def test_what_ordinary_tools_return_is_recorded_whole(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    page = "A sentence, which says: this is it. It's one of many in a page.\n" * 2_000
    rows = [{"id": number, "name": f"Row {number}", "price": number / 7} for number in range(3_000)]
    events = []
    for number, result in enumerate([page, rows, json.dumps(rows)]):
        call = types.Part(function_call=types.FunctionCall(id=f"c{number}", name="f", args={}))
        response = types.FunctionResponse(id=f"c{number}", name="f", response={"r": result})
        events += [
            Event(author="root", invocation_id="i", content=types.Content(role="model", parts=[call])),
            Event(
                author="root",
                invocation_id="i",
                content=types.Content(role="user", parts=[types.Part(function_response=response)]),
            ),
        ]
    await drained(record(source(events), path))
    (turn,) = turns(path)
    assert TOO_LARGE not in path.read_text()
    assert [chunk["output"]["r"] for chunk in turn.chunks if "output" in chunk] == [page, rows, json.dumps(rows)]


async def test_files_and_texts_of_any_size_are_recorded_whole(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    words, file = "a=b&" * 2_000_000, bytes(range(256)) * 20_000
    url = f"data:application/pdf;base64,{b64encode(file).decode()}"
    parts = [{"type": "text", "text": words}, {"type": "file", "mediaType": "application/pdf", "url": url}]
    blob = types.Part(inline_data=types.Blob(data=file, mime_type="application/pdf"))
    events = [said(words), Event(author="root", invocation_id="i", content=types.Content(role="model", parts=[blob]))]
    request = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": parts}]}
    await drained(record(source(events), path, request=request))
    (turn,) = turns(path)
    assert turn.request == request
    content = turn.events[1].content
    assert content is not None
    assert content.parts == [blob]
    assert [chunk["url"] for chunk in turn.chunks if chunk["type"] == "file"] == [url]


async def test_an_event_with_a_field_that_is_too_large_stays_an_event(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    sources = [
        types.GroundingChunk(web=types.GroundingChunkWeb(uri=f"https://a{number}.example/?q={number}", title="a: b=c"))
        for number in range(20_000)
    ]
    event = Event(
        author="root",
        invocation_id="i",
        content=types.Content(role="model", parts=[types.Part(text="Found.", thought_signature=bytes(5000))]),
        grounding_metadata=types.GroundingMetadata(grounding_chunks=sources),
        custom_metadata={"mine": {f"k{number}": "v" for number in range(50_000)}},
    )
    await drained(record(source([event]), path))
    (turn,) = turns(path)
    assert turn.events[0].content == event.content


def test_of_a_request_the_newest_messages_are_recorded() -> None:
    messages = [
        {
            "id": f"m{number}",
            "role": ("user", "assistant")[number % 2],
            "parts": [
                {"type": "text", "text": f"token=hunter{number}"},
                *([{"type": "data-x", "data": {f"k{one}": "a=b" for one in range(500)}}] if number % 2 else []),
            ],
        }
        for number in range(200)
    ]
    messages.append({"id": "last", "role": "user", "parts": [{"type": "text", "text": "token=hunter2"}]})
    request = redact_request({"id": "c1", "messages": messages, "session": "x", "sessionToken": "hunter2"})
    recorded = request["messages"]
    assert recorded[1:] == messages[1 - len(recorded) :]  # the first search reaches its work limit
    assert 5 < len(recorded) < 100
    assert parse_chat_request({**request, "trigger": "submit-message"}).target == messages[-1]
    assert request["sessionToken"] == REDACTED


def test_of_a_message_that_is_too_large_the_parts_that_are_left_are_parts() -> None:
    parts = [{"type": "text", "text": "hi"}, *({"type": "data-x", "data": {"a": f"{n}=b"}} for n in range(5_000))]
    request = redact_request({"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": parts}]})
    (message,) = request["messages"]
    assert message["parts"][0] == parts[0]
    assert all(isinstance(part, dict) and "type" in part for part in message["parts"])


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


async def test_a_chat_with_hostile_requests_and_results_is_recorded_and_inspected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:

    def look() -> Any:
        """Returns text from a stranger."""
        return {"deep": nested(175, "x"), "json": nested_text, "pairs": [["a", "b"]] * 30_000}

    nested_text = json_in_json(14)
    inspector = Inspector()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[Call("look", {}), "Seen."]), tools=[look])
    service = ChatService(agent, recorder=[ChatRecorder(tmp_path), inspector])
    metadata = {"deep": nested(200, "x"), "urls": ["http://a?" + "a=b&" * 30_000] * 20}
    message = {"id": "u1", "role": "user", "metadata": metadata, "parts": [{"type": "text", "text": "hi"}]}
    with caplog.at_level(logging.WARNING, logger="stream_protocol"):
        request = parse_chat_request({"id": "c1", "messages": [message]})
        assert b"Seen." in b"".join([piece async for piece in await service.respond(request, user_id="ann")])
        await service.aclose()
    assert [entry.getMessage() for entry in caplog.records if entry.name.startswith("stream_protocol")] == []
    (turn,) = turns(only_file(tmp_path))
    assert turn.end == "finish"
    assert turn.request is not None
    assert inspector.turns("c1", user_id="ann")[0].entries
