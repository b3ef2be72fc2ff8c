"""A chat client that sends the requests of ``DefaultChatTransport`` and folds responses as ``useChat`` does.

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
"""A longer response is refused."""

SLOW_SECONDS: Final = 0.05
"""The pause of a slow reader after each piece."""

REDUCER: Final = "ai: ui/process-ui-message-stream.ts"


def random_id() -> str:
    """An id as ``generateId`` of the AI SDK makes it."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(16))


def calls_of(message: UIMessage, *states: str) -> list[ToolPart]:
    """The tool calls of a message in these states."""
    return [part for part in message["parts"] if is_tool_part(part) and part["state"] in states]


def client_calls(message: UIMessage) -> list[ToolPart]:
    """The calls of the last step that wait for the page's output."""
    step = {"parts": message["parts"][step_start(message["parts"]) :]}
    calls = calls_of(cast("UIMessage", step), "input-available")
    return [call for call in calls if not call.get("providerExecuted") and "approval" not in call]


class Answer:
    """A response that is being read. ``message`` is what the page shows so far."""

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
        """The message so far."""
        return self._reducer.message

    @property
    def text(self) -> str:
        """All text so far."""
        parts = cast("list[Mapping[str, Any]]", self.message["parts"])
        return "".join(part["text"] for part in parts if part["type"] == "text")

    @property
    def terminal(self) -> str | None:
        """The type of the chunk that ends the answer, if it has come."""
        return next((each["type"] for each in self.chunks if each["type"] in ("finish", "abort", "error")), None)

    def calls(self, *states: str) -> list[ToolPart]:
        """The tool calls in these states."""
        return calls_of(self.message, *states)

    @property
    def judged_body(self) -> bytes:
        """The body for ``check_stream``, which does not know the ids that the client gives to messages."""
        body = bytes(self.body)
        if self.start_id is not None or not self.chunks or self.chunks[0]["type"] != "start":
            return body
        return body.replace(b"{", b'{"messageId":' + json.dumps(self.message["id"]).encode() + b",", 1)

    @property
    def start_id(self) -> str | None:
        """The id in the first ``start`` chunk, if it has one."""
        starts = (cast("Mapping[str, Any]", each) for each in self.chunks if each["type"] == "start")
        return next((start["messageId"] for start in starts if "messageId" in start), None)

    async def read(self, *, until: Callable[["Answer"], bool] = lambda _: False, pause: float = 0) -> None:
        """Reads to the end, or until the condition holds after a piece. ``pause``: seconds after each piece."""
        while not self.ended and not until(self):
            try:
                self._take(await anext(self._pieces))
            except StopAsyncIteration:
                self.ended = True
            except httpx.TimeoutException:
                raise BrokenError("The response is silent for too long.", chunk=self.last_chunk) from None
            except httpx.HTTPError as error:
                text = f"The connection is cut: {error}."
                raise BrokenError(text, chunk=self.last_chunk, source="HTTP; ai: ui/chat.ts") from None
            await asyncio.sleep(pause)

    @property
    def last_chunk(self) -> AnyChunk | None:
        """The newest chunk."""
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
                self.chunks.append(chunk)
                self._reducer.apply(chunk)
        except ClientStreamError as error:
            self.error = error

    async def require_stream(self) -> None:
        """Raises ``BrokenError`` unless the response is successful."""
        if not 200 <= self.status < 300 or self.status == 204:
            await self.read()
            raise BrokenError(f"HTTP {self.status} instead of a stream: {_excerpt(self.body)}")

    def require_readable(self) -> None:
        """Raises ``BrokenError`` if a client fails at a chunk. An ``error`` chunk is a failure, too."""
        if self.error is not None:
            raise BrokenError(f"The client fails: {self.error}", chunk=self.last_chunk, source=REDUCER)


