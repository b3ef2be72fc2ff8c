"""What only the client knows of a turn, where ADK stores it: on the user's own event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from google.adk.events import Event

METADATA_KEY: Final = "adk_ui_stream"
"""Our key in ``RunConfig.custom_metadata``. ADK puts it on every event of the run; only the user's own is read."""


def client_message_id(event: Event) -> str | None:
    """The id that the client gave the user's message; ``None`` if it came by another way than a chat client."""
    message_id = _known(event).get("message_id")
    return message_id if isinstance(message_id, str) and message_id else None


def sent_files(event: Event) -> list[dict[str, str] | None]:
    """For each part of the user's message the ``mediaType`` and ``filename`` of the file that came with it, ``None``
    for any other part. Empty without such a file."""
    files = _known(event).get("files")
    return files if isinstance(files, list) else []


def approval_reasons(event: Event) -> dict[str, str]:
    """Approval id -> why the user decided so, of the answers that this event holds."""
    reasons = _known(event).get("reasons")
    return reasons if isinstance(reasons, dict) else {}


def _known(event: Event) -> dict[str, Any]:
    known = (event.custom_metadata or {}).get(METADATA_KEY)
    return known if isinstance(known, dict) else {}
