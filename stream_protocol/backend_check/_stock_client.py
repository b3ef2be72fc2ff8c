"""A chat client that sends the requests of ``DefaultChatTransport``, and reads responses like ``useChat``.

Source: ``ui/http-chat-transport.ts`` and ``ui/chat.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``.
"""

import copy
import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpx

from stream_protocol.backend_check._chat_response import (
    ChatResponse,
    beginning,
    calls_of,
    client_calls,
    excerpt,
    random_id,
    require_no_limit,
)
from stream_protocol.backend_check._results import MISSING, BrokenError, NotOfferedError
from stream_protocol.backend_check._settings import Settings
from stream_protocol.check import Finding, Rule, Severity, UnreadableError, check_stream
from stream_protocol.wire import AiSdkVersion, AnyChunk, UIMessage

MESSAGES: Final = "ai: ui/validate-ui-messages.ts"

NO_ROUTE: Final = (405, 501)
"""HTTP statuses of a server that cannot delete chats. 404 is not one, because it may mean an unknown chat."""

SLOW_SECONDS: Final = 0.05
"""Seconds that a slow reader pauses after each piece."""


class Backend:
    """The checked server, the settings, and data for all checks, such as the prompts that worked."""

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
        """HTTP client with a small receive buffer. If it reads slowly, the server must wait."""
        self.versions = versions
        self.reported: set[Rule] = set()
        """The broken stream rules that the check ``text answer`` has reported, so that no other check reports them."""
        self.broken_features: set[str] = set()
        """Features whose broken response a check has reported."""
        self.working_prompts: dict[str, str] = {}
        """Feature -> the prompt that made the server use the feature."""
        self.chat_ids: list[str] = []

    def route(self, template: str, chat_id: str) -> str:
        base = urlunsplit(urlsplit(self.url)._replace(query="", fragment="")).rstrip("/")
        return urljoin(self.url, template.replace("{url}", base).replace("{id}", quote(chat_id, safe="")))

    def prompts(self, feature: str) -> Sequence[str]:
        """Return the prompts to try for a feature. After a prompt has worked, only this prompt is returned. Raises
        ``NotOfferedError`` if the settings exclude the feature.
        """
        prompts = self.settings.prompts(feature)
        if not prompts:
            raise NotOfferedError(f"The settings have {feature} = false.", excused=True)
        return [self.working_prompts[feature]] if feature in self.working_prompts else prompts

    async def post_raw(self, content: bytes) -> tuple[int, str]:
        """Post any bytes to the chat endpoint. Returns the HTTP status and the beginning of the response's body."""
        async with self.http.stream("POST", self.url, content=content, headers=self.headers) as response:
            require_no_limit(response.status_code)
            return response.status_code, await beginning(response)

    async def delete_chats(self) -> None:
        """Delete the chats of all checks, if the server has a route for this. Errors are ignored."""
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
        return {"content-type": "application/json", **self.settings.headers}