class Backend:
    """The server under check, and what all checks share."""

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
        """Its connections have a small buffer, so that the server has to wait for a slow reader."""
        self.versions = versions
        self.reported: set[Rule] = set()
        """Broken rules of streams that a check has reported for a plain answer. Others do not repeat them."""
        self.broken: set[str] = set()
        """Features whose answer is broken. One check has reported it."""
        self.fitting: dict[str, str] = {}
        """Feature -> the prompt that has shown it."""

    def route(self, template: str, chat_id: str) -> str:
        """The address of a route of one chat."""
        base = urlunsplit(urlsplit(self.url)._replace(query="", fragment="")).rstrip("/")
        return urljoin(self.url, template.replace("{url}", base).replace("{id}", quote(chat_id, safe="")))

    def candidates(self, feature: str) -> Sequence[str]:
        """The prompts to try for a feature. Raises ``NotOfferedError`` if the settings name none."""
        prompts = self.settings.prompts(feature)
        if not prompts:
            raise NotOfferedError(f"The settings say: {feature} = false.", declared=True)
        return [self.fitting[feature]] if feature in self.fitting else prompts

    async def post_raw(self, content: bytes) -> tuple[int, str]:
        """Posts any bytes. Returns the status and the start of the body."""
        async with self.http.stream("POST", self.url, content=content, headers=self.headers) as response:
            return response.status_code, await _beginning(response)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a POST."""
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
    """One chat of a stock client: its id, and its messages."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.id = random_id()
        self.messages: list[UIMessage] = []
        self._responses = b""
        self._chunks_before = 0

    def copy(self) -> "Chat":
        """The same chat in a second tab, which has read no response."""
        tab = Chat(self.backend)
        tab.id, tab.messages = self.id, copy.deepcopy(self.messages)
        return tab

    def answer_approvals(self, *, approved: bool, reason: str | None = None) -> None:
        """``addToolApprovalResponse`` for each call of the last message that asks."""
        given = {"approved": approved, **({} if reason is None else {"reason": reason})}
        for call in calls_of(self.messages[-1], "approval-requested"):
            approval = {**call["approval"], **given}
            call.update({"state": "approval-responded", "approval": approval})  # type: ignore[typeddict-item]  # of any state

    def answer_client_tools(self, result: Mapping[str, Any]) -> None:
        """``addToolOutput`` for each call of the last message that waits for the page."""
        for call in client_calls(self.messages[-1]):
            call.update(result)  # type: ignore[typeddict-item]  # as above

    async def send_answers(self) -> Answer:
        """The request that ``sendAutomaticallyWhen`` makes: it continues the last message."""
        return await self.submit(message_id=self.messages[-1]["id"])

    def add_user_message(self, text: str, *files: Mapping[str, str]) -> None:
        """Adds the message that ``sendMessage({text, files})`` sends."""
        parts = [*({"type": "file", **file} for file in files), {"type": "text", "text": text}]
        self.messages.append(cast("UIMessage", {"parts": parts, "id": random_id(), "role": "user"}))

    async def send(self, text: str, *files: Mapping[str, str]) -> Answer:
        """``sendMessage``: returns the whole answer, and raises ``BrokenError`` if the stream is not legal."""
        self.add_user_message(text, *files)
        return await self.submit()

    async def submit(
        self, trigger: str = "submit-message", *, message_id: str | None = None, slow: bool = False
    ) -> Answer:
        """Sends the messages and reads the whole answer. ``slow``: takes little at a time, with pauses."""
        http = self.backend.slow_http if slow else self.backend.http
        async with self.open(trigger, message_id=message_id, http=http) as answer:
            await answer.require_stream()
            await answer.read(pause=SLOW_SECONDS if slow else 0)
        self.judge(answer)
        answer.require_readable()
        self.keep(answer)
        return answer

    @asynccontextmanager
    async def open(
        self, trigger: str = "submit-message", *, message_id: str | None = None, http: httpx.AsyncClient | None = None
    ) -> AsyncIterator[Answer]:
        """Sends the messages. The connection is closed at the end of the context, as ``stop()`` closes it."""
        body = {**self.backend.settings.body, "id": self.id, "messages": self.messages, "trigger": trigger}
        if message_id is not None:
            body["messageId"] = message_id
        continued = self._continued(trigger)
        http, url = http or self.backend.http, self.backend.url
        content = json.dumps(body).encode()
        async with http.stream("POST", url, content=content, headers=self.backend.headers) as response:
            yield Answer(response, max(self.backend.versions), continued=continued, replay=False)

    @asynccontextmanager
    async def resume(self) -> AsyncIterator[Answer]:
        """``resumeStream()`` on a page that has been loaded anew."""
        settings = self.backend.settings
        if not settings.resume:
            raise NotOfferedError("The settings say: resume = false.", declared=True)
        url = self.backend.route(settings.resume, self.id)
        async with self.backend.http.stream("GET", url, headers=dict(settings.headers)) as response:
            yield Answer(response, max(self.backend.versions), continued=None, replay=True)

    async def stop(self) -> int:
        """Calls the stop route. Returns the status."""
        settings = self.backend.settings
        if not settings.stop:
            raise NotOfferedError("The settings say: stop = false.", declared=True)
        url = self.backend.route(settings.stop, self.id)
        response = await self.backend.http.post(url, json={}, headers=self.backend.headers)
        return response.status_code

    def _continued(self, trigger: str) -> UIMessage | None:
        last = self.messages[-1] if self.messages else None
        return last if last is not None and last["role"] == "assistant" and trigger == "submit-message" else None

    def keep(self, answer: Answer) -> None:
        """Stores the message, as ``write()`` of ``ui/chat.ts`` does: in the place of the one with its id."""
        message = copy.deepcopy(answer.message)
        ids = [each["id"] for each in self.messages]
        if message["id"] in ids:
            self.messages[len(ids) - 1 - ids[::-1].index(message["id"])] = message
        elif message["parts"]:
            self.messages.append(message)

    def judge(self, answer: Answer) -> None:
        """Raises ``BrokenError`` for the first error in the answer, which stands after all earlier ones."""
        end = b"" if answer.body.rstrip().endswith(b"[DONE]") else b"\n\ndata: [DONE]\n\n"
        self._responses += answer.judged_body + end
        before, self._chunks_before = self._chunks_before, self._chunks_before + len(answer.chunks)
        try:
            findings = [*check_stream(io.BytesIO(self._responses), versions=self.backend.versions)]
        except UnreadableError as error:
            raise BrokenError(f"The response is not a stream: {error}.", source="docs/check.md") from None
        new = [each for each in findings if (each.chunk > before or not before) and self._counts(each.rule)]
        if new:
            raise StreamRuleError(new[0].rule, {each.rule for each in new}, *_described(new[0], answer, before))

    def _counts(self, rule: Rule) -> bool:
        return rule.severity == Severity.ERROR and rule not in self.backend.reported


def _described(finding: Finding, answer: Answer, before: int) -> tuple[str, AnyChunk | None]:
    """The text of a finding, and its chunk. ``before``: the chunks of earlier answers."""
    index = finding.chunk - before - 1
    clients = " and ".join(f"v{version}" for version in finding.versions)
    chunk = answer.chunks[index] if 0 <= index < len(answer.chunks) else None
    return f"{finding.rule}, chunk {index + 1}, {clients}: {finding.text}", chunk


class StreamRuleError(BrokenError):
    """Rules of streams are broken; the first is described."""

    def __init__(self, rule: Rule, rules: set[Rule], text: str, chunk: Any) -> None:
        super().__init__(text, chunk=chunk, source=f"docs/check.md, rule {rule}: {rule.effect}")
        self.rules = rules
