"""One client over a whole file: which message each response is of, as ``useChat`` would have it.

A file does not say what the user did between two responses. So a response with the id of an earlier message continues
that message, and whatever waited there has been answered; a new id is a new message. Without an id, what tells is
whether the response begins with a result of a call that waited.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stream_protocol.check._continued_message import answered, calls_only, waits
from stream_protocol.check._response_rules import ResponseRules
from stream_protocol.check._rules import Problem, Rule
from stream_protocol.wire import AiSdkVersion, UIMessage, short_json

MAX_MESSAGES: Final = 64
"""Earlier messages that are remembered, the newest: a response long after its message is taken for a new one."""


class ChatPage:
    """A client of one version, and the messages that it has."""

    def __init__(self, ai_sdk: AiSdkVersion) -> None:
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._messages: dict[str, UIMessage] = {}
        """By id, in the order of their last response; ``""`` is a message that the stream gave no id."""
        self._response: ResponseRules | None = None

    def take(self, chunk: Any) -> Iterator[Problem]:
        """Takes the next chunk and yields what is wrong with it."""
        if self._response is None:
            yield from self._begin(chunk)
        yield from self._current().take(chunk)

    def die(self, problem: Problem) -> Iterator[Problem]:
        """To be told when the client dies of what is no chunk at all; yields it, unless the client was dead already.

        It lives again in the next response.
        """
        yield from self._current().die(problem)

    def end(self) -> Iterator[Problem]:
        """Ends the response and yields what is wrong with it as a whole."""
        response = self._current()
        yield from response.end()
        message = response.message
        self._messages.pop(message["id"], None)
        self._messages[message["id"]] = calls_only(message)
        if len(self._messages) > MAX_MESSAGES:
            del self._messages[next(iter(self._messages))]
        self._response = None

    def _current(self) -> ResponseRules:
        if self._response is None:
            self._response = ResponseRules(self._ai_sdk)
        return self._response

    def _begin(self, chunk: Any) -> Iterator[Problem]:
        message_id = chunk.get("messageId") if isinstance(chunk, Mapping) and chunk.get("type") == "start" else None
        known = self._messages.get(message_id) if isinstance(message_id, str) else None
        base = None if known is None else answered(known)
        if known is not None and not waits(known):
            text = f"start names message {short_json(message_id)} again, which waited for nothing."
            yield Problem(Rule.MESSAGE_ID_REUSED, text)
        last = next(reversed(self._messages.values()), None)
        is_open = last is not None and waits(last) and (message_id is None or last["id"] == "")
        candidate = answered(last) if last is not None and is_open and base is None else None
        earlier = [message for message in self._messages.values() if message is not known]
        self._response = ResponseRules(self._ai_sdk, base=base, candidate=candidate, earlier=earlier)
