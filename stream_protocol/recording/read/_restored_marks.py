"""Restores three event fields that evaluation data lacks: ``partial``, the ids of long-running calls, and the marks on
placeholder results.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.adk import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    USER,
    CallIds,
    CallReference,
    KnownCall,
    KnownCalls,
    SpeakerKey,
    confirmed_call,
)
from stream_protocol.recording.read._parsing import field, list_field

_QUESTIONS: Final = (REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT)
"""Names of the calls with which ADK asks the user, and which ADK marks as long-running."""

_NO_AGENTS: Final = (USER, "tool", "")
"""Author names that some files give to tool responses. ADK uses the agent's name."""

_ANYBODY: Final[SpeakerKey] = ("", None, "")
"""Author for all calls and responses, because their authors differ between files."""

_MIN_FRAGMENTS: Final = 2
"""Minimum number of fragments of a text. An agent may repeat a single text."""


def mark_fragments(events: Sequence[dict[str, Any]]) -> None:
    """If an author's event repeats all texts of the author's events directly before it, mark these earlier events as
    partial.
    """
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
    """Return True if the event ``piece`` has only text, the author of ``whole``, and no field ``partial``."""
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
    """ADK asks the user with calls, such as ``adk_request_confirmation``. Mark these calls as long-running. If a tool
    call still waits for the user, mark its response as a placeholder.

    If a question or an answer has no id, it gets one. The author of an answer to a question becomes the user. If the
    author of a tool's response is not an agent, it becomes the last agent before the response.
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
        elif any(asked.is_answer(event, response) for response in responses):
            event["author"] = USER
            for response in responses:
                asked.take_answer(event, response)
        else:
            if agent is not None and event.get("author") in _NO_AGENTS:
                event["author"] = agent
            for response in responses:
                asked.take_result(event, response)


@dataclass(slots=True, eq=False)
class _Question:
    """A question of ADK to the user, in the form of a call. For example, an approval request."""

    name: str
    id: str
    config: Any
    known: KnownCall


class _Questions:
    """ADK's questions to the user in a conversation. Each question is a call."""

    def __init__(self) -> None:
        self._known = KnownCalls(CallIds())
        self._count = 0
        self._waiting: dict[KnownCall, deque[_Question]] = defaultdict(deque)
        """Call that waits for answers -> the questions about this call, in order."""

    def add(self, event: dict[str, Any], call: dict[str, Any]) -> None:
        """Read a call. If the call is a question to the user, mark it as long-running in its event."""
        name, args = _name(call), call.get("args")
        args = args if isinstance(args, dict) else {}
        if name in _QUESTIONS:
            self._count += 1
            _mark_question(event, call, f"{name}-{self._count}")
        known = self._known.new(_id(call), _ANYBODY, name)
        self._known.complete(event, known, name, args)
        if name not in _QUESTIONS:
            return
        known.entry = question = _Question(name, call["id"], field(args, "auth_config"), known)
        if isinstance(interrupt_id := field(args, "interrupt_id"), str):
            self._known.alias(interrupt_id, known)
        if (waiting := self._asked_about(args)) is not None:
            self._waiting[waiting].append(question)

    def _asked_about(self, args: dict[str, Any]) -> KnownCall | None:
        """Return the tool call about which ADK asks the user; ``None`` if there is none. ``args``: the question's
        arguments."""
        original = confirmed_call(args)
        if not original.get("id") and isinstance(credential_for := field(args, "function_call_id"), str):
            original = {"id": credential_for}
        if not original.get("id"):
            return None
        known = self._known.find_requester(_ANYBODY, original)
        return known or self._known.new(original["id"], _ANYBODY, original.get("name", ""))

    def is_answer(self, event: dict[str, Any], response: dict[str, Any]) -> bool:
        return response.get("name") in _QUESTIONS or self._asked(event, response) is not None

    def take_answer(self, event: dict[str, Any], response: dict[str, Any]) -> None:
        """Find the question to which the user's answer belongs. Copy the question's id and name to the answer."""
        if (question := self._asked(event, response)) is not None:
            self._known.resolve_response(event, None, CallReference(question.id, question.name))
            response["id"], response["name"] = question.id, question.name

    def take_result(self, event: dict[str, Any], response: dict[str, Any]) -> None:
        """Read a tool's response. If its call waits for the user, mark the response as a placeholder."""
        call_id, name = _id(response), _name(response)
        reference = CallReference(call_id, name)
        known = self._known.find_answered(event, None, reference, is_placeholder=False)
        questions = self._waiting[known] if known is not None and call_id else deque[_Question]()
        while questions and questions[0].known.responses:
            questions.popleft()
        self._known.resolve_response(event, None, reference, is_placeholder=bool(questions))
        if not questions:
            return
        question = questions.popleft()
        is_credential = question.name == REQUEST_CREDENTIAL
        kind = "requested_auth_configs" if is_credential else "requested_tool_confirmations"
        event.setdefault("actions", {kind: {}})
        if isinstance(asked := field(event["actions"], kind), dict):
            asked.setdefault(call_id, question.config if is_credential else {})

    def _asked(self, event: dict[str, Any], response: dict[str, Any]) -> _Question | None:
        """Return the question that the user's response answers; ``None`` if there is none.

        Some files store the response's id in the field ``name``.
        """
        call_id, name = _id(response), _name(response)
        for id_and_name in [(call_id, "")] if call_id else [(None, name), (name, "")]:
            known = self._known.find_answered(event, None, CallReference(*id_and_name), is_placeholder=False)
            question: _Question | None = known.entry if known is not None else None
            if question is not None and not question.known.responses:
                return question
        return None


def _mark_question(event: dict[str, Any], call: dict[str, Any], new_id: str) -> None:
    if not _id(call):
        call["id"] = new_id
    marked = field(event, "long_running_tool_ids")
    if isinstance(marked, list):
        marked.append(call["id"])
    else:
        event["long_running_tool_ids"] = [call["id"]]


def _id(value: dict[str, Any]) -> str | None:
    return call_id if isinstance(call_id := value.get("id"), str) and call_id else None


def _name(value: dict[str, Any]) -> str:
    return name if isinstance(name := value.get("name"), str) else ""
