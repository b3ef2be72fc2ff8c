"""Model calls and failures of a run, for developers, without secrets. A recording does not contain this data."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from itertools import takewhile
from time import monotonic
from traceback import format_exception, format_exception_only
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson
from google.adk.plugins import BasePlugin

from stream_protocol._secret_texts import message_without_secrets
from stream_protocol.adk import NESTED_EVENT
from stream_protocol.recording.write import model_json, redact_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models import LlmRequest
    from google.genai import types

    from stream_protocol.inspector._entries import ObservedKind

    Caller: TypeAlias = tuple[str, str, str | None]

logger = logging.getLogger(__name__)

MAX_PROMPT_BYTES: Final = 2**18
"""Maximum number of bytes of the contents in a prompt. The oldest contents are left out."""

MAX_TEXT: Final = 20_000
"""Maximum number of characters of a text, a file in Base64 or a traceback."""

MAX_FRAMES: Final = 40
"""Maximum number of frames in a traceback. The frames next to the error stay."""

_NOT_SHOWN: Final = frozenset({"systemInstruction", "tools", "httpOptions", "labels"})
"""Keys of the config that the prompt shows elsewhere, or that concern the transport."""

_USAGE: Final = {
    "in": "promptTokenCount",
    "out": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "thoughts": "thoughtsTokenCount",
}
"""Key of the page -> key of genai's usage metadata."""


class ModelCalls(BasePlugin):
    """ADK plugin that reports the model calls of one run, including calls of nested agents. Never raises an exception.

    ``report``: called with the kind of an entry and its JSON. All entries of one model call have an equal number
    ``call``, from 1.
    """

    def __init__(self, report: Callable[[ObservedKind, dict[str, Any]], None]) -> None:
        super().__init__("adk_ui_stream_inspector")
        self._report = report
        self._count = 0
        self._open: dict[Caller, _OpenCall] = {}
        """The newest call of each caller."""

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Reports the prompt: model, agent, system instruction, contents, names of the tools, and config.

        Some contents are left out, and three keys show this. ``repeats``: how many contents at the beginning are the
        same as in the agent's previous call. ``of``: the number (``call``) of this previous call. ``omitted``: how many
        contents were left out because of their size.
        """
        caller = _caller(callback_context)
        self._count += 1
        call = _OpenCall(self._count, callback_context.agent_name, llm_request, self._open.get(caller))
        self._open[caller] = call
        self._show(call)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        call = self._open.get(_caller(callback_context))
        if call is not None:
            call.has_ended = True
            self._report("answer", {**call.times(), "error": message_of(error)})

    def note(self, event: dict[str, Any]) -> None:
        """Reports the end of a model call. ``event``: an event from this call, as JSON. If a callback of the app has
        changed the prompt, the prompt is reported again.

        An ``after_model_callback`` would be simpler. But if a plugin has this callback, agents inside tool calls do not
        stream their texts.
        """
        event = _innermost(event)
        call = self._open.get((event.get("invocationId", ""), event.get("author", ""), event.get("branch")))
        if call is None or _has_responses(event):
            return
        if call.first is None:
            call.first = monotonic()
            self._show(call)
        if not event.get("partial") and (not call.has_ended or "usageMetadata" in event):
            call.has_ended = True
            with _logged():
                self._report("answer", {**call.times(), **_answer(event)})

    def release(self) -> None:
        """Forgets all model calls, to free their memory."""
        self._open.clear()

    def _show(self, call: _OpenCall) -> None:
        with _logged():
            if (prompt := call.changed_prompt()) is not None:
                self._report("prompt", redact_prompt(prompt))


def _innermost(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event of the innermost nested agent that ``event`` contains; ``event`` itself if it contains none."""
    while isinstance(carried := (event.get("customMetadata") or {}).get(NESTED_EVENT), dict):
        event = carried.get("event") or {}
    return event


def _has_responses(event: dict[str, Any]) -> bool:
    parts = (event.get("content") or {}).get("parts") or ()
    return any("functionResponse" in part for part in parts)


