"""Small chat server that breaks exactly one rule: its ``fault``, the name of the check that must find it."""

import asyncio
import copy
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stream_protocol import SSE_HEADERS, reduce_chunks
from stream_protocol.backend_check import Settings

Json = dict[str, Any]

SETTINGS: Final = Settings(
    tool=("What is the weather?",), approval=("Delete it",), client_tool=("Which time zone?",), timeout=20
)
NO_IDS: Final = "no ids"
"""Setting that is not a fault: the server leaves message ids to the client."""

PIECES: Final = 60
PACE: Final = 0.02
"""Seconds between the pieces of a long response."""

LOST: Final = PIECES // 2
"""Delta that a second reader loses."""

SLOW_TEXT: Final = "x" * 2000
SLOW_SECONDS: Final = 3.0
"""Seconds after which a server with this fault disconnects a slow reader."""


class Run:
    """One response: its chunks so far, for any number of readers."""

    def __init__(self, message_id: str, asked: str) -> None:
        self.message_id = message_id
        self.asked = asked
        self.chunks: list[Json] = []
        self.over = False
        self.stopped = False
        self.readers = 0
        self._grown = asyncio.Condition()

    async def write(self, *chunks: Json) -> None:
        async with self._grown:
            self.chunks += chunks
            self._grown.notify_all()

    async def end(self, *chunks: Json) -> None:
        if not self.over:
            self.over = True
            await self.write(*chunks)

    async def read(self) -> AsyncIterator[Json]:
        position = 0
        self.readers += 1
        try:
            while position < len(self.chunks) or not self.over:
                async with self._grown:
                    while position == len(self.chunks) and not self.over:
                        await self._grown.wait()
                for chunk in self.chunks[position:]:
                    yield chunk
                    position += 1
        finally:
            self.readers -= 1


def text_chunks(text: str) -> list[Json]:
    return [
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": text},
        {"type": "text-end", "id": "t"},
    ]


def call_chunks(name: str, *rest: Json) -> list[Json]:
    call = {"type": "tool-input-available", "toolCallId": f"c-{name}", "toolName": name, "input": {}}
    return [call, *({**chunk, "toolCallId": f"c-{name}"} for chunk in rest)]


NEXT_STEP: Final[list[Json]] = [{"type": "finish-step"}, {"type": "start-step"}]
END: Final[list[Json]] = [{"type": "finish-step"}, {"type": "finish"}]
ABORT: Final[list[Json]] = [{"type": "text-end", "id": "t"}, {"type": "finish-step"}, {"type": "abort"}]
OUTPUT: Final = {"type": "tool-output-available", "output": "done"}


