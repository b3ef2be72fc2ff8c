"""Servers that are fair, and servers that break one rule of the stream, of HTTP, or of a stop."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from stream_protocol import SSE_HEADERS
from stream_protocol.backend_check import (
    PROFILES,
    NoBackendError,
    Outcome,
    Result,
    Settings,
    _run as run_module,
    run_checks,
)
from tests.backend_check.fake_backend import ABORT, NO_IDS, SETTINGS, FakeBackend, Json, Run, states, text_chunks
from tests.served import served

pytestmark = pytest.mark.servers

Rewrite = Callable[[Json], list[Json | str]]
"""Function of a chunk: the chunks, or the events as text, that the server sends instead."""


@pytest.fixture(autouse=True)
def _all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "AT_A_TIME", 50)


class RewritingBackend(FakeBackend):
    """Server that sends other chunks."""

    def __init__(self, rewrite: Rewrite, media_type: str = "text/event-stream", fault: str = "") -> None:
        super().__init__(fault)
        self.rewrite = rewrite
        self.media_type = media_type

    def stream(self, run: Run, *, resumed: bool = False) -> Response:
        async def events() -> Any:
            async for chunk in run.read():
                for sent in self.rewrite(chunk):
                    yield sent if isinstance(sent, str) else f"data: {json.dumps(sent)}\n\n"
            yield "data: [DONE]\n\n"

        headers = {name: value for name, value in SSE_HEADERS.items() if name.lower() != "content-type"}
        return StreamingResponse(events(), media_type=self.media_type, headers=headers)


def without(kind: str) -> Rewrite:
    return lambda chunk: [] if chunk["type"] == kind else [chunk]


def after(kind: str, *added: Json | str) -> Rewrite:
    return lambda chunk: [chunk, *added] if chunk["type"] == kind else [chunk]


def same(chunk: Json) -> list[Json | str]:
    return [chunk]


async def checked(app: Starlette, *profiles: str, settings: Settings = SETTINGS) -> list[Result]:
    with served(app) as address:
        return await run_checks(f"{address}/api/chat", settings, profiles=profiles or PROFILES)


def broken(results: list[Result]) -> dict[str, str]:
    """Name of a broken check -> its reason."""
    return {each.check.name: each.reason for each in results if each.outcome is Outcome.BROKEN}


REASONING: list[Json] = [
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "delta": "Hm."},
    {"type": "reasoning-end", "id": "r"},
]
FAIR = {
    "comments": RewritingBackend(lambda chunk: [": ping\n\n", chunk]),
    "CRLF and event ids": RewritingBackend(lambda chunk: [f"id: 1\r\ndata: {json.dumps(chunk)}\r\n\r\n"]),
    "no start": RewritingBackend(without("start"), fault=NO_IDS),
    "reasoning": RewritingBackend(after("start-step", *REASONING)),
    "data and metadata": RewritingBackend(
        after("start-step", {"type": "data-x", "data": 1}, {"type": "message-metadata", "messageMetadata": {"a": 1}})
    ),
    "a charset": RewritingBackend(same, "text/event-stream; charset=utf-8"),
}


@pytest.mark.parametrize("name", FAIR)
async def test_a_fair_server_is_not_blamed(name: str) -> None:
    results = await checked(FAIR[name].app())
    assert [each for each in results if each.outcome is not Outcome.HOLDS] == []


V7_ONLY = {"type": "custom", "kind": "x.y"}
FINISH = {"type": "finish"}
BROKEN: dict[str, tuple[Rewrite, Json | None]] = {
    "terminal-missing": (without("finish"), {"type": "finish-step"}),
    "second-terminal": (after("finish", FINISH), FINISH),
    "content-after-terminal": (after("finish", *text_chunks("late")), {"type": "text-start", "id": "t"}),
    "v7-only-type": (after("start-step", V7_ONLY), V7_ONLY),
    "unknown-type": (after("start-step", {"type": "x"}), {"type": "x"}),
    "text-not-started": (without("text-start"), {"type": "text-delta", "id": "t", "delta": "Hello."}),
    "open-at-finish-step": (without("text-end"), {"type": "finish-step"}),
    "invalid-json": (after("start-step", "data: {'a': 1}\n\n"), None),
    "not-a-number": (after("start-step", 'data: {"type": "data-x", "data": NaN}\n\n'), None),
}


@pytest.mark.parametrize("rule", BROKEN)
async def test_a_broken_stream_is_reported_with_its_chunk_and_its_rule(rule: str) -> None:
    rewrite, chunk = BROKEN[rule]
    first = (await checked(RewritingBackend(rewrite).app(), "stream"))[0]
    assert (first.check.name, first.outcome, first.chunk) == ("text answer", Outcome.BROKEN, chunk)
    assert first.reason.startswith(f"{rule}, chunk ")
    assert first.source.startswith(f"'Check a stream' in the docs, rule {rule}: ")


async def test_a_client_that_fails_at_data_that_is_no_chunk_names_no_chunk() -> None:
    results = await checked(RewritingBackend(BROKEN["invalid-json"][0]).app(), "stream")
    (headers,) = [each for each in results if each.check.name == "headers"]
    assert (headers.reason, headers.chunk) == ("The client fails: JSON parsing failed: Text: {'a': 1}.", None)


async def test_a_stream_without_start_is_broken_where_it_is_broken() -> None:
    def rewrite(chunk: Json) -> list[Json | str]:
        return [] if chunk["type"] in ("start", "text-start") else [chunk]

    first = (await checked(RewritingBackend(rewrite, fault=NO_IDS).app(), "stream"))[0]
    assert first.reason.startswith("text-not-started, chunk 2, ")
    assert first.chunk == {"type": "text-delta", "id": "t", "delta": "Hello."}


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
async def test_a_wrong_content_type_is_found(kind: str) -> None:
    found = broken(await checked(RewritingBackend(same, kind).app(), "stream"))
    assert [*found] == ["headers"]
    assert found["headers"].startswith(f"The header content-type is '{kind}")


class StopOfReadersBackend(FakeBackend):
    """Server whose stop ends the stream of the readers, and not the run."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped: set[str] = set()

    async def stop(self, request: Request) -> Response:
        run = self.runs.get(request.path_params["id"])
        self.stopped |= set() if run is None or run.over else {run.message_id}
        return Response(status_code=202)

    def stream(self, run: Run, *, resumed: bool = False) -> Response:
        async def events() -> Any:
            async for chunk in run.read():
                if run.message_id in self.stopped and not resumed:
                    for end in ABORT:
                        yield f"data: {json.dumps(end)}\n\n"
                    return
                yield f"data: {json.dumps(chunk)}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream", headers=SSE_HEADERS)


