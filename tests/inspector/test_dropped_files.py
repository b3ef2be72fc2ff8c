"""Recordings and captures that are dropped on the page: their view, and the refusals."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent

from stream_protocol import SSE_DONE, encode_sse
from stream_protocol.check import ALL_VERSIONS, Finding, Rule
from stream_protocol.inspector import MAX_FILE_BYTES, Inspector, _dropped_file, inspector_routes
from stream_protocol.inspector._file_process import MAX_WAITING
from stream_protocol.recording import load_recording, replay
from stream_protocol.recording.read import UnreadableError
from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.testing import ScriptedLlm
from tests.batch import batch
from tests.serving.support import HANG

FIXTURES = Path(__file__).parents[2] / "frontend-fixtures" / "fixtures"
START = {"type": "start", "messageId": "m1"}
TEXT: list[Any] = [
    {"type": "text-start", "id": "0"},
    {"type": "text-delta", "id": "0", "delta": "Hi"},
    {"type": "text-end", "id": "0"},
]
PLUGIN = ("-p", "adk_ui_stream_pytest", "-p", "no:cacheprovider")
FINISH = {"type": "finish"}

pytestmark = pytest.mark.usefixtures("converted_here")


def app(**limits: Any) -> Any:
    inspector = Inspector()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["x"]))
    service = ChatService(agent, recorder=inspector, limits=ServiceLimits(**limits))
    found = create_app(service)
    found.routes[:0] = inspector_routes(inspector, service)
    return found


@asynccontextmanager
async def visitor(asgi: Any = None) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(asgi or app())
    async with httpx.AsyncClient(transport=transport, base_url="http://app", timeout=HANG) as http:
        yield http


async def dropped(content: bytes, **query: str) -> dict[str, Any]:
    async with visitor() as http:
        answer = await http.post("/api/inspect", content=content, params=query)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def recordings() -> list[Path]:
    """Every tenth of the fixtures."""
    return [path for path in sorted(FIXTURES.glob("*/turn1.jsonl"))[::10] if "credential" not in str(path)]


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def sse(*chunks: Any) -> bytes:
    return b"".join(map(encode_sse, chunks)) + b"data: [DONE]\n\n"


@batch(path=recordings)
async def test_a_recording_is_shown_as_it_would_be_sent_now(path: Path) -> None:
    shown = await dropped(content_of(path))
    events = [event for event in replay(load_recording(path)) if event != SSE_DONE]
    entries = [entry for entry in shown["entries"] if "chunk" in entry]
    assert [entry["chunk"] for entry in entries] == [json.loads(event[6:]) for event in events]
    assert [entry["bytes"] for entry in entries] == [len(event) for event in events]
    assert sum("event" in entry for entry in shown["entries"]) > 0
    assert shown["recordable"]


@batch(path=recordings)
async def test_a_recording_without_secrets_is_saved_as_one_that_replays_as_the_same(path: Path, tmp_path: Path) -> None:
    async with visitor() as http:
        saved = await http.post("/api/inspect/recording", content=content_of(path))
    (tmp_path / "saved.jsonl").write_bytes(saved.content)
    assert b"".join(replay(load_recording(tmp_path / "saved.jsonl"))) == b"".join(replay(load_recording(path)))


async def test_secrets_stay_in_what_is_shown_and_not_in_what_is_saved() -> None:
    event = {"author": "root", "invocationId": "e1", "id": "1", "content": {"role": "model", "parts": []}}
    event["content"]["parts"] = [{"functionCall": {"id": "t1", "name": "f", "args": {"password": "hunter2"}}}]  # type: ignore[index]  # of JSON
    content = json.dumps(event).encode()
    assert "hunter2" in json.dumps((await dropped(content))["entries"])
    async with visitor() as http:
        saved = await http.post("/api/inspect/recording", content=content)
    assert "hunter2" not in saved.text


@pytest.mark.parametrize("form", ["sse", "lines"])
async def test_a_capture_of_chunks_is_shown_with_its_message_and_what_is_wrong_with_it(form: str) -> None:
    chunks = [START, *TEXT, {"type": "text-delta", "id": "0", "delta": "late"}, FINISH]
    content = sse(*chunks) if form == "sse" else "\n".join(map(json.dumps, chunks)).encode()
    shown = await dropped(content)
    assert [entry["chunk"] for entry in shown["entries"] if "chunk" in entry] == chunks
    (message,) = shown["messages"]
    assert (message["id"], message["parts"][0]["text"]) == ("m1", "Hi")
    finding = shown["findings"][0]
    assert finding["severity"] == "error"
    (late,) = [entry for entry in shown["entries"] if entry.get("number") == finding["number"]]
    assert late["chunk"] == chunks[-2]
    assert not shown["recordable"]
    async with visitor() as http:
        for way in ("recording", "pytest"):
            refused = await http.post(f"/api/inspect/{way}", content=content)
            assert refused.status_code == 422
            assert refused.text.count("\n") == 0


async def test_a_capture_that_is_cut_off_or_no_json_in_places_is_shown_as_it_is() -> None:
    shown = await dropped(b'data: {"type":"start","messageId":"m1"}\n\ndata: {"type":"te\n\ndata: 7\n\n')
    assert [entry["text"] for entry in shown["entries"] if "text" in entry] == ['{"type":"te', "7"]
    assert "end" not in shown["entries"][-1]
    assert shown["findings"]


async def test_data_without_anything_in_it_is_shown_and_counted_as_check_counts_it() -> None:
    shown = await dropped(b"data: \n\n" + sse(START, *TEXT, {"type": "text-delta", "id": "0", "delta": "late"}, FINISH))
    assert [entry["number"] for entry in shown["entries"] if entry.get("text") == ""] == [1]
    named = {finding["rule"]: finding["number"] for finding in shown["findings"]}
    late = [entry["number"] for entry in shown["entries"] if entry.get("chunk", {}).get("delta") == "late"]
    assert named["empty-data"] == 1
    assert late == [6]


async def test_a_finding_of_a_recording_names_the_chunk_if_that_stream_is_the_one_that_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [Finding(1, 2, (version,), Rule.TEXT_LEFT_OPEN, "Open.") for version in ALL_VERSIONS]
    monkeypatch.setattr("stream_protocol.inspector._dropped_file.check_file", lambda *_, **__: iter(found))
    shown = await dropped(content_of(FIXTURES / "approval_approved" / "turn1.jsonl"))
    chunks = [entry for entry in shown["entries"] if "chunk" in entry]
    assert [entry["number"] for entry in chunks] == [*range(1, len(chunks) + 1)]
    assert [finding.get("number") for finding in shown["findings"]] == [2, None]


async def test_a_response_that_continues_a_captured_message_is_folded_into_it() -> None:
    call = {"type": "tool-input-available", "toolCallId": "t1", "toolName": "w", "input": {}}
    output = {"type": "tool-output-available", "toolCallId": "t1", "output": 1}
    shown = await dropped(sse(START, call, FINISH) + sse(START, output, FINISH))
    (message,) = shown["messages"]
    assert message["parts"][0]["state"] == "output-available"
    assert sum("turn" in entry for entry in shown["entries"]) == 2


HOSTILE = {
    "nothing": b"",
    "blanks": b" \n\n",
    "words": b"hello",
    "a picture": b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
    "a zip": b"PK\3\4" + b"\0" * 100,
    "half a database": b"SQLite format 3\0" + b"\0" * 2000,
    "json of another kind": b'{"name": "x"}',
    "deep json": b'{"events":' + b"[" * 100_000,
    "deep yaml": b"events: " + b"[" * 100_000,
    "yaml that grows": b"events:\n- &a [x,x]\n- &b [*a,*a]\n- [*b,*b]\n",
    "an old protocol": b'0:"Hello"\n',
    "no events": b'{"events": []}',
    "bad utf-8": b'data: \xff\xfe{"type"\n\n{',
    "an event that is none": b'{"author": 7, "content": {"parts": 3}}\n',
    "a number with many digits": b'{"author":"a","content":{"parts":[{"text":' + b"9" * 10_000 + b"}]}}",
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_what_is_no_recording_is_refused_in_one_sentence(what: str) -> None:
    async with visitor() as http:
        for way in ("", "/recording", "/pytest"):
            answer = await http.post(f"/api/inspect{way}", content=HOSTILE[what])
            assert answer.status_code == 422, answer.text
            assert answer.text.startswith("The file or chat cannot be shown: ")
            assert "\n" not in answer.text
            assert len(answer.text) < 300


HALF = rb'"\ud800"'
"""Half a character, which no UTF-8 has."""
OF_HALVES = {
    "events": b'{"author":"a","id":%b,"invocationId":%b,"content":{"parts":[{"text":%b}]}}' % ((HALF,) * 3),
    "a recording": b'{"adk_ui_stream_recording":1,"ai_sdk":6}\n'
    b'{"turn":{"request":{"id":"c","messages":[{"role":"user","parts":[{"type":"text","text":%b}]}]},"message_id":%b,'
    b'"options":{}},"at":0}\n{"event":{"author":"a","invocationId":"e","content":{"parts":[{"text":"x"}]}},"at":1}\n'
    % ((HALF,) * 2),
    "a capture": b'data: {"type":"start","messageId":%b}\n\n'
    b'data: {"type":"data-x","data":[%b,%b]}\n\ndata: {"type":"start-step"}\n\n' % (HALF, HALF, b"9" * 30),
}


@pytest.mark.parametrize("form", OF_HALVES)
async def test_halves_of_characters_and_long_numbers_are_shown_as_what_json_has_for_them(form: str) -> None:
    shown = await dropped(OF_HALVES[form])
    assert "\N{REPLACEMENT CHARACTER}" in json.dumps(shown["entries"], ensure_ascii=False)
    assert "\\ud800" not in json.dumps(shown)
    async with visitor() as http:
        saved = await http.post("/api/inspect/recording", content=OF_HALVES[form])
        assert saved.status_code == (200 if shown["recordable"] else 422), saved.text


async def test_files_wait_in_a_short_row_and_one_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(*_: object, **__: object) -> bytes:
        begun.set()
        await ended.wait()
        return b"{}"

    monkeypatch.setattr("anyio.to_process.run_sync", hang)
    async with visitor() as http, asyncio.TaskGroup() as tasks:

        def post() -> asyncio.Task[httpx.Response]:
            return tasks.create_task(http.post("/api/inspect", content=b"x"))

        taken = [post()]
        await begun.wait()
        taken += [post() for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        refused = await http.post("/api/inspect", content=b"x")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        ended.set()
    assert {task.result().status_code for task in taken} == {200}


async def test_a_file_that_is_too_large_is_refused_and_nothing_of_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with visitor() as http:
        answer = await http.post("/api/inspect", content=b"x" * (MAX_FILE_BYTES + 1))
        assert answer.status_code == 413
        assert answer.text.startswith("The request is larger than 16 MiB")
        assert (await http.post("/api/inspect", content=content_of(recordings()[0]))).status_code == 200
        assert (await http.post("/api/inspect", content=b"nothing")).status_code == 422
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - pathlib's would be taken for one that blocks


def test_what_becomes_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dropped_file, "MAX_SHOWN_BYTES", 500)
    with pytest.raises(UnreadableError, match="too much for a page"):
        _dropped_file.shown_file(recordings()[0], None)


async def test_one_of_several_sessions_is_chosen() -> None:
    def session(name: str) -> dict[str, Any]:
        event = {"author": "root", "invocationId": "e1", "id": "1", "content": {"parts": [{"text": f"I am {name}."}]}}
        return {"id": name, "appName": "a", "userId": "u", "events": [event]}

    content = json.dumps([session("one"), session("two")]).encode()
    async with visitor() as http:
        refused = await http.post("/api/inspect", content=content)
    assert refused.status_code == 422
    assert '"one", "two"' in refused.text
    assert "I am two." in json.dumps((await dropped(content, session="two"))["messages"])


async def test_pages_of_other_sites_may_not_have_files_converted_and_nobody_without_end() -> None:
    async with visitor(app(max_requests_per_minute=1)) as http:
        foreign = await http.post("/api/inspect", content=b"x", headers={"sec-fetch-site": "cross-site"})
        assert foreign.status_code == 403
        assert (await http.post("/api/inspect", content=b"x")).status_code == 422
        assert (await http.post("/api/inspect", content=b"x")).status_code == 429


async def test_the_page_is_told_that_the_inspector_is_there() -> None:
    async with visitor() as http:
        assert (await http.get("/page.json")).json()["inspector"] is True


async def saved_and_copied(path: Path) -> tuple[httpx.Response, httpx.Response]:
    async with visitor() as http:
        saved = await http.post("/api/inspect/recording", content=content_of(path))
        return saved, await http.post("/api/inspect/pytest", content=content_of(path))


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ["approval_approved", "error_in_text", "no_content"])
def test_the_copied_test_runs_green_beside_the_saved_recording(
    fixture: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    saved, test = asyncio.run(saved_and_copied(FIXTURES / fixture / "turn1.jsonl"))
    name = saved.headers["content-disposition"].removeprefix('attachment; filename="').removesuffix('"')
    pytester.mkdir("recordings").joinpath(name).write_bytes(saved.content)
    pytester.makepyfile(test_copied=test.text)
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)
    pytester.makepyfile(test_wrong=test.text.replace("text == ANSWERS", "text == 'wrong'"))
    pytester.runpytest_inprocess(*PLUGIN, "test_wrong.py").assert_outcomes(failed=1)
