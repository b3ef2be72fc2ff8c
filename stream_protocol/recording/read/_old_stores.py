"""Reads the events of SQLite stores with schema 0, which ``DatabaseSessionService`` created up to ADK 1.21.

The schema is in ``schemas/v0.py`` of google-adk 2.13. Each field of an event is a column, and structured fields are
JSON. The field ``actions`` is pickled, and unpickling can execute code. So this module reads only the names of the
fields in ``actions``.

If a call waits for approval, its first result is a placeholder. ADK recognizes a placeholder by the values in the
event's ``actions``, which this module does not read. Instead, this module looks for the approval request, which is a
separate event.
"""

import pickletools
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from stream_protocol.adk import (
    Call,
    CallIds,
    CallKind,
    KnownCalls,
    NotAnEventError,
    Result,
    WarnOnce,
    read,
    read_event,
)
from stream_protocol.recording.read._parsing import field, parse_json_text
from stream_protocol.recording.read._records import EventRecord, RecordingError

_JSON: Final = (
    "content",
    "grounding_metadata",
    "custom_metadata",
    "usage_metadata",
    "citation_metadata",
    "input_transcription",
    "output_transcription",
    "long_running_tool_ids_json",
)
_PLAIN: Final = ("id", "invocation_id", "author", "branch", "error_code", "error_message", "timestamp")
_FLAGS: Final = ("partial", "turn_complete", "interrupted")
_ACTIONS: Final = "actions"

_ACTION_FIELDS: Final = frozenset(
    {
        "skip_summarization",
        "state_delta",
        "artifact_delta",
        "transfer_to_agent",
        "escalate",
        "requested_auth_configs",
        "requested_tool_confirmations",
        "compaction",
        "end_of_agent",
        "agent_state",
        "rewind_before_invocation_id",
    }
)
_MAX_PICKLED: Final = 2**20
"""The maximum size of pickled actions, in bytes. Larger actions are not read."""

_MEMO: Final = frozenset({"MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"})
_NOTHING: Final = frozenset({"NONE", "NEWFALSE"})


def is_old_store(columns: Iterable[str]) -> bool:
    """Return True if a table ``events`` with these columns belongs to schema 0."""
    return {"id", "author", "content", "timestamp", _ACTIONS} <= {*columns}


def old_columns(columns: Iterable[str]) -> list[str]:
    return [name for name in (*_PLAIN, *_FLAGS, *_JSON, _ACTIONS) if name in {*columns}]


def read_old_events(names: list[str], rows: Iterable[tuple[Any, ...]], warn: WarnOnce) -> Iterator[EventRecord]:
    """Yield the events of a session from the rows of an old store. Logs a warning about ``actions`` that are left out.

    ``names``: the columns of each row.
    """
    lost: dict[str, None] = {}
    count = 0
    placeholders = _Placeholders()
    for number, row in enumerate(rows, 1):
        values = dict(zip(names, row, strict=True))
        names_in_actions = _names_in(values.pop(_ACTIONS))
        lost |= dict.fromkeys(names_in_actions)
        count += bool(names_in_actions)
        event = _event(values, number)
        placeholders.mark(event)
        yield EventRecord(number, event, event["timestamp"], "event")
    if lost:
        warn(
            f"Left out the actions of {'1 event' if count == 1 else f'{count} events'}, which this store of schema 0 "
            f"keeps pickled: {', '.join(lost)}. `adk migrate session` brings the store up to date, with them."
        )


def _event(values: dict[str, Any], number: int) -> dict[str, Any]:
    event = {name: value for name, value in values.items() if value is not None and name not in _JSON}
    event |= {name: bool(event[name]) for name in _FLAGS if name in event}
    for name in _JSON:
        if values.get(name) is not None:
            event[name.removesuffix("_json")] = _json_value(values[name], f"event {number}, {name},")
    event["timestamp"] = _seconds(event.get("timestamp"))
    return event


def _json_value(text: object, place: str) -> Any:
    try:
        return parse_json_text(text.encode() if isinstance(text, str) else b"")
    except (RecordingError, UnicodeEncodeError):
        raise RecordingError(f"{place} is not JSON") from None


def _seconds(at: object) -> float:
    """Return a stored time as seconds since 1970; 0 if it is invalid. ``at``: a text or a number, in UTC."""
    try:
        return datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() if isinstance(at, str) else float(at)  # type: ignore[arg-type]  # raises for other types
    except (ValueError, TypeError):
        return 0.0


class _Placeholders:
    """Marks placeholder results: results of calls that need approval and are not approved yet."""

    def __init__(self) -> None:
        self._warn = WarnOnce()
        self._calls = KnownCalls(CallIds())
        """The calls so far. ``entry`` of a call is its newest approval request."""

    def mark(self, event: dict[str, Any]) -> None:
        """Read the next event. If a result in the event belongs to a call that still waits for approval, add
        ``actions`` to the event. They mark the result as a placeholder.
        """
        try:
            with self._warn.silenced():  # the event is read again after this module
                facts = read(read_event(event, self._warn))
        except NotAnEventError:
            return
        self._calls.read_event(facts)
        questions: dict[str, Any] = {}
        for part in facts.parts:
            match part:
                case Call() if not facts.in_users_name:
                    known = self._calls.read_call(facts, part)
                    if known is not None and part.kind is CallKind.APPROVAL:
                        known.entry = field(part.args, "tool_confirmation") or {}
                case Result(id=str(call_id)):
                    waits_for = None
                    if (known := self._calls.find_undecided(facts, part)) is not None:
                        questions[call_id], waits_for = known.entry, CallKind.APPROVAL
                    self._calls.read_result(facts, part._replace(waits_for=waits_for))
        if questions:
            event["actions"] = {"requested_tool_confirmations": questions}


def _names_in(pickled: object) -> list[str]:
    """Return the names of the fields in a pickled ``actions`` object. Does not execute the code in the object."""
    if not isinstance(pickled, bytes):
        return []
    if len(pickled) > _MAX_PICKLED:
        return ["large ones"]
    names: list[str] = []
    try:
        steps = [(code.name, arg) for code, arg, _ in pickletools.genops(pickled) if code.name not in _MEMO]
    except Exception:  # noqa: BLE001 - the file may have any bytes
        return ["unreadable ones"]
    for (_, name), (value, _), (code, after) in zip(steps, steps[1:], steps[2:], strict=False):
        has_no_items = value == "EMPTY_DICT" and (code == "SETITEMS" or after in _ACTION_FIELDS)
        is_empty = value in _NOTHING or has_no_items
        if name in _ACTION_FIELDS and name not in names and not is_empty:
            names.append(name)
    return names