class FakeBackend:
    """State of the server."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.runs: dict[str, Run] = {}
        self.seen: set[str] = set()
        self.stored: dict[str, list[Json]] = {}
        self.made = 0
        self.deleted: set[str] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    def app(self) -> Starlette:
        return Starlette(routes=self.routes(""))

    def routes(self, prefix: str) -> list[Route]:
        path = f"{prefix}/api/chat"
        return [
            Route(path, self.chat, methods=["POST"]),
            Route(f"{path}/{{id}}/stream", self.resume, methods=["GET"]),
            Route(f"{path}/{{id}}/stop", self.stop, methods=["POST"]),
            Route(f"{path}/{{id}}", self.delete, methods=["DELETE"]),
            Route(f"{path}/{{id}}", self.history, methods=["GET"]),
        ]

    # POST

    async def chat(self, request: Request) -> Response:
        body = await request.body()
        if (refused := self.refuse_body(body)) is not None:
            return refused
        sent = json.loads(body)
        if (status := self.refused_status(sent)) is not None:
            return Response("refused", status)
        last = sent["messages"][-1]
        running = self.runs.get(sent["id"])
        if running is not None and not running.over:
            if running.asked == last["id"] and self.fault != "repeated POST runs once":
                return self.stream(running)
            await running.end(*ABORT)
        run = Run(self.message_id(sent), last["id"])
        self.runs[sent["id"]] = run
        self.store(sent)
        self.seen.add(json.dumps([last["id"], last["role"]]))
        task = asyncio.create_task(self.answer(run, sent))
        self.tasks.add(task)
        if self.fault == "pieces" and "story" in text_of(last):
            await task
        return self.stream(run)

    def refuse_body(self, body: bytes) -> Response | None:
        if body == {"not JSON": b"{", "empty body": b""}.get(self.fault):
            return Response(status_code=200)
        try:
            sent = json.loads(body)
        except ValueError:
            return Response("bad JSON", 400)
        except RecursionError:
            return Response("too deep", 500 if self.fault == "deep nesting" else 400)
        if not isinstance(sent.get("messages"), list):
            return Response("bad messages", 500 if self.fault == "wrong types" and sent else 422)
        if not sent["messages"]:
            return Response("no messages", 200 if self.fault == "POST without messages" else 422)
        return None

    def refused_status(self, sent: Json) -> int | None:
        messages, last = sent["messages"], sent["messages"][-1]
        before: Json = messages[-2] if len(messages) > 1 else {"role": "", "parts": []}
        running = self.runs.get(sent["id"])
        is_running = running is not None and not running.over
        is_repeated = json.dumps([last["id"], last["role"]]) in self.seen
        is_partial = any(part.get("state") == "streaming" for part in before["parts"])
        breaks = {
            "extra keys": "createdAt" in last,
            "regenerate": sent["trigger"] == "regenerate-message",
            "repeated POST": is_repeated
            and "messageId" not in sent
            and sent["trigger"] == "submit-message"
            and not is_running,
            "repeated approval": is_repeated and "approval-responded" in states(last),
            "cut connection": is_running and is_partial,
            "second tab": is_running and before["role"] == "user",
            "unusual text": "\0" in text_of(last),
            "turn after tools": last["role"] == "user" and "output-available" in states(before),
            "unanswered approval": last["role"] == "user" and "approval-requested" in states(before),
            "unanswered client tool": last["role"] == "user" and "input-available" in states(before),
            "client tool error": "output-error" in states(last),
            "stop then send": running is not None and running.stopped,
        }
        return 500 if breaks.get(self.fault) else None

    def message_id(self, sent: Json) -> str:
        messages, last = sent["messages"], sent["messages"][-1]
        self.made += 1
        if last["role"] == "assistant" and not (self.fault == "client tool" and "output-available" in states(last)):
            return str(last["id"])
        if self.fault == "edit" and "messageId" in sent:
            return str(sent["messageId"])
        return str(messages[1]["id"]) if self.fault == "several turns" and len(messages) == 5 else f"m{self.made}"

    async def answer(self, run: Run, sent: Json) -> None:
        last = sent["messages"][-1]
        start = {"type": "start"} if self.fault == NO_IDS else {"type": "start", "messageId": run.message_id}
        await run.write(start, {"type": "start-step"})
        if "story" in text_of(last):
            await run.write({"type": "text-start", "id": "t"})
            for number in range(PIECES):
                if run.over:
                    return
                await run.write({"type": "text-delta", "id": "t", "delta": f"{number} "})
                await asyncio.sleep(PACE)
            await run.end({"type": "text-end", "id": "t"}, *END)
            return
        chunks = [*self.continued(last)] if last["role"] == "assistant" else self.first_answer(self.text_for(last))
        if self.fault == "text answer" and text_of(last) == "Hello":
            chunks = chunks[:-1]
        await run.end(*chunks, *([] if chunks[-1]["type"] == "error" else END))

    def text_for(self, message: Mapping[str, Any]) -> str:
        """The text of a user message for the agent, with the text of its file."""
        files = [part["url"] for part in message["parts"] if part["type"] == "file" and self.fault != "file"]
        return " ".join([text_of(message), *(b64decode(url.partition(",")[2]).decode() for url in files)])

    def first_answer(self, text: str) -> list[Json]:
        if "weather" in text:
            call = call_chunks("weather", OUTPUT)[self.fault == "tool result" :]
            return [*call, *NEXT_STEP, *text_chunks("Sunny.")]
        if "Delete" in text:
            return call_chunks("delete", {"type": "tool-approval-request", "approvalId": f"a{self.made}"})
        if "time zone" in text:
            return call_chunks("zone")
        if "Fail" in text:
            trace = "Traceback (most recent call last)" if self.fault == "error" else "It broke."
            return [*text_chunks("I begin"), {"type": "error", "errorText": trace}]
        if self.fault == "slow reader" and text == "Hello":
            delta = text_chunks(SLOW_TEXT)[1]
            return [text_chunks("")[0], *[delta] * 150, text_chunks("")[2]]
        return text_chunks(f"Hello. {text}" if "word is" in text else "Hello.")

    def continued(self, message: Mapping[str, Any]) -> Iterator[Json]:
        for part in message["parts"]:
            if part.get("state") == "approval-responded":
                runs = part["approval"]["approved"]
                runs = {"approval": False, "denial": True}.get(self.fault, runs) if self.is_faulty(runs) else runs
                chunk: Json = OUTPUT if runs else {"type": "tool-output-denied"}
                yield {**chunk, "toolCallId": part["toolCallId"]}
        yield from text_chunks("Thank you.")

    def is_faulty(self, approved: bool) -> bool:
        return self.fault == ("approval" if approved else "denial")

    def stream(self, run: Run, *, resumed: bool = False) -> Response:
        async def events() -> AsyncIterator[str]:
            began = asyncio.get_running_loop().time()
            deltas = 0
            async for chunk in run.read():
                deltas += chunk["type"] == "text-delta"
                if (
                    resumed
                    and self.fault == "second reader"
                    and deltas == PIECES // 2
                    and chunk["type"] == "text-delta"
                ):
                    continue
                is_slow = asyncio.get_running_loop().time() - began > SLOW_SECONDS
                if self.fault == "slow reader" and chunk.get("delta") == SLOW_TEXT and is_slow:
                    raise ConnectionAbortedError("the reader is too slow")
                yield f"data: {json.dumps(chunk)}\n\n"
            yield "data: [DONE]\n\n"

        async def buffered() -> AsyncIterator[str]:
            yield "".join([event async for event in events()])

        headers = {} if self.fault == "headers" else SSE_HEADERS
        body = buffered() if self.fault == "pieces" else events()
        return StreamingResponse(body, media_type="text/event-stream", headers=headers)

    # the other routes

    async def resume(self, request: Request) -> Response:
        run = self.runs.get(request.path_params["id"])
        if run is not None and self.fault == "stop then resume" and run.stopped:
            return self.stream(run)
        if run is None or run.over:
            return Response(status_code=404 if self.fault == "resume without run" else 204)
        if self.fault == "resume":
            for _ in range(20):
                if not run.readers:
                    return Response(status_code=204)
                await asyncio.sleep(0.02)
        return self.stream(run, resumed=True)

    async def stop(self, request: Request) -> Response:
        run = self.runs.get(request.path_params["id"])
        if run is not None and not run.over:
            run.stopped = True
            await run.end(*(ABORT[:-1] + END[1:] if self.fault == "stop" else ABORT))
            return Response(status_code=202)
        return Response(status_code=500 if self.fault == "stop without run" else 202)

    def store(self, sent: Json) -> None:
        """Store the messages of a request."""
        stored = self.stored.get(sent["id"], [])
        if self.fault == "repeated POST stored once" and stored and stored[-1]["id"] == sent["messages"][-1]["id"]:
            sent = {**sent, "messages": [*sent["messages"], sent["messages"][-1]]}
        kept = ("id", "role", "parts")
        self.stored[sent["id"]] = [{key: each[key] for key in kept} for each in copy.deepcopy(sent["messages"])]

    async def history(self, request: Request) -> Response:
        run = self.runs.get(request.path_params["id"])
        if run is None:
            return Response(status_code=404)
        *earlier, last = self.stored[request.path_params["id"]]
        continued = last if last["role"] == "assistant" else None
        reply = reduce_chunks(cast("Any", run.chunks), message=cast("Any", continued))
        messages = [*earlier, *([] if continued else [last]), {**reply, "id": run.message_id}]
        for part in [part for message in messages for part in message["parts"]]:
            if self.fault == "file" and part["type"] == "file":
                part.update({"type": "text", "text": ""})
            if self.fault == "reloaded approval" and part.pop("approval", None):
                part["state"] = "input-available"
        return JSONResponse({"messages": messages[: -1 if self.fault == "reload" and len(messages) == 4 else None]})

    async def delete(self, request: Request) -> Response:
        self.deleted.add(request.path_params["id"])
        return Response(status_code=204)


def states(message: Mapping[str, Any]) -> list[str]:
    return [part["state"] for part in message["parts"] if part["type"].startswith("tool-")]


def text_of(message: Mapping[str, Any]) -> str:
    return " ".join(part["text"] for part in message["parts"] if part["type"] == "text")
