"""Restores what ADK says beside the content of its events, and what evaluation data do not keep.

They keep who said what. They do not keep which events are fragments, which calls ask the user, and which responses only
say that a call waits for the answer. The contents show it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.adk import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, USER
from stream_protocol.recording.read._parsing import field, list_field

_QUESTIONS: Final = (REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT)
"""The calls by which ADK asks the user. It marks each as long-running."""

_NO_AGENTS: Final = (USER, "tool", "")
"""Authors that files give to a tool's response."""

_MIN_FRAGMENTS: Final = 2
"""An agent may say one text twice. If two texts come again as one, they were streamed."""


def mark_fragments(events: Sequence[dict[str, Any]]) -> None:
    """Marks texts as fragments if the next event repeats them as one text of the same author."""
    for index, event in enumerate(events):
        if event.get("author") == USER or "partial" in event:
            continue
        whole = [_text(event, is_thought=is_thought) for is_thought in (False, True)]
        ends = [len(text) for text in whole]
        for first in range(index - 1, -1, -1):
            piece = events[first]
            if not any(ends) or not _may_be_fragment(piece, event):
                break
            texts = [_text(piece, is_thought=is_thought) for is_thought in (False, True)]
            if not all(text.endswith(own, 0, end) for text, own, end in zip(whole, texts, ends, strict=True)):
                break
            ends = [end - len(own) for end, own in zip(ends, texts, strict=True)]
            if not any(ends) and index - first >= _MIN_FRAGMENTS:
                for fragment in events[first:index]:
                    fragment["partial"] = True


def _may_be_fragment(piece: dict[str, Any], whole: dict[str, Any]) -> bool:
    """True for an event of the same author that has nothing but text and is no fragment of another event."""
    parts = _parts(piece)
    is_text = bool(parts) and all(isinstance(part.get("text"), str) for part in parts)
    return is_text and piece.get("author") == whole.get("author") and "partial" not in piece


def _text(event: dict[str, Any], *, is_thought: bool) -> str:
    parts = _parts(event)
    return "".join(
        part["text"] for part in parts if isinstance(part.get("text"), str) and bool(part.get("thought")) is is_thought
    )


def _parts(event: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in list_field(field(event, "content"), "parts") if isinstance(part, dict)]


def mark_questions(events: Sequence[dict[str, Any]]) -> None:
    """Marks the calls by which ADK asks the user, and the responses that only say that a call waits.

    Calls and answers without an id get one here: only a call with an id can be marked. Files differ in who they say
    gave a response. Here an answer to a question is the user's, and a tool's response is that of the agent before it.
    """
    asked = _Questions()
    agent: Any = None
    for event in events:
        for part in _parts(event):
            if isinstance(call := field(part, "function_call"), dict):
                asked.add(event, call)
    for event in events:
        responses = [field(part, "function_response") for part in _parts(event)]
        if not responses or not all(isinstance(response, dict) for response in responses):
            agent = agent if event.get("author") in _NO_AGENTS else event.get("author")
        elif any(map(asked.is_answer, responses)):
            event["author"] = USER
            for response in responses:
                asked.take_answer(response)
        else:
            if agent is not None and event.get("author") in _NO_AGENTS:
                event["author"] = agent
            for response in responses:
                asked.take_result(event, response)


@dataclass(eq=False)
class _Question:
    """A call by which ADK asks the user."""

    name: str
    id: str
    interrupt_id: Any
    waiting_id: Any
    """The id of the call that waits for the answer."""
    config: Any
    """The auth config that the question is about."""
    is_pending: bool = True
    has_placeholder: bool = False


class _Questions:
    """The questions of a conversation. An answer or a placeholder belongs to the oldest question that it fits."""

    def __init__(self) -> None:
        self._count = 0
        self._by_id: dict[str, deque[_Question]] = defaultdict(deque)
        self._by_name: dict[str, deque[_Question]] = defaultdict(deque)
        self._by_waiting_id: dict[str, deque[_Question]] = defaultdict(deque)

    def add(self, event: dict[str, Any], call: dict[str, Any]) -> None:
        """Notes a call if it is a question, and marks it in its event."""
        name = call.get("name")
        if name not in _QUESTIONS:
            return
        self._count += 1
        if not isinstance(call.get("id"), str) or not call["id"]:
            call["id"] = f"{name}-{self._count}"
        marked = field(event, "long_running_tool_ids")
        if isinstance(marked, list):
            marked.append(call["id"])
        else:
            event["long_running_tool_ids"] = [call["id"]]
        args = call.get("args")
        waiting_id = field(field(args, "original_function_call"), "id") or field(args, "function_call_id")
        question = _Question(name, call["id"], field(args, "interrupt_id"), waiting_id, field(args, "auth_config"))
        _file(question, self._by_id, question.id, question.interrupt_id)
        _file(question, self._by_name, question.name, question.interrupt_id)
        _file(question, self._by_waiting_id, question.waiting_id)

    def is_answer(self, response: dict[str, Any]) -> bool:
        """True for a response that may answer a question."""
        return response.get("name") in _QUESTIONS or self._asked(response) is not None

    def take_answer(self, response: dict[str, Any]) -> None:
        """Takes the user's answer to a question. Names the question in it."""
        if (question := self._asked(response)) is not None:
            response["id"], response["name"] = question.id, question.name
            question.is_pending = False

    def take_result(self, event: dict[str, Any], response: dict[str, Any]) -> None:
        """Takes a tool's response. Marks it in its event if its call waits for the answer to a question."""
        question = _oldest(
            self._by_waiting_id, response.get("id"), lambda one: one.is_pending and not one.has_placeholder
        )
        if question is not None:
            question.has_placeholder = True
            is_credential = question.name == REQUEST_CREDENTIAL
            name = "requested_auth_configs" if is_credential else "requested_tool_confirmations"
            event.setdefault("actions", {name: {}})
            if isinstance(asked := field(event["actions"], name), dict):
                asked.setdefault(question.waiting_id, question.config if is_credential else {})

    def _asked(self, response: dict[str, Any]) -> _Question | None:
        """The question that the response answers: that with its id, or without one that with its name."""
        key = response.get("id")
        questions, key = (self._by_id, key) if key else (self._by_name, response.get("name"))
        return _oldest(questions, key, lambda one: one.is_pending)


def _file(question: _Question, questions: dict[str, deque[_Question]], *keys: Any) -> None:
    for key in {key for key in keys if isinstance(key, str)}:
        questions[key].append(question)


def _oldest(questions: dict[str, deque[_Question]], key: Any, is_open: Callable[[_Question], bool]) -> _Question | None:
    """The oldest open question under this key. Forgets those before it."""
    found = questions.get(key, deque()) if isinstance(key, str) else deque[_Question]()
    while found and not is_open(found[0]):
        found.popleft()
    return found[0] if found else None
