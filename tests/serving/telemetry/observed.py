"""Runs chats of all kinds in a process with telemetry, and returns the recorded spans, metrics and log records.

OpenTelemetry's providers can be set only once per process, so the chats run in a separate process.
"""

import asyncio
import io
import json
import logging
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from typing import Any, Final

import httpx
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from starlette.types import ASGIApp

from stream_protocol import ChatRequestError, parse_chat_request
from stream_protocol.server import log_to_terminal, only_allowed_hosts
from stream_protocol.serving import ChatService, LogBounds, MemoryRunLog, ServiceLimits, SyncChatService, create_app
from stream_protocol.serving.run_logs import Lease, RunHandle
from stream_protocol.serving.telemetry import export_for_prometheus
from stream_protocol.testing import Call, ScriptedLlm, Wait, token_usage
from tests.processes import FORKS, HANG
from tests.serving.http.test_allowed_hosts import listener
from tests.serving.http.test_limited_http import Server
from tests.serving.keeping_engine import KeepingEngine, StoredRuns
from tests.serving.support import JSON_TYPE, Exchange, begin, chat, client, post, said, stream

SECRET: Final = "xylophone"
"""A word that is in all messages, calls, responses and errors."""

CALLER_TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
CALLER_SPAN: Final = "b7ad6b7169203331"


@dataclass(frozen=True)
class Observed:
    """Recorded spans, metrics and log records."""

    spans: list[dict[str, Any]]
    metrics: str
    """The metrics in Prometheus's text format."""
    log: list[str]

    def span(self, name: str, **attributes: object) -> dict[str, Any]:
        """Returns the only span with this name and these attributes.

        In the attributes' names, ``_`` stands for ``.``.
        """
        (found,) = [span for span in self.spans if span["name"] == name and attributes.items() <= span.items()]
        return found

    def records(self, **fields: object) -> list[dict[str, Any]]:
        """Returns the log records with these fields."""
        return [line for line in map(json.loads, self.log) if fields.items() <= line.items()]

    @cached_property
    def samples(self) -> list[Sample]:
        """Returns all samples of all metrics."""
        return [sample for family in text_string_to_metric_families(self.metrics) for sample in family.samples]

    def number(self, name: str, **labels: str) -> float:
        """Returns the sum of the samples with this name and these labels."""
        return sum(
            sample.value for sample in self.samples if sample.name == name and labels.items() <= sample.labels.items()
        )


def observe() -> Observed:
    """Run the chats in a separate process."""
    results, sender = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_observe, args=(sender,), daemon=True)
    process.start()
    sender.close()
    try:
        assert results.poll(HANG), "it hangs"
        spans, metrics, log, failure = results.recv()
    finally:
        process.kill()
        process.join(HANG)
    assert failure is None, failure
    return Observed(spans, metrics, log)


def _observe(results: Connection) -> None:
    read = export_for_prometheus()
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    sys.stderr = log = io.StringIO()
    log_to_terminal(log_format="json", verbose=True, whole=["whole_app"])
    logging.getLogger().setLevel(logging.DEBUG)
    failure: str | None = None
    try:
        asyncio.run(_chats())
        _of_a_view()
    except BaseException:  # noqa: BLE001 - the test tells it
        failure = traceback.format_exc()
    spans = [*map(_as_data, exporter.get_finished_spans())]
    results.send((spans, read().decode(), log.getvalue().splitlines(), failure))


def _as_data(span: ReadableSpan) -> dict[str, Any]:
    context = span.context
    assert context is not None
    named = {name.replace(".", "_"): value for name, value in (span.attributes or {}).items()}
    return {
        **named,
        "name": span.name,
        "kind": span.kind.name,
        "trace": trace.format_trace_id(context.trace_id),
        "id": trace.format_span_id(context.span_id),
        "parent": None if span.parent is None else trace.format_span_id(span.parent.span_id),
        "links": [trace.format_span_id(link.context.span_id) for link in span.links],
        "status": (span.status.status_code.name, span.status.description),
        "events": [event.name for event in span.events],
    }


def weather(city: str) -> str:
    """Returns a weather report, and logs some lines in the app's own log."""
    own = logging.getLogger("my_app")
    own.warning("somebody asks for %s (%d%%)", city, len(city))
    own.warning(f"somebody asks for {city}")
    logging.getLogger("whole_app.tools").warning("somebody asks for a %s of %d", "city", 7)
    return f"rain in {city}"


def broken(city: str) -> str:
    """Fails."""
    raise ValueError(f"there is no {city}")


