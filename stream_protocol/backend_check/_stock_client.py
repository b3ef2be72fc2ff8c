"""Chat client that sends the requests of ``DefaultChatTransport`` and reads responses as ``useChat`` does.

Requests: ``ui/http-chat-transport.ts`` and ``ui/chat.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``.
"""

import asyncio
import copy
import io
import json
import re
import secrets
import string
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpx

from stream_protocol.backend_check._results import BrokenError, NotOfferedError
from stream_protocol.backend_check._settings import Settings
from stream_protocol.check import Finding, Rule, Severity, UnreadableError, check_stream
from stream_protocol.wire import AiSdkVersion, AnyChunk, ClientStreamError, ToolPart, UIMessage, is_tool_part
from stream_protocol.wire.client import MessageReducer, parse_sse, step_start

_EVENT_END: Final = re.compile(rb"\r?\n\r?\n")
_ID_CHARACTERS: Final = string.ascii_letters + string.digits
_EXCERPT: Final = 200
_MAX_BYTES: Final = 64 * 2**20
"""Maximum number of bytes of a response. A longer response fails the check."""

NO_ROUTE: Final = (405, 501)
"""HTTP statuses of a server that deletes no chats. A 404 may also mean that there is no such chat."""

SLOW_SECONDS: Final = 0.05
"""Seconds that a slow reader pauses after each piece."""

REDUCER: Final = "ai: ui/process-ui-message-stream.ts"