def _answer(event: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if usage := event.get("usageMetadata"):
        answer["tokens"] = {key: usage[name] for key, name in _USAGE.items() if name in usage}
    answer |= {
        key: event[name] for key, name in (("version", "modelVersion"), ("finish", "finishReason")) if name in event
    }
    if code := event.get("errorCode"):
        answer["error"] = f"{code}: {event.get('errorMessage', '')}"
    return answer


@contextmanager
def _logged() -> Iterator[None]:
    """Context manager that logs an exception. The exception is not raised, so that the run does not fail."""
    try:
        yield
    except Exception:
        logger.exception("A model call cannot be shown in the Inspector.")


class _OpenCall:
    """A model call that has begun. ``before``: the previous call of the same agent, or ``None``."""

    def __init__(self, number: int, agent: str, request: LlmRequest, before: _OpenCall | None) -> None:
        self.first: float | None = None
        """The time of the first response."""
        self.has_ended = False
        self.number = number
        self._agent = agent
        self._request = request
        self._before = () if before is None else before.contents
        self._before_number = 0 if before is None else before.number
        self._begun = monotonic()
        self._shown: dict[str, Any] | None = None

    @property
    def contents(self) -> Sequence[types.Content]:
        return tuple(self._request.contents)

    def changed_prompt(self) -> dict[str, Any] | None:
        """Return the prompt as JSON. Returns ``None`` if the prompt has not changed since this method was last
        called.
        """
        prompt = self._prompt()
        if prompt == self._shown:
            return None
        self._shown = prompt
        return prompt

    def times(self) -> dict[str, Any]:
        """Return the number of the call, and its times in seconds."""
        first = {} if self.first is None else {"first": round(self.first - self._begun, 4)}
        return {"call": self.number, "seconds": round(monotonic() - self._begun, 4), **first}

    def _prompt(self) -> dict[str, Any]:
        pairs = zip(self._request.contents, self._before, strict=False)
        repeats = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        contents, omitted = _newest(self._request.contents[repeats:])
        config = model_json(self._request.config)
        instruction = config.get("systemInstruction")
        return {
            "call": self.number,
            "agent": self._agent,
            "model": self._request.model,
            **({"repeats": repeats, "of": self._before_number} if repeats else {}),
            **({"omitted": omitted} if omitted else {}),
            **({"instruction": _shortened(instruction)} if instruction is not None else {}),
            "contents": contents,
            "tools": [*dict.fromkeys(_tool_names(self._request))],
            "config": {key: _shortened(value) for key, value in config.items() if key not in _NOT_SHOWN},
        }


def failure_json(error: BaseException) -> dict[str, Any]:
    """Return the type, the message and the traceback of an exception, without secrets."""
    lines = format_exception(error, limit=-MAX_FRAMES)
    return {
        "type": type(error).__name__,
        "message": message_of(error),
        "traceback": message_without_secrets("".join(lines)[-MAX_TEXT:]),
    }


def message_of(error: BaseException) -> str:
    """Return the type and the message of an exception, without secrets."""
    return message_without_secrets("".join(format_exception_only(error))[:MAX_TEXT].strip())


def _caller(context: CallbackContext) -> Caller:
    return context.invocation_id, context.agent_name, context.branch


def _tool_names(request: LlmRequest) -> Iterator[str]:
    """Yield the names of the functions in a model request, and of the model's own tools, such as ``google_search``."""
    yield from request.tools_dict
    for tool in request.config.tools or ():
        declarations = getattr(tool, "function_declarations", None)
        if declarations:
            yield from (declared.name for declared in declarations if declared.name)
        else:
            yield from getattr(tool, "model_fields_set", None) or (str(getattr(tool, "name", type(tool).__name__)),)


def _newest(contents: list[types.Content]) -> tuple[list[Any], int]:
    """Return the last contents of a prompt as JSON, up to ``MAX_PROMPT_BYTES``, but at least one content. Also return
    the number of contents before them, which are left out.
    """
    newest: list[Any] = []
    size = 0
    for content in reversed(contents):
        shown = _shortened(model_json(content))
        size += len(orjson.dumps(shown))
        if size > MAX_PROMPT_BYTES and newest:
            break
        newest.append(shown)
    return newest[::-1], len(contents) - len(newest)


def _shortened(value: Any) -> Any:
    """Return a JSON value in which long texts are shortened. The data of a long file is removed."""
    match value:
        case {"mimeType": str(), "data": str() as data} if len(data) > MAX_TEXT:
            return {**value, "data": "", "bytes": len(data) * 3 // 4}
        case str() if len(value) > MAX_TEXT:
            return f"{value[:MAX_TEXT]}… and {len(value) - MAX_TEXT} more characters"
        case dict():
            return {key: _shortened(item) for key, item in value.items()}
        case list():
            return [_shortened(item) for item in value]
    return value
