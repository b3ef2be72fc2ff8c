"""A ``useChat`` client in this process: posts the same requests, and reads responses by the client's rules."""

import copy
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp

from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire.client import MessageReducer
from tests.serving.support import chunks, client, post

Message = dict[str, Any]
Messages = list[Any]
"""Messages as JSON. They can be used as `UIMessage` and as dictionaries."""


class Page:
    """One chat of one page. ``messages``: the messages on the screen."""

    def __init__(self, app: ASGIApp, *, chat_id: str = "c1", ai_sdk: AiSdkVersion = 6) -> None:
        self.app = app
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._sent = 0
        self.chat_id = chat_id
        self.messages: Messages = []
        self.responses: list[list[Any]] = []
        """Chunks of each response."""

    async def send(self, text: str, *files: Message) -> None:
        """Call ``sendMessage({text, files})``."""
        self._sent += 1
        parts = [*files, {"type": "text", "text": text}]
        self.messages.append({"id": f"{self.chat_id}-u{self._sent}", "role": "user", "parts": parts})
        await self.submit()

    async def edit(self, message_id: str, text: str, *files: Message) -> None:
        """Call ``sendMessage({text, files, messageId})``."""
        del self.messages[self._index(message_id) :]
        self.messages.append({"id": message_id, "role": "user", "parts": [*files, {"type": "text", "text": text}]})
        await self.submit(messageId=message_id)

    async def regenerate(self, message_id: str | None = None) -> None:
        """Call ``regenerate()`` or ``regenerate({messageId})``."""
        index = len(self.messages) - 1 if message_id is None else self._index(message_id)
        del self.messages[index + (self.messages[index]["role"] == "user") :]
        more = {} if message_id is None else {"messageId": message_id}
        await self.submit(trigger="regenerate-message", **more)

    def approve(self, approved: bool, reason: str | None = None) -> None:
        """Call ``addToolApprovalResponse`` for the first request on the screen. ``submit`` sends it."""
        part = self.parts("approval-requested")[0]
        part["state"] = "approval-responded"
        part["approval"] = {**part["approval"], "approved": approved, **({} if reason is None else {"reason": reason})}

    def answer(self, tool: str, output: Any) -> None:
        """Call ``addToolOutput`` for the first open call of the tool. ``submit`` sends it."""
        part = next(part for part in self.parts("input-available") if part["type"] == f"tool-{tool}")
        part |= {"state": "output-available", "output": output}

    def refuse(self, tool: str, error_text: str) -> None:
        """Call ``addToolOutput({state: 'output-error'})``."""
        part = next(part for part in self.parts("input-available") if part["type"] == f"tool-{tool}")
        part |= {"state": "output-error", "errorText": error_text}

    def parts(self, state: str) -> list[Message]:
        """Return the parts of the last message in this state."""
        return [part for part in self.messages[-1]["parts"] if part.get("state") == state]

    def ids(self) -> list[str]:
        return [message["id"] for message in self.messages]

    def body(self, **more: Any) -> dict[str, Any]:
        own = {"messageId": self.messages[-1]["id"]} if self.messages[-1]["role"] == "assistant" else {}
        return {"id": self.chat_id, "messages": self.messages, "trigger": "submit-message", **own, **more}

    async def submit(self, **more: Any) -> None:
        """Post the chat and read the response, which must be accepted."""
        response = await post(self.app, self.body(**more))
        assert response.status_code == 200, response.text
        self.take(chunks(response.text))

    def take(self, stream: Iterable[Any]) -> None:
        """Read a response as ``AbstractChat`` does.

        After each chunk for which ``AbstractChat`` writes the message, the message is put into the list.
        """
        self.responses.append([*stream])
        last = self.messages[-1]
        reducer = MessageReducer(ai_sdk=self._ai_sdk, message=last if last["role"] == "assistant" else None)
        try:
            for chunk in self.responses[-1]:
                if reducer.apply(chunk) != "nothing":
                    self._put(copy.deepcopy(reducer.message))
        except ClientStreamError as error:
            if error.error_class != "Error":
                raise

    async def stored(self) -> Messages:
        """Return the messages of ``GET /api/chat/{id}``."""
        async with client(self.app) as http:
            response = await http.get(f"/api/chat/{self.chat_id}")
        assert response.status_code == 200, response.text
        messages: Messages = response.json()["messages"]
        return messages

    def _put(self, message: Any) -> None:
        ids = self.ids()
        if message["id"] in ids:
            self.messages[ids.index(message["id"])] = message
        else:
            self.messages.append(message)

    def _index(self, message_id: str) -> int:
        return self.ids().index(message_id)