async def test_a_run_that_continues_behind_a_stop_is_found() -> None:
    assert broken(await checked(StopOfReadersBackend().app(), "durable")) == {
        "stop then resume": "After a stop, the run continues: the resumed response ends with `finish`."
    }


class IgnoredStopBackend(FakeBackend):
    """Server that accepts stops, and ignores them."""

    async def stop(self, request: Request) -> Response:
        return Response(status_code=202)


async def test_a_stop_that_is_ignored_is_found() -> None:
    found = broken(await checked(IgnoredStopBackend().app(), "durable"))
    assert found["stop"] == "The stopped stream ends with `finish`, not `abort`."
    assert [*found] == ["stop", "stop then resume"]


class ForgottenApprovalBackend(FakeBackend):
    """Server that keeps no requests for approval after the end of a response."""

    def refused_status(self, sent: Json) -> int | None:
        return 409 if "approval-responded" in states(sent["messages"][-1]) else super().refused_status(sent)


async def test_a_forgotten_approval_is_found() -> None:
    found = broken(await checked(ForgottenApprovalBackend().app()))
    assert {*found} == {"approval", "denial", "repeated approval", "reloaded approval"}
    assert {*found.values()} == {"HTTP 409 instead of a stream: refused"}


class AnsweringBackend(FakeBackend):
    """Server that gives each chat the same response. ``first``: number of requests before that."""

    def __init__(self, response: Response, first: int = 0) -> None:
        super().__init__()
        self.response = response
        self.first = first

    async def chat(self, request: Request) -> Response:
        if await request.body() == b"{}":
            return Response("no messages", 400)
        self.first -= 1
        return await super().chat(request) if self.first >= 0 else self.response


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response("<html>Bad Gateway</html>", 502), "HTTP 502 instead of a stream: <html>Bad Gateway</html>"),
        (Response(status_code=204), "HTTP 204 instead of a stream"),
        (Response("Hello!"), "The response is not a stream (without a content type): Hello!"),
    ],
)
async def test_a_response_that_is_no_stream_is_each_time_found(response: Response, reason: str) -> None:
    found = broken(await checked(AnsweringBackend(response).app(), "stream"))
    assert {found[name] for name in ("text answer", "headers", "pieces", "slow reader")} == {reason}


async def test_a_server_that_limits_requests_is_not_blamed() -> None:
    results = await checked(AnsweringBackend(Response("slow down", 429), first=6).app())
    assert broken(results) == {}
    reasons = [each.reason for each in results if each.outcome is Outcome.NOT_OFFERED]
    assert "Not checked: HTTP 429, the server limits requests." in reasons


