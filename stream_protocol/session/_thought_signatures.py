"""``repair_thought_signatures``: a callback for agents that adds missing thought signatures to function calls.

Gemini 3 expects a thought signature on the first function call of each model response in the current turn. Otherwise,
Gemini 3 refuses the request. A call has no signature if it was imported, if another model made it, or if a callback
created it. For these cases, Google documents the placeholder ``SKIP_SIGNATURE``.
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
"""The placeholder that Gemini accepts instead of a signature; equal to ADK's ``SKIP_THOUGHT_SIGNATURE_VALIDATOR``."""


def repair_thought_signatures(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Add missing thought signatures to the function calls of the current turn, for Gemini 3. Use this function as a
    ``before_model_callback``.

        LlmAgent(…, before_model_callback=repair_thought_signatures)

    A call without a signature gets its signature from the session, or ``SKIP_SIGNATURE``. The callback does not change
    existing signatures, the session, or requests to other models.
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
    return model.rpartition("/")[2].startswith("gemini-3")


def _current_turn(contents: list[types.Content]) -> Iterator[types.Content]:
    """Yield the contents that the model created after the user's last message. A content with only function responses
    is not a message of the user."""
    begin = 0
    for index, content in enumerate(contents):
        if content.role == "user" and any(not part.function_response for part in content.parts or ()):
            begin = index + 1
    return (content for content in contents[begin:] if content.role == "model")


def _stored_signature(call: types.FunctionCall, events: Iterable[Event]) -> bytes | None:
    """Return the newest thought signature of this call in the session's events; ``None`` if there is none. ADK removes
    its own call ids from model requests. So a call without an id is found by its name and arguments."""
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
