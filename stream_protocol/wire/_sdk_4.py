"""Recognize messages of AI SDK 4, so that the error names the wrong version.

Source: ``ui-utils/src/types.ts`` and ``react/src/use-chat.ts`` of ``vercel/ai``, read at ``ai@4.3.19``. There a message
has its text in ``content``. From 4.2 on, a message also has ``parts``, and the hook sends neither the message's id nor
a trigger.
"""

from collections.abc import Mapping
from typing import Any, Final

SDK_4_REQUEST: Final = (
    "This request comes from AI SDK 4: this server needs 6 or later. Update `ai` and `@ai-sdk/react` in the page."
)

_KEYS: Final = frozenset({"toolInvocations", "experimental_attachments"})

_KEYS_OF_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "reasoning": ("reasoning", "text"),
    "file": ("mimeType", "mediaType"),
    "source": ("source", "sourceId"),
}
"""Type of a part -> a key that it has in AI SDK 4, and the key that replaces it in later versions."""


def is_of_sdk_4(message: object) -> bool:
    """Return True for a message in a form that no version after 4 sends."""
    if not isinstance(message, dict):
        return False
    if not _KEYS.isdisjoint(message):
        return True
    parts = message.get("parts")
    if isinstance(message.get("content"), str) and (not isinstance(parts, list) or message.get("id") is None):
        return True
    return isinstance(parts, list) and any(map(_is_part_of_sdk_4, parts))


def _is_part_of_sdk_4(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    if kind == "tool-invocation":
        return isinstance(part.get("toolInvocation"), dict)
    old, new = _KEYS_OF_PARTS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    return old in part and new not in part