async def test_a_server_that_sends_no_response_is_found() -> None:
    class SilentBackend(FakeBackend):
        async def chat(self, request: Request) -> Response:
            if await request.body() == b"{}":
                return Response("no messages", 400)
            await request.is_disconnected()
            await request.receive()  # until the client gives up
            return Response()

    settings = Settings(timeout=0.5)
    first = (await checked(SilentBackend().app(), "stream", settings=settings))[0]
    assert (first.outcome, first.reason) == (Outcome.BROKEN, "The request fails: no response within 0.5 seconds.")


async def test_the_address_of_a_web_page_is_no_backend() -> None:
    class PageBackend(FakeBackend):
        async def chat(self, request: Request) -> Response:
            return Response("<!doctype html>", media_type="text/html")

    with pytest.raises(NoBackendError, match="POST gets a web page: pass the URL of the chat endpoint"):
        await checked(PageBackend().app())


BODIES = {
    b"": "empty body",
    b"{": "not JSON",
    b'"messages": 1': "wrong types",
    b'"messages": []': "POST without messages",
}


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("body", BODIES)
async def test_a_bad_body_that_is_accepted_or_breaks_the_server_is_found(body: bytes, status: int) -> None:
    class BadBodyBackend(FakeBackend):
        def refuse_body(self, sent: bytes) -> Response | None:
            is_meant = sent == body if len(body) < 2 else body in sent
            return Response("{}", status) if is_meant else super().refuse_body(sent)

    found = broken(await checked(BadBodyBackend().app(), "stream"))
    assert [*found] == [BODIES[body]]
    assert found[BODIES[body]].startswith(f"HTTP {status} ")


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):\n  File",
        "Error: x\n    at chat (/app/route.js:3:7)",
        json.dumps("Error: x\n    at chat (/app/route.js:3:7)"),
    ],
)
async def test_a_traceback_of_any_language_is_found(text: str) -> None:
    class TalkativeBackend(FakeBackend):
        def first_answer(self, asked: str) -> list[Json]:
            return [{"type": "error", "errorText": text}] if "Fail" in asked else super().first_answer(asked)

    assert broken(await checked(TalkativeBackend().app(), "chat")) == {"error": "The user sees a traceback."}


async def test_a_server_without_errors_and_without_histories_may_claim_all() -> None:
    class CalmBackend(FakeBackend):
        def first_answer(self, asked: str) -> list[Json]:
            return super().first_answer(asked.replace("Fail", ""))

        async def history(self, request: Request) -> Response:
            return Response("<!doctype html>", media_type="text/html")

    results = await checked(CalmBackend().app())
    missing = {each.check.name: each.excused for each in results if each.outcome is Outcome.NOT_OFFERED}
    assert broken(results) == {}
    assert missing == dict.fromkeys(("error", "reload", "repeated POST stored once", "reloaded approval"), True)


async def test_a_greeting_and_a_history_that_is_only_a_list_are_fair() -> None:
    class GreetingBackend(FakeBackend):
        async def history(self, request: Request) -> Response:
            stored = json.loads(bytes((await super().history(request)).body))["messages"]
            return JSONResponse([{"id": "m0", "role": "assistant", "parts": text_parts("Welcome!")}, *stored])

    results = await checked(GreetingBackend().app())
    assert [each for each in results if each.outcome is not Outcome.HOLDS] == []


def text_parts(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        (JSONResponse([{"role": "user"}]), "A message of the history has no id, role or parts."),
        (Response("it broke", 500), "HTTP 500 instead of a history: it broke"),
    ],
)
async def test_a_broken_history_is_found(history: Response, reason: str) -> None:
    class BrokenHistoryBackend(FakeBackend):
        async def history(self, request: Request) -> Response:
            return history

    found = broken(await checked(BrokenHistoryBackend().app(), "durable"))
    assert found == dict.fromkeys(("reload", "repeated POST stored once", "reloaded approval"), reason)


async def test_a_dropped_file_is_found_or_at_least_not_confirmed() -> None:
    class NoHistoryBackend(FakeBackend):
        async def history(self, request: Request) -> Response:
            return Response(status_code=404)

    kept = {each.check.name: each for each in await checked(FakeBackend("file").app(), "chat")}["file"]
    lost = {each.check.name: each for each in await checked(NoHistoryBackend("file").app(), "chat")}["file"]
    assert (kept.outcome, kept.reason) == (
        Outcome.BROKEN,
        "The file is dropped: the history does not have it.",
    )
    assert (lost.outcome, lost.excused) == (Outcome.NOT_OFFERED, False)
    assert lost.reason.endswith(" of the file: was the file dropped?")
