"""Thought signatures for calls that have lost theirs, as a callback that an app may give to an agent.

Gemini 3 refuses a request in which a function call of the current turn has no thought signature. A call can lack one:
in a history that was imported or that another model wrote, or because a callback made the call up. Google's page on
thought signatures says which call needs one: the first of a model response, since parallel calls share it. The page
also names the value that stands for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.events import Event
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

SKIP_SIGNATURE: Final = b"skip_thought_signature_validator"
"""The value that Gemini takes in a signature's place; the same as ADK's ``SKIP_THOUGHT_SIGNATURE_VALIDATOR``."""


def repair_thought_signatures(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Signs the calls of the current turn that Gemini 3 wants signed: a ``before_model_callback``.

        LlmAgent(…, before_model_callback=repair_thought_signatures)

    A call without a signature gets the one that the session has for it, or ``SKIP_SIGNATURE``. Requests to other models
    and calls that have a signature stay as they are, and the session is not changed.
    """
    if not _is_gemini_3(llm_request.model or ""):
        return
    for content in _current_turn(llm_request.contents):
        parts = content.parts or []
        first = next((index for index, part in enumerate(parts) if part.function_call), None)
        if first is None or parts[first].thought_signature:
            continue
        call = parts[first].function_call
        assert call is not None
        signature = _stored_signature(call, callback_context.session.events) or SKIP_SIGNATURE
        content.parts = [
            *parts[:first],
            parts[first].model_copy(update={"thought_signature": signature}),
            *parts[first + 1 :],
        ]


def _is_gemini_3(model: str) -> bool:
    """Return True if the name is that of a Gemini 3: a plain name, a resource path on Vertex, or a name at LiteLLM."""
    return model.rpartition("/")[2].startswith("gemini-3")


def _current_turn(contents: list[types.Content]) -> Iterator[types.Content]:
    """The model's contents after the user's last message. Results of calls are not a message of the user's."""
    begin = 0
    for index, content in enumerate(contents):
        if content.role == "user" and any(not part.function_response for part in content.parts or ()):
            begin = index + 1
    return (content for content in contents[begin:] if content.role == "model")


def _stored_signature(call: types.FunctionCall, events: Iterable[Event]) -> bytes | None:
    """The newest signature that the session has for such a call. ADK has taken its own ids out of the request."""
    found = None
    for event in events:
        for part in (event.content.parts if event.content is not None else None) or ():
            stored = part.function_call
            if (
                stored is not None
                and part.thought_signature
                and stored.name == call.name
                and (stored.id == call.id if call.id else stored.args == call.args)
            ):
                found = part.thought_signature
    return found
