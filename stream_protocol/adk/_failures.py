"""Failures that ADK reports as events, and the finish reasons that it reports as failures."""

from typing import TYPE_CHECKING

from stream_protocol.wire import FinishReason

if TYPE_CHECKING:
    from google.adk.events import Event

ABORTED = "INVOCATION_ABORTED"
"""``error_code`` of the event that ADK writes when a run's abort signal was set."""

NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
"""``error_code`` of a model response that holds nothing to show."""

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
"""google-genai's ``FinishReason`` -> the AI SDK's; a reason that is not here is ``other``."""

UNEXPLAINED = frozenset({"OTHER", "FINISH_REASON_UNSPECIFIED", "STOP"})
"""Finish reasons that name no cause. An error message beside one of them is the cause: the answer broke off."""


def reports_error(event: "Event") -> bool:
    """Return True if the event, or fragment, reports a failure, or a finish reason that ADK counts as one."""
    return bool(event.error_code or event.error_message)


def is_aborted(event: "Event") -> bool:
    """Return True for the event that ends a stopped run."""
    return event.error_code == ABORTED


def told_reason(event: "Event") -> str | None:
    """Return the finish reason that the event reports in place of an error; ``None`` if it reports a failure.

    ADK gives every reason but ``STOP`` as an error code. An answer that was cut or filtered is not a failure by itself.
    """
    code = event.error_code or (event.finish_reason and event.finish_reason.value)
    if code in UNEXPLAINED and event.error_message:
        return None
    return code if code in FINISH_REASONS or code == NO_CONTENT else None