class LosingLog(MemoryRunLog):
    """Run log whose leases may be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: list[RunHandle] = []

    async def claim(self, chat: str, request: str, owner: RunHandle) -> Any:
        self.owners.append(owner)
        lease: Lease = await super().claim(chat, request, owner)
        return lease


def _service(*turns: Any, **options: Any) -> ChatService:
    model = ScriptedLlm(turns=list(turns))
    return ChatService(LlmAgent(name="guide", model=model, tools=[weather, broken]), **options)


def _words(chat_id: str, number: int = 1) -> dict[str, Any]:
    return chat(said(f"{SECRET}?", f"u{number}"), chat_id=chat_id)


HALF: Final[Sequence[Any]] = ("Half ", Wait(60.0), "whole.")


async def _until_text(exchange: Exchange) -> None:
    assert await exchange.status() == 200
    await exchange.until("text-delta")


async def _chats() -> None:
    await _chats_that_end()
    await _a_reload()
    await _interrupted_stopped_and_lost()
    await _recovered_and_given_up()
    await _refused()
    await _refused_before_the_app()
    await _an_instrumented_app()


async def _chats_that_end() -> None:
    app = create_app(_service([f"So, {SECRET}.", token_usage(prompt=3, answer=2)]))
    caller = {**JSON_TYPE, "traceparent": f"00-{CALLER_TRACE}-{CALLER_SPAN}-01"}
    async with begin(app, _words("plain"), headers=caller) as exchange:
        await _until_text(exchange)
        while await exchange.event():
            pass
    turns: dict[str, Any] = {
        "tools": [[Call("weather", {"city": SECRET}), Call("weather", {"city": "Rome"})], [Wait(0.15), "Rain."]],
        "broken": [[Call("broken", {"city": SECRET})]],
        "failing": [[f"About {SECRET}", RuntimeError(f"no quota for {SECRET}")]],
    }
    for chat_id, answers in turns.items():
        await stream(create_app(_service(*answers)), _words(chat_id))


async def _a_reload() -> None:
    go_on = asyncio.Event()
    service = _service(["Half ", Wait(go_on), "whole."], run_log=MemoryRunLog(LogBounds(max_readers=1)))
    app = create_app(service)
    async with begin(app, _words("long")) as first:
        await _until_text(first)
        async with Exchange(app, "/api/chat/long/stream", method="GET").begin(b"") as second:
            await _until_text(second)
            await first.gone()
            go_on.set()
            await second.until("finish")


async def _interrupted_stopped_and_lost() -> None:
    app = create_app(_service(HALF, ["Yes."]))
    async with begin(app, _words("interrupted")) as exchange:
        await _until_text(exchange)
        await stream(app, _words("interrupted", 2))
    app = create_app(_service(HALF))
    async with begin(app, _words("stopped")) as exchange, client(app) as http:
        await _until_text(exchange)
        await http.post("/api/chat/stopped/stop")
        await exchange.until("abort")
    log = LosingLog()
    async with begin(create_app(_service(HALF, run_log=log)), _words("lost")) as exchange:
        await _until_text(exchange)
        log.owners[-1].lease_lost()
        await exchange.until("error")


async def _recovered_and_given_up() -> None:
    kept, stores = StoredRuns(), {"session_service": InMemorySessionService(), "run_log": MemoryRunLog()}
    for turn in (HALF, "Whole."):
        service = _service(turn, **stores, engine=KeepingEngine(kept))
        await stream_until(create_app(service), _words("recovered"), "text-delta" if turn is HALF else "finish")
        await service.aclose()
    for _ in range(3):
        engine = KeepingEngine(kept)
        service = _service(HALF, **stores, engine=engine)
        await stream_until(create_app(service), _words("given-up"), "text-delta")
        engine.is_dead = True
        await service.aclose()
    service = _service(HALF, **stores, engine=KeepingEngine(kept))
    await stream_until(create_app(service), _words("given-up"), "error")
    await service.aclose()


async def stream_until(app: ASGIApp, body: dict[str, Any], kind: str) -> None:
    async with begin(app, body) as exchange:
        assert await exchange.status() == 200
        await exchange.until(kind)


async def _refused() -> None:
    app = create_app(_service("Never.", limits=ServiceLimits(max_requests_per_minute=2)))
    async with client(app) as http:
        answers = [await http.get(path) for path in ("/api/chat/none", f"/api/chats?search={SECRET}&limit=x")]
        answers += [await http.get(path) for path in ("/api/chats", "/healthz")]
        answers.append(await http.get(f"/api/chat/none/artifacts/{SECRET}.txt"))
    assert [answer.status_code for answer in answers] == [404, 422, 429, 200, 429]
    assert (await post(create_app(_service("Never.")), {"id": "c", "messages": SECRET})).status_code == 422
    failing = asyncio.create_task(_fail())
    await asyncio.sleep(0)
    del failing  # asyncio logs that the task's exception was never retrieved


async def _fail() -> None:
    raise LookupError(SECRET)


async def _refused_before_the_app() -> None:
    app = create_app(_service("Never."))
    with listener("127.0.0.1") as sock:
        guarded = only_allowed_hosts(app, sock)
    async with client(guarded) as http:
        assert (await http.get("/api/chats", headers={"host": "evil.example"})).status_code == 403
    server = Server(app)
    nonsense, slow = server.connects(), server.connects()
    nonsense.sends(b"nonsense\r\n\r\n")
    slow.sends(b"GET / HT")
    slow.waits(3)
    assert (nonsense.transport.status, slow.transport.status) == (b"400", b"408")
    server.connects()
    await asyncio.gather(nonsense.ends(), slow.ends())


async def _an_instrumented_app() -> None:
    inner = create_app(_service(["Hi."]))

    async def instrumented(scope: Any, receive: Any, send: Any) -> None:
        with trace.get_tracer("own").start_as_current_span("the app's own"):
            await inner(scope, receive, send)

    app: ASGIApp = instrumented
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as http:
        await http.post("/api/chat", json=_words("instrumented"))


def _of_a_view() -> None:
    service = SyncChatService(lambda: _service(["Hi."]))
    with trace.get_tracer("own").start_as_current_span("a view"):
        b"".join(service.respond(parse_chat_request(_words("view")), user_id="ann"))
    with suppress(ChatRequestError):
        service.respond(parse_chat_request(chat(said(""), chat_id="empty")), user_id="ann")
    service.close()