class Chat:
    """One chat of the client, with its id and its messages."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.id = random_id()
        backend.chat_ids.append(self.id)
        self.messages: list[UIMessage] = []
        self._responses = b""
        self._chunks_before = 0

    def copy(self) -> "Chat":
        """Return a copy of the chat that acts like a second browser tab. It has the same messages, but has not read a
        response.
        """
        tab = Chat(self.backend)
        tab.id, tab.messages = self.id, copy.deepcopy(self.messages)
        return tab

    def answer_approvals(self, *, approved: bool, reason: str | None = None) -> None:
        """In the last message, approve or deny each tool call that waits for approval. Changes the message like
        ``addToolApprovalResponse``.
        """
        given = {"approved": approved, **({} if reason is None else {"reason": reason})}
        for call in calls_of(self.messages[-1], "approval-requested"):
            approval = {**call["approval"], **given}
            call.update({"state": "approval-responded", "approval": approval})  # type: ignore[typeddict-item]  # of any state

    def answer_client_tools(self, result: Mapping[str, Any]) -> None:
        """In the last message, add a result to each tool call that waits for the client. Changes the message like
        ``addToolOutput``.
        """
        for call in client_calls(self.messages[-1]):
            call.update(result)  # type: ignore[typeddict-item]  # as above

    async def send_answers(self) -> ChatResponse:
        """Send the user's answers to tool calls, like a client with ``sendAutomaticallyWhen``. Returns the response,
        which continues the last message.
        """
        return await self.submit(message_id=self.messages[-1]["id"])

    def add_user_message(self, text: str, *files: Mapping[str, str]) -> None:
        """Add a user message, like ``sendMessage({text, files})``. Does not send it."""
        parts = [*({"type": "file", **file} for file in files), {"type": "text", "text": text}]
        self.messages.append(cast("UIMessage", {"parts": parts, "id": random_id(), "role": "user"}))

    async def send(self, text: str, *files: Mapping[str, str]) -> ChatResponse:
        """Send a user message, and return the complete response. Raises ``BrokenError`` for an invalid stream."""
        self.add_user_message(text, *files)
        return await self.submit()

    async def submit(
        self, trigger: str = "submit-message", *, message_id: str | None = None, slow: bool = False
    ) -> ChatResponse:
        """Send the messages of the chat, and return the complete response. Raises ``BrokenError`` for an invalid
        stream.
        """
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
        """Context manager that sends the messages of the chat. Yields the response while it is running.

        When the context ends, the connection is closed, as by the client's ``stop()``.
        """
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
        """Context manager that resumes the chat's response, like ``resumeStream()`` after a reload of the page. Yields
        the response.
        """
        settings = self.backend.settings
        if not settings.resume:
            raise NotOfferedError("The settings have resume = false.", excused=True)
        url = self.backend.route(settings.resume, self.id)
        async with self.backend.http.stream("GET", url, headers=dict(settings.headers)) as http_response:
            yield ChatResponse(http_response, max(self.backend.versions), continued=None, replay=True)

    async def stop(self) -> int:
        """Call the stop route. Return the HTTP status."""
        settings = self.backend.settings
        if not settings.stop:
            raise NotOfferedError("The settings have stop = false.", excused=True)
        url = self.backend.route(settings.stop, self.id)
        response = await self.backend.http.post(url, json={}, headers=self.backend.headers)
        return response.status_code

    async def reload(self) -> "Chat":
        """Return a copy of the chat with the messages from the server's history. Raises ``NotOfferedError`` if the
        server has no history.
        """
        settings = self.backend.settings
        if not settings.history:
            raise NotOfferedError("The settings have history = false.", excused=True)
        url = self.backend.route(settings.history, self.id)
        response = await self.backend.http.get(url, headers=dict(settings.headers))
        if response.status_code >= 500 and response.status_code not in MISSING:
            raise BrokenError(f"HTTP {response.status_code} instead of a history: {excerpt(response.content)}")
        page = self.copy()
        page.messages = _messages_of(response)
        return page

    def _continued(self, trigger: str) -> UIMessage | None:
        last = self.messages[-1] if self.messages else None
        return last if last is not None and last["role"] == "assistant" and trigger == "submit-message" else None

    def keep(self, response: ChatResponse) -> None:
        """Append the assistant message of a response to the chat. If the chat has a message with its id, replace that
        message.

        ``write()`` of ``ui/chat.ts`` does the same.
        """
        message = copy.deepcopy(response.message)
        ids = [each["id"] for each in self.messages]
        if message["id"] in ids:
            self.messages[len(ids) - 1 - ids[::-1].index(message["id"])] = message
        elif message["parts"]:
            self.messages.append(message)

    def judge(self, response: ChatResponse) -> None:
        """Check a response as the next stream of this chat. Raise ``BrokenError`` for the first error in the stream."""
        end = b"" if response.body.rstrip().endswith(b"[DONE]") else b"\n\ndata: [DONE]\n\n"
        self._responses += response.body_with_id + end
        before = self._chunks_before + (not response.begins_with_start)
        self._chunks_before = before + len(response.chunks)
        try:
            findings = [*check_stream(io.BytesIO(self._responses), versions=self.backend.versions)]
        except UnreadableError:
            kind = response.headers.get("content-type", "without a content type")
            text = f"The response is not a stream ({kind}): {excerpt(response.body)}"
            raise BrokenError(text, source="'Check a stream' in the docs") from None
        new = [each for each in findings if (each.chunk > before or not before) and self._counts(each.rule)]
        if new:
            raise StreamRuleError(new[0].rule, {each.rule for each in new}, *_described(new[0], response, before))

    def _counts(self, rule: Rule) -> bool:
        return rule.severity == Severity.ERROR and rule not in self.backend.reported


def _messages_of(response: httpx.Response) -> list[UIMessage]:
    """Return the messages in a response of the history route. Raises ``NotOfferedError`` if the response contains no
    list of messages.
    """
    try:
        body = response.json() if response.is_success else None
    except ValueError:
        body = None
    messages = body.get("messages") if isinstance(body, dict) else body
    if not isinstance(messages, list):
        raise NotOfferedError(f"No history: GET gets HTTP {response.status_code} without messages.", excused=True)
    for message in messages:
        if not _is_message(message):
            raise BrokenError("A message of the history has no id, role or parts.", chunk=message, source=MESSAGES)
    return messages


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not all(isinstance(message.get(key), str) for key in ("id", "role")):
        return False
    parts = message.get("parts")
    return isinstance(parts, list) and all(isinstance(part, dict) and "type" in part for part in parts)


def _described(finding: Finding, response: ChatResponse, before: int) -> tuple[str, AnyChunk | None]:
    """Return the text of a finding, and the chunk to which it refers. ``before``: the number of chunks in the previous
    responses of the chat.
    """
    index = finding.chunk - before - 1
    clients = " and ".join(f"v{version}" for version in finding.versions)
    chunk = response.chunks[index] if 0 <= index < len(response.chunks) else None
    return f"{finding.rule}, chunk {index + 1}, {clients}: {finding.text}", chunk


class StreamRuleError(BrokenError):
    """Raised if a stream breaks rules of ``adk-ui-stream check``. The text describes the first broken rule."""

    def __init__(self, rule: Rule, rules: set[Rule], text: str, chunk: Any) -> None:
        super().__init__(text, chunk=chunk, source=f"'Check a stream' in the docs, rule {rule}: {rule.effect}")
        self.rules = rules