def random_id() -> str:
    """Return an id in the form of the AI SDK's ``generateId``."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(16))


def calls_of(message: UIMessage, *states: str) -> list[ToolPart]:
    """Return the tool calls of a message that are in one of these states."""
    return [part for part in message["parts"] if is_tool_part(part) and part["state"] in states]


def client_calls(message: UIMessage) -> list[ToolPart]:
    """Return the tool calls in the last step for which the client must still send an output."""
    step = {"parts": message["parts"][step_start(message["parts"]) :]}
    calls = calls_of(cast("UIMessage", step), "input-available")
    return [call for call in calls if not call.get("providerExecuted") and "approval" not in call]


class ChatResponse:
    """A chat response while it is read. ``message``: the assistant message that the client shows so far."""

    def __init__(
        self, response: httpx.Response, ai_sdk: AiSdkVersion, *, continued: UIMessage | None, replay: bool
    ) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.body = bytearray()
        self.chunks: list[AnyChunk] = []
        self.ended = False
        self.error: ClientStreamError | None = None
        self._rest = b""
        self._pieces = response.aiter_bytes()
        self._reducer = MessageReducer(ai_sdk=ai_sdk, message=continued, message_id=random_id(), replay=replay)

    @property
    def message(self) -> UIMessage:
        """The assistant message so far."""
        return self._reducer.message

    @property
    def text(self) -> str:
        """All text of the message so far."""
        parts = cast("list[Mapping[str, Any]]", self.message["parts"])
        return "".join(part["text"] for part in parts if part["type"] == "text")

    @property
    def terminal(self) -> str | None:
        """Type of the chunk that ended the response: ``finish``, ``abort`` or ``error``; ``None`` before that chunk."""
        return next((each["type"] for each in self.chunks if each["type"] in ("finish", "abort", "error")), None)

    def calls(self, *states: str) -> list[ToolPart]:
        """Return the tool calls that are in one of these states."""
        return calls_of(self.message, *states)

    @property
    def body_with_id(self) -> bytes:
        """The body for ``check_stream``. If ``start`` has no message id, the id that the client generated is added."""
        body = bytes(self.body)
        if self.start_id is not None or not self.chunks or self.chunks[0]["type"] != "start":
            return body
        return body.replace(b"{", b'{"messageId":' + json.dumps(self.message["id"]).encode() + b",", 1)

    @property
    def start_id(self) -> str | None:
        """Message id in the first ``start`` chunk, or ``None``."""
        starts = (cast("Mapping[str, Any]", each) for each in self.chunks if each["type"] == "start")
        return next((start["messageId"] for start in starts if "messageId" in start), None)

    async def read(self, *, until: Callable[["ChatResponse"], bool] = lambda _: False, pause: float = 0) -> None:
        """Read to the end, or until the condition is true after a piece. ``pause``: seconds after each piece."""
        while not self.ended and not until(self):
            try:
                self._take(await anext(self._pieces))
            except StopAsyncIteration:
                self.ended = True
            except httpx.TimeoutException:
                raise BrokenError("The response sent nothing until the timeout.", chunk=self.last_chunk) from None
            except httpx.HTTPError as error:
                text = f"The connection is cut: {error}."
                raise BrokenError(text, chunk=self.last_chunk, source="HTTP; ai: ui/chat.ts") from None
            await asyncio.sleep(pause)

    @property
    def last_chunk(self) -> AnyChunk | None:
        """Newest chunk, or ``None``."""
        return self.chunks[-1] if self.chunks else None

    def _take(self, piece: bytes) -> None:
        self.body += piece
        if len(self.body) > _MAX_BYTES:
            raise BrokenError("The response is longer than 64 MiB.")
        ends = [*_EVENT_END.finditer(self._rest + piece)]
        complete, self._rest = self._rest + piece, b""
        if not ends or self.error is not None:
            self._rest = complete
            return
        self._rest = complete[ends[-1].end() :]
        try:
            for chunk in parse_sse(complete[: ends[-1].end()]):
                if isinstance(cast("Any", chunk), dict) and isinstance(chunk.get("type"), str):
                    self.chunks.append(chunk)
                self._reducer.apply(chunk)
        except ClientStreamError as error:
            self.error = error

    async def require_stream(self) -> None:
        """Raise ``BrokenError`` unless the status is 2xx with a body."""
        if not 200 <= self.status < 300 or self.status == 204:
            await self.read()
            raise BrokenError(f"HTTP {self.status} instead of a stream: {_excerpt(self.body)}")

    def require_readable(self) -> None:
        """Raise ``BrokenError`` if the client failed at a chunk. An ``error`` chunk is also a failure."""
        if self.error is not None:
            raise BrokenError(f"The client fails: {self.error}", chunk=self.last_chunk, source=REDUCER)


class Backend:
    """The server under check, with the settings and findings that all checks share."""

    def __init__(
        self,
        url: str,
        settings: Settings,
        http: httpx.AsyncClient,
        slow_http: httpx.AsyncClient,
        versions: Sequence[AiSdkVersion],
    ) -> None:
        self.url = url
        self.settings = settings
        self.http = http
        self.slow_http = slow_http
        """Client with a small receive buffer, so that the server has to wait for a slow reader."""
        self.versions = versions
        self.reported: set[Rule] = set()
        """Rules of streams that the check ``text answer`` has reported as broken. Other checks do not repeat them."""
        self.broken_features: set[str] = set()
        """Features with a broken response that a check has reported."""
        self.working_prompts: dict[str, str] = {}
        """Feature -> the prompt that has led to it."""
        self.chat_ids: list[str] = []
        """Ids of the chats that the checks have begun."""

    def route(self, template: str, chat_id: str) -> str:
        """Return the URL of a route of one chat."""
        base = urlunsplit(urlsplit(self.url)._replace(query="", fragment="")).rstrip("/")
        return urljoin(self.url, template.replace("{url}", base).replace("{id}", quote(chat_id, safe="")))

    def prompts(self, feature: str) -> Sequence[str]:
        """Return the prompts to try for a feature. Raises ``NotOfferedError`` if the settings have none."""
        prompts = self.settings.prompts(feature)
        if not prompts:
            raise NotOfferedError(f"The settings have {feature} = false.", declared=True)
        return [self.working_prompts[feature]] if feature in self.working_prompts else prompts

    async def post_raw(self, content: bytes) -> tuple[int, str]:
        """Post any bytes. Returns the status and the beginning of the body."""
        async with self.http.stream("POST", self.url, content=content, headers=self.headers) as response:
            return response.status_code, await _beginning(response)

    async def delete_chats(self) -> None:
        """Delete the chats of all checks, if the server has a route for that. Errors are ignored."""
        if not self.settings.delete:
            return
        for chat_id in self.chat_ids:
            url = self.route(self.settings.delete, chat_id)
            try:
                response = await self.http.delete(url, headers=dict(self.settings.headers))
            except httpx.HTTPError:
                return
            if response.status_code in NO_ROUTE:
                return

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a POST."""
        return {"content-type": "application/json", **self.settings.headers}


