"""A ``useChat`` page that sends by itself: ``sendAutomaticallyWhen`` and ``onToolCall``."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from starlette.types import ASGIApp

from stream_protocol.wire import AiSdkVersion
from stream_protocol.wire.client import MessageReducer, auto_send_helper
from stream_protocol.wire.client._auto_send import any_approval_is_answered, approvals_are_complete, calls_are_complete
from tests.serving.chat_client import Page
from tests.serving.support import chunks, post

TOO_OFTEN = 12
"""Number of posts after one action that counts as an endless loop."""


def template(parts: Sequence[Any]) -> bool:
    """Predicate of Vercel's chatbot template."""
    return any(
        part.get("state") == "approval-responded" and part.get("approval", {}).get("approved") is True for part in parts
    )


PREDICATES: dict[str, Callable[[Sequence[Any]], bool]] = {
    "tools": calls_are_complete,
    "approvals": approvals_are_complete,
    "helpers": lambda parts: auto_send_helper(parts) is not None,
    "template": template,
    "any": any_approval_is_answered,
}
"""Predicates of ``sendAutomaticallyWhen``, with the names in ``frontend-fixtures/harness/chat.js``."""


class EagerPage(Page):
    """Page with ``sendAutomaticallyWhen``."""

    def __init__(self, app: ASGIApp, ai_sdk: AiSdkVersion, sends: str, answers: bool) -> None:
        super().__init__(app, ai_sdk=ai_sdk)
        self.ai_sdk: AiSdkVersion = ai_sdk
        self.posts = 0
        self.rounds = 0
        """Number of responses whose calls the page answered while they arrived."""
        self.failed = False
        self.received: list[str] = []
        """Received streams."""
        self._sends = PREDICATES[sends]
        self._answers = answers
        """True if ``onToolCall`` answers the page's tool."""

    async def submit(self, **more: Any) -> None:
        """Post the chat, and post it again while the predicate is true."""
        while True:
            self.posts += 1
            assert self.posts <= TOO_OFTEN, "posts for ever"
            response = await post(self.app, self.body(**more))
            self.failed = response.status_code != 200
            if not self.failed:
                self.received.append(response.text)
                self.take(chunks(response.text))
            if self.failed or not self.would_send():
                return
            more = {}

    def take(self, stream: Any) -> None:
        """Read a response, and answer the page's client tool in it."""
        last = self.messages[-1]
        message = last if last["role"] == "assistant" else None
        reducer = MessageReducer(ai_sdk=self.ai_sdk, message=message)
        answered = False
        for chunk in stream:
            if chunk["type"] == "error":
                self.failed = True
                return
            if reducer.apply(chunk) != "nothing":
                self._put(copy.deepcopy(reducer.message))
            if self._answers and chunk["type"] == "tool-input-available" and chunk["toolName"] == "where":
                answered = True
                for message in [reducer.message, self.messages[-1]]:
                    self._give(message, chunk["toolCallId"])
        self.rounds += answered

    def would_send(self) -> bool:
        last = self.messages[-1]
        return last["role"] == "assistant" and self._sends(last["parts"])

    async def decide(self, index: int, *, approved: bool) -> None:
        """Call ``addToolApprovalResponse`` for an open request."""
        part = self.parts("approval-requested")[index]
        part["state"] = "approval-responded"
        part["approval"] = {**part["approval"], "approved": approved}
        await self._after_answer()

    async def give_output(self) -> None:
        """Call ``addToolOutput`` for the first open call, and for every part of the message with its id."""
        self._give(self.messages[-1], self.parts("input-available")[0]["toolCallId"])
        await self._after_answer()

    def _give(self, message: Any, call_id: str) -> None:
        for part in message["parts"]:
            if part.get("toolCallId") == call_id:
                part |= {"state": "output-available", "output": {"there": True}}

    async def _after_answer(self) -> None:
        if self.would_send():
            await self.submit()
