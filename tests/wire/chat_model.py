"""Model of the client's chat: the message that a response is written into, and requests that follow automatically.

It is ``AbstractChat`` (``ui/chat.ts``) around our reducer, for cases that were recorded from the real client.
"""

import copy
import itertools
from collections.abc import Iterable
from typing import Any

from stream_protocol.wire import AiSdkVersion, AnyChunk, ClientStreamError
from stream_protocol.wire.client import MessageReducer, parse_sse

Message = dict[str, Any]


class Chat:
    def __init__(
        self, case: dict[str, Any], bodies: list[list[AnyChunk] | bytes], *, ai_sdk: AiSdkVersion, max_requests: int
    ) -> None:
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._auto: str | None = case.get("auto")
        self._bodies = bodies
        self._max_requests = max_requests
        self._ids = (f"c{number}" for number in itertools.count(1))
        self.messages: list[Message] = copy.deepcopy(case.get("initial", []))
        self.status = "ready"
        self.trace: list[str] = []
        self.error: dict[str, Any] | None = None
        self.requests: list[dict[str, Any] | None] = []
        self.events: dict[str, list[Any]] = {"onData": [], "onToolCall": [], "onError": [], "onFinish": []}

    def send(self, text: str, message_id: str | None = None) -> None:
        message = {"parts": [{"type": "text", "text": text}], "id": message_id or next(self._ids), "role": "user"}
        if message_id is not None:
            del self.messages[[each["id"] for each in self.messages].index(message_id) :]
        self.messages.append(message)
        self._submit(message_id)

    def proceed(self) -> None:
        self._submit(self.messages[-1]["id"])

    def regenerate(self, message_id: str) -> None:
        del self.messages[[each["id"] for each in self.messages].index(message_id) :]
        self._post("regenerate-message", message_id)
        self._respond(None, replay=False)

    def resume(self) -> None:
        self.requests.append(None)
        self._respond(None, replay=True)

    def answer(self, approval_id: str, *, approved: bool, reason: str | None) -> None:
        for message in self.messages:
            for part in message["parts"]:
                if part.get("state") == "approval-requested" and part["approval"]["id"] == approval_id:
                    part["state"] = "approval-responded"
                    part["approval"] |= {"approved": approved} | ({} if reason is None else {"reason": reason})
                    self._send_automatically(message["id"])

    def _submit(self, message_id: str | None) -> None:
        self._post("submit-message", message_id)
        target = next((each for each in self.messages if each["id"] == message_id), self.messages[-1])
        self._respond(target, replay=False)

    def _post(self, trigger: str, message_id: str | None) -> None:
        body = {"id": "chat-1", "messages": copy.deepcopy(self.messages), "trigger": trigger}
        self.requests.append(body | ({} if message_id is None else {"messageId": message_id}))

    def _respond(self, target: Any, *, replay: bool) -> None:
        self._set_status("submitted")
        reducer = MessageReducer(ai_sdk=self._ai_sdk, message=target, message_id=next(self._ids), replay=replay)
        body = self._bodies[min(len(self.requests), len(self._bodies)) - 1]
        self.error = None
        try:
            for chunk in parse_sse(body) if isinstance(body, bytes) else body:
                self._take(reducer, chunk)
        except ClientStreamError as error:
            self.error = {"name": error.error_class, "message": error.text}
            self.events["onError"].append({"name": error.error_class, "message": error.text})
            if error.chunk_type is not None:
                self.error |= {"chunkType": error.chunk_type, "chunkId": error.chunk_id}
        self._set_status("ready" if self.error is None else "error")
        finish = {"messageId": reducer.message["id"], "isAbort": False, "isDisconnect": False}
        reason = {} if reducer.finish_reason is None else {"finishReason": reducer.finish_reason}
        self.events["onFinish"].append(finish | {"isError": self.error is not None} | reason)
        if self.error is None and reducer.finish_reason != "interrupted":
            self._send_automatically(self.messages[-1]["id"])

    def _take(self, reducer: MessageReducer, chunk: AnyChunk) -> None:
        known = len(reducer.data)
        write = reducer.apply(chunk)
        self.events["onData"].extend(copy.deepcopy(reducer.data[known:]))
        if write == "nothing":
            return
        if write == "streaming":
            self._set_status("streaming")
        ids = [message["id"] for message in self.messages]
        shown: Any = reducer.message
        if shown["id"] in ids:
            self.messages[len(ids) - 1 - ids[::-1].index(shown["id"])] = copy.deepcopy(shown)
        else:
            self.messages.append(shown)
        if chunk["type"] == "tool-input-available" and "providerExecuted" not in chunk:
            self.events["onToolCall"].append(chunk)

    def _set_status(self, status: str) -> None:
        if status != self.status:
            self.status = status
            self.trace.append(status)

    def _send_automatically(self, message_id: str) -> None:
        if len(self.requests) < self._max_requests and self._auto is not None and self._is_complete():
            self._submit(message_id)

    def _is_complete(self) -> bool:
        """Return the result of one of the two helpers ``lastAssistantMessageIsCompleteWith…``.

        Both check only the parts after the last ``step-start`` of the last message.
        """
        message = self.messages[-1]
        if message["role"] != "assistant":
            return False
        calls = [part for part in last_step(message["parts"]) if part["type"].startswith(("tool-", "dynamic-tool"))]
        settled = [call["state"] == "output-error" or is_final_output(call) for call in calls]
        if self._auto == "tools":
            own = [done for call, done in zip(calls, settled, strict=True) if not call.get("providerExecuted")]
            return bool(own) and all(own)
        answered = ("approval-responded", "output-denied")
        return any(call["state"] == "approval-responded" for call in calls) and all(
            done or call["state"] in answered for call, done in zip(calls, settled, strict=True)
        )


def is_final_output(call: Message) -> bool:
    return call["state"] == "output-available" and not call.get("preliminary")


def last_step(parts: Iterable[Message]) -> list[Message]:
    return list(itertools.takewhile(lambda part: part["type"] != "step-start", reversed(list(parts))))
