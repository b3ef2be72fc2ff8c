"""The Inspector's stored live chats, and the users who may see them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from starlette.applications import Starlette

from stream_protocol import parse_chat_request
from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.recording import load_recording, replay
from stream_protocol.serving import ChatService, create_app, header_user
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.chat_client import Page
from tests.serving.support import HANG, chat, said

USER = "x-user"
KINDS = ("turn", "event", "chunk", "end", "cut", "prompt", "answer", "failure")

pytestmark = pytest.mark.usefixtures("converted_here")


def look_up(city: str) -> dict[str, Any]:
    """Looks up."""
    return {"city": city, "api_key": "hunter2hunter2"}


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def demo(*script: Any, inspector: Inspector | None = None, **options: Any) -> Starlette:
    tools: list[Any] = [look_up, FunctionTool(pay, require_confirmation=True)]
    inspector = inspector or Inspector()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=list(script)), tools=tools)
    service = ChatService(agent, recorder=inspector, **options)
    identify = header_user(USER)
    app = create_app(service, identify=identify)
    app.routes[:0] = inspector_routes(inspector, service, identify=identify)
    return app


@asynccontextmanager
async def visitor(app: Starlette, user: str = "ann") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://app", headers={USER: user}, timeout=HANG
    ) as http:
        yield http


async def entries(http: httpx.AsyncClient, chat_id: str = "c1", after: int = 0) -> list[dict[str, Any]]:
    answer = await http.get(f"/api/chat/{chat_id}/inspect", params={"after": after})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [next(kind for kind in KINDS if kind in entry) for entry in found]


async def test_each_event_is_followed_by_the_chunks_that_it_became_with_their_bytes_on_the_wire() -> None:
    async with visitor(demo([Call("look_up", {"city": "Oslo"})], "It is cold.")) as http:
        stream = (await http.post("/api/chat", json=chat(said("weather?")))).text
        found = await entries(http)
    sent = [f"{event}\n\n" for event in stream.split("\n\n")[:-2]]
    shown = [entry for entry in found if "chunk" in entry]
    assert [entry["chunk"]["type"] for entry in shown] == [json.loads(event[6:])["type"] for event in sent]
    assert [entry["bytes"] for entry in shown] == [len(event.encode()) for event in sent]
    assert kinds(found)[:2] == ["turn", "event"]
    assert kinds(found)[-1] == "end"
    made_by_end = [entry["chunk"]["type"] for entry in shown if entry.get("closing")]
    assert made_by_end == ["finish-step", "finish"]
    calling = next(at for at, entry in enumerate(found) if "functionCall" in json.dumps(entry.get("event", "")))
    assert found[calling + 1]["chunk"]["type"] in {"start-step", "tool-input-start"}
    assert [entry["number"] for entry in found] == [*range(1, len(found) + 1)]
    assert "hunter2" not in json.dumps(found)


async def test_who_asks_again_gets_what_is_new() -> None:
    async with visitor(demo("One.", "Two.")) as http:
        await http.post("/api/chat", json=chat(said("hi")))
        first = await entries(http)
        await http.post("/api/chat", json=chat(said("hi", "u2")))
        second = await entries(http, after=first[-1]["number"])
        nothing = await http.get("/api/chat/c1/inspect", params={"after": second[-1]["number"]})
    assert second[0]["number"] == first[-1]["number"] + 1
    assert kinds(second)[0] == "turn"
    assert nothing.json() == {"entries": [], "next": second[-1]["number"]}


@pytest.mark.parametrize("after", ["-1", "x", "9" * 20, "\N{ARABIC-INDIC DIGIT ONE}"])
async def test_a_number_that_is_none_is_refused(after: str) -> None:
    async with visitor(demo("One.")) as http:
        assert (await http.get("/api/chat/c1/inspect", params={"after": after})).status_code == 422


async def test_nobody_sees_the_chat_of_another_user() -> None:
    app = demo("Secret.")
    async with visitor(app) as ann, visitor(app, "bob") as bob:
        await ann.post("/api/chat", json=chat(said("hi")))
        assert await entries(bob) == []
        assert (await bob.get("/api/chat/c1/inspect/recording")).status_code == 404
        assert (await bob.get("/api/chat/c1/inspect/pytest")).status_code == 404
        assert (await bob.get("/api/chat/c1/inspect/findings")).json() == {"findings": [], "unchecked": 0}
        assert await entries(ann) != []
        del ann.headers[USER]
        assert (await ann.get("/api/chat/c1/inspect")).status_code == 401


async def test_a_deleted_chat_is_forgotten_and_an_unknown_one_is_empty() -> None:
    async with visitor(demo("One.")) as http:
        await http.post("/api/chat", json=chat(said("hi")))
        assert (await http.delete("/api/chat/c1")).status_code == 204
        assert await entries(http) == []
        assert await entries(http, "never") == []


async def test_a_chat_is_saved_as_a_recording_that_replays_as_what_was_sent(tmp_path: Path) -> None:
    app = demo("Hello.", [Call("pay", {"amount": 3})], "Paid.")
    async with visitor(app) as http:
        page = Page(app)
        streams = []
        for words in (said("hi"), said("pay", "u2")):
            page.messages.append(words)
            answer = await http.post("/api/chat", json=page.body())
            streams.append(answer.text)
            page.take(chunks_of(answer.text))
        page.approve(approved=True)
        streams.append((await http.post("/api/chat", json=page.body())).text)
        saved = await http.get("/api/chat/c1/inspect/recording")
        findings = (await http.get("/api/chat/c1/inspect/findings")).json()
    assert saved.headers["content-disposition"] == 'attachment; filename="hi.jsonl"'
    (tmp_path / "saved.jsonl").write_bytes(saved.content)
    recording = load_recording(tmp_path / "saved.jsonl")
    assert b"".join(replay(recording)).decode() == "".join(streams)
    assert findings == {"findings": [], "unchecked": 0}


def chunks_of(stream: str) -> list[Any]:
    return [json.loads(event[6:]) for event in stream.split("\n\n")[:-2]]


async def test_a_response_that_continues_what_is_not_kept_is_not_checked() -> None:
    inspector = Inspector()
    app = demo([Call("pay", {"amount": 3})], "Paid.", inspector=inspector)
    async with visitor(app) as http:
        page = Page(app)
        page.messages.append(said("pay"))
        page.take(chunks_of((await http.post("/api/chat", json=page.body())).text))
        inspector.forget("c1", user_id="ann")
        page.approve(approved=True)
        await http.post("/api/chat", json=page.body())
        assert kinds(await entries(http))[0] == "turn"
        assert (await http.get("/api/chat/c1/inspect/findings")).json() == {"findings": [], "unchecked": 1}


async def test_a_finding_names_the_entry_that_it_is_about() -> None:
    inspector = Inspector()
    async with visitor(demo("Hi.", inspector=inspector)) as http:
        await http.post("/api/chat", json=chat(said("hi")))
        turn = inspector.turn(parse_chat_request(chat(said("hi"))), app_name="a", user_id="ann", options={})
        turn.begin("m2")
        turn.written([b'data: {"type":"start"}\n\n', b'data: {"type":"text-delta","id":"9","delta":"x"}\n\n'])
        turn.end("finish")
        (finding, *_) = (await http.get("/api/chat/c1/inspect/findings")).json()["findings"]
        found = await entries(http)
    assert finding["severity"] == "error"
    (named,) = [entry for entry in found if entry["number"] == finding["number"]]
    assert named["chunk"] == {"type": "text-delta", "id": "9", "delta": "x"}


def recorded(inspector: Inspector, chat_id: str, *texts: str, user: str = "ann") -> None:
    """A run of one fragment a text."""
    request = parse_chat_request(chat(said("hi"), chat_id=chat_id))
    turn = inspector.turn(request, app_name="app", user_id=user, options={})
    turn.begin("m1")
    for text in texts:
        turn.event(Event(author="a", content=types.Content(parts=[types.Part(text=text)]), partial=True))
        turn.written([b'data: {"type":"text-delta","id":"0","delta":"x"}\n\n'])
    turn.end("finish")


def test_the_oldest_turns_make_room_for_the_newest_and_users_do_not_share_it() -> None:
    inspector = Inspector(max_bytes=20_000)
    recorded(inspector, "bobs", "x", user="bob")
    for number in range(30):
        recorded(inspector, f"c{number}", "x" * 2_000)
    kept = [number for number in range(30) if inspector.turns(f"c{number}", user_id="ann")]
    assert kept == [*range(kept[0], 30)]
    assert 3 < len(kept) < 10
    assert inspector.turns("bobs", user_id="bob")


def test_of_a_turn_that_is_too_large_its_beginning_stays_and_the_end_says_so() -> None:
    inspector = Inspector(max_bytes=20_000)
    recorded(inspector, "c1", *["x" * 2_000] * 50)
    (turn,) = inspector.turns("c1", user_id="ann")
    assert turn.is_cut
    assert json.loads(turn.entries[-1][1].shown) == {"cut": 20_000}
    assert sum(len(entry.line) for _, entry in turn.entries) < 21_000
    recorded(inspector, "c2", *["x" * 2_000] * 2)
    assert not inspector.turns("c1", user_id="ann")
    assert inspector.turns("c2", user_id="ann")[0].entries


def test_small_entries_are_counted_too_and_so_are_users() -> None:
    inspector = Inspector(max_entries=100, max_users=2)
    for number in range(40):
        recorded(inspector, f"c{number}", "x", "y")
    assert sum(len(inspector.turns(f"c{number}", user_id="ann")) for number in range(40)) <= 17
    recorded(inspector, "b", "x", user="bob")
    recorded(inspector, "c", "x", user="cleo")
    assert not inspector.turns("c39", user_id="ann")
    assert inspector.turns("b", user_id="bob")


def test_a_request_with_large_files_is_not_kept() -> None:
    inspector = Inspector()
    request = parse_chat_request(chat(said("hi")))
    object.__setattr__(request, "size", 2**21)
    turn = inspector.turn(request, app_name="app", user_id="ann", options={})
    turn.begin("m1")
    assert json.loads(turn.entries[0][1].shown)["turn"]["request"] is None


async def test_a_recorder_that_fails_leaves_the_inspector_alone() -> None:
    class Broken:
        def turn(self, *_: Any, **__: Any) -> Any:
            return self

        def begin(self, message_id: str | None) -> None:
            raise OSError("full")

    inspector = Inspector()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]))
    service = ChatService(agent, recorder=[Broken(), inspector])
    request = parse_chat_request(chat(said("hi")))
    async for _ in await service.respond(request, user_id="ann"):
        pass
    (turn,) = inspector.turns("c1", user_id="ann")
    assert turn.entries[-1][1].line.startswith(b'{"end":"finish"')