async def _beginning(response: httpx.Response) -> str:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _EXCERPT:
            break
    return _excerpt(body)


def _excerpt(body: bytes | bytearray) -> str:
    return body[:_EXCERPT].decode(errors="replace") + "…" * (len(body) > _EXCERPT)


class Chat:
    """One chat of the client: its id and its messages."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.id = random_id()
        backend.chat_ids.append(self.id)
        self.messages: list[UIMessage] = []
        self._responses = b""
        self._chunks_before = 0

    def copy(self) -> "Chat":
        """Return the same chat in a second tab, which has read no response."""
        tab = Chat(self.backend)
        tab.id, tab.messages = self.id, copy.deepcopy(self.messages)
        return tab

    def answer_approvals(self, *, approved: bool, reason: str | None = None) -> None:
        """Approve or deny each call of the last message that needs approval, as ``addToolApprovalResponse`` does."""
        given = {"approved": approved, **({} if reason is None else {"reason": reason})}
        for call in calls_of(self.messages[-1], "approval-requested"):
            approval = {**call["approval"], **given}
            call.update({"state": "approval-responded", "approval": approval})  # type: ignore[typeddict-item]  # of any state

    def answer_client_tools(self, result: Mapping[str, Any]) -> None:
        """Add the result to each call of the last message that waits for the client, as ``addToolOutput`` does."""
        for call in client_calls(self.messages[-1]):
            call.update(result)  # type: ignore[typeddict-item]  # as above

    async def send_answers(self) -> ChatResponse:
        """Send the user's answers, as a client with ``sendAutomaticallyWhen`` does.

        The response continues the last message.
        """
        return await self.submit(message_id=self.messages[-1]["id"])

    def add_user_message(self, text: str, *files: Mapping[str, str]) -> None:
        """Add the message that ``sendMessage({text, files})`` sends."""
        parts = [*({"type": "file", **file} for file in files), {"type": "text", "text": text}]
        self.messages.append(cast("UIMessage", {"parts": parts, "id": random_id(), "role": "user"}))

    async def send(self, text: str, *files: Mapping[str, str]) -> ChatResponse:
        """Send a user message and return the whole response. Raises ``BrokenError`` if the stream is not valid."""
        self.add_user_message(text, *files)
        return await self.submit()

    async def submit(
        self, trigger: str = "submit-message", *, message_id: str | None = None, slow: bool = False
    ) -> ChatResponse:
        """Send the messages and return the whole response. ``slow``: read slowly, with pauses."""
        http = self.backend.slow_http if slow else self.backend.http
        async with self.open(trigger, message_id=message_id, http=http) as response:
            await response.require_stream()
            await response.read(pause=SLOW_SECONDS if slow else 0)
        self.judge(response)
        response.require_readable()
        self.keep(response)
        return response

    @asynccontextmanager
    async def open(
        self, trigger: str = "submit-message", *, message_id: str | None = None, http: httpx.AsyncClient | None = None
    ) -> AsyncIterator[ChatResponse]:
        """Send the messages and yield the response. Leaving the context closes the connection, as ``stop()`` does."""
        body = {**self.backend.settings.body, "id": self.id, "messages": self.messages, "trigger": trigger}
        if message_id is not None:
            body["messageId"] = message_id
        continued = self._continued(trigger)
        http, url = http or self.backend.http, self.backend.url
        content = json.dumps(body).encode()
        async with http.stream("POST", url, content=content, headers=self.backend.headers) as http_response:
            yield ChatResponse(http_response, max(self.backend.versions), continued=continued, replay=False)

    @asynccontextmanager
    async def resume(self) -> AsyncIterator[ChatResponse]:
        """Resume the run and yield the response, as ``resumeStream()`` does on a reloaded page."""
        settings = self.backend.settings
        if not settings.resume:
            raise NotOfferedError("The settings have resume = false.", declared=True)
        url = self.backend.route(settings.resume, self.id)
        async with self.backend.http.stream("GET", url, headers=dict(settings.headers)) as http_response:
            yield ChatResponse(http_response, max(self.backend.versions), continued=None, replay=True)

    async def stop(self) -> int:
        """Call the stop route. Returns the status."""
        settings = self.backend.settings
        if not settings.stop:
            raise NotOfferedError("The settings have stop = false.", declared=True)
        url = self.backend.route(settings.stop, self.id)
        response = await self.backend.http.post(url, json={}, headers=self.backend.headers)
        return response.status_code

    def _continued(self, trigger: str) -> UIMessage | None:
        last = self.messages[-1] if self.messages else None
        return last if last is not None and last["role"] == "assistant" and trigger == "submit-message" else None

    def keep(self, response: ChatResponse) -> None:
        """Store the assistant message, as ``write()`` of ``ui/chat.ts`` does.

        It replaces the stored message that has the same id.
        """
        message = copy.deepcopy(response.message)
        ids = [each["id"] for each in self.messages]
        if message["id"] in ids:
            self.messages[len(ids) - 1 - ids[::-1].index(message["id"])] = message
        elif message["parts"]:
            self.messages.append(message)

    def judge(self, response: ChatResponse) -> None:
        """Check a response by the rules for streams, after all earlier responses. Raises ``BrokenError`` for the first
        error.
        """
        end = b"" if response.body.rstrip().endswith(b"[DONE]") else b"\n\ndata: [DONE]\n\n"
        self._responses += response.body_with_id + end
        before, self._chunks_before = self._chunks_before, self._chunks_before + len(response.chunks)
        try:
            findings = [*check_stream(io.BytesIO(self._responses), versions=self.backend.versions)]
        except UnreadableError:
            kind = response.headers.get("content-type", "without a content type")
            text = f"The response is not a stream ({kind}): {_excerpt(response.body)}"
            raise BrokenError(text, source="'Check a stream' in the docs") from None
        new = [each for each in findings if (each.chunk > before or not before) and self._counts(each.rule)]
        if new:
            raise StreamRuleError(new[0].rule, {each.rule for each in new}, *_described(new[0], response, before))

    def _counts(self, rule: Rule) -> bool:
        return rule.severity == Severity.ERROR and rule not in self.backend.reported


def _described(finding: Finding, response: ChatResponse, before: int) -> tuple[str, AnyChunk | None]:
    """Return the text of a finding, and its chunk. ``before``: number of chunks of earlier responses."""
    index = finding.chunk - before - 1
    clients = " and ".join(f"v{version}" for version in finding.versions)
    chunk = response.chunks[index] if 0 <= index < len(response.chunks) else None
    return f"{finding.rule}, chunk {index + 1}, {clients}: {finding.text}", chunk


class StreamRuleError(BrokenError):
    """Rules for streams are broken. The message describes the first broken rule."""

    def __init__(self, rule: Rule, rules: set[Rule], text: str, chunk: Any) -> None:
        super().__init__(text, chunk=chunk, source=f"'Check a stream' in the docs, rule {rule}: {rule.effect}")
        self.rules = rules
