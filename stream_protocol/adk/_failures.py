"""Recognize the failures, and the finish reasons, that ADK reports as errors of events."""

from typing import TYPE_CHECKING

from stream_protocol.wire import FinishReason

if TYPE_CHECKING:
    from google.adk.events import Event

ABORTED = "INVOCATION_ABORTED"
"""``error_code`` of the event that ADK writes for a run whose abort signal was set."""

NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
"""``error_code`` of a model response without content."""

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "LANGUAGE": "other",
    "OTHER": "other",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "CONTINUATION": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
}
"""google-genai's ``FinishReason`` -> the AI SDK's finish reason. All missing reasons are ``other``."""

UNEXPLAINED = frozenset({"OTHER", "FINISH_REASON_UNSPECIFIED", "STOP"})
"""Finish reasons without a cause. If the event also has an error message, the model's response broke off."""


def reports_error(event: "Event") -> bool:
    """Return True if the event or fragment reports a failure, or a finish reason that ADK reports as an error."""
    return bool(event.error_code or event.error_message)


def is_aborted(event: "Event") -> bool:
    """Return True for the event that ends a stopped run."""
    return event.error_code == ABORTED


def told_reason(event: "Event") -> str | None:
    """Return the finish reason that the event reports as an error; ``None`` if it reports a failure.

    ADK reports every reason except ``STOP`` as an error code. A response that was cut or filtered is not a failure by
    itself.
    """
    code = event.error_code or (event.finish_reason and event.finish_reason.value)
    if code in UNEXPLAINED and event.error_message:
        return None
    return code if code in FINISH_REASONS or code == NO_CONTENT else None
