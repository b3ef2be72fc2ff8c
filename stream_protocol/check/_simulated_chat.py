"""Simulate the messages of a ``useChat`` client over a whole file, to find the message that each response continues.

A file does not contain the user's actions between two responses. So the message is found by these rules:

- A response with the id of an earlier message continues this message. The user may have answered all calls of the
  message.
- A response with a new id begins a new message.
- A response without an id may also continue the last message. This is the case if the first content of the response
  belongs to a waiting call or approval of this message. Other calls of the message may still wait after the response.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stream_protocol.check._continued_message import answer_calls, calls_only, is_waiting
from stream_protocol.check._response_checker import ResponseChecker
from stream_protocol.check._rules import Problem, Rule
from stream_protocol.wire import AiSdkVersion, UIMessage, short_json

MAX_MESSAGES: Final = 64
"""Maximum number of messages in memory. A response that continues an older message is checked as a new message."""


class SimulatedChat:
    """A simulated client of one major version."""

    def __init__(self, ai_sdk: AiSdkVersion) -> None:
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._messages: dict[str, UIMessage] = {}
        """Message id (empty if missing) -> message. The message with the newest response is the last."""
        self._response: ResponseChecker | None = None

    def check_chunk(self, chunk: Any) -> Iterator[Problem]:
        if self._response is None:
            yield from self._begin_response(chunk)
        yield from self._current().check_chunk(chunk)

    def stop_reading(self, problem: Problem) -> Iterator[Problem]:
        """Record that the client fails on data that is not a chunk. Yields ``problem``. If the client has stopped
        reading before, yields nothing.
        """
        yield from self._current().stop_reading(problem)

    def end_response(self) -> Iterator[Problem]:
        response = self._current()
        yield from response.end()
        self._response = None
        if not response.is_shown:
            return
        message = response.next_message
        self._messages.pop(message["id"], None)
        self._messages[message["id"]] = calls_only(message)
        if len(self._messages) > MAX_MESSAGES:
            del self._messages[next(iter(self._messages))]

    def _current(self) -> ResponseChecker:
        if self._response is None:
            self._response = ResponseChecker(self._ai_sdk)
        return self._response

    def _begin_response(self, chunk: Any) -> Iterator[Problem]:
        message_id = chunk.get("messageId") if isinstance(chunk, Mapping) and chunk.get("type") == "start" else None
        known = self._messages.get(message_id) if isinstance(message_id, str) else None
        continued = None if known is None else answer_calls(known)
        if known is not None and not is_waiting(known):
            text = f"start has the id of message {short_json(message_id)}, in which no call was waiting."
            yield Problem(Rule.MESSAGE_ID_REUSED, text)
        newest = next(reversed(self._messages.values()), None)
        may_continue = newest is not None and is_waiting(newest) and (message_id is None or newest["id"] == "")
        last = answer_calls(newest) if newest is not None and may_continue and continued is None else None
        earlier = [message for message in self._messages.values() if message is not known]
        self._response = ResponseChecker(self._ai_sdk, continued=continued, last=last, earlier=earlier)
