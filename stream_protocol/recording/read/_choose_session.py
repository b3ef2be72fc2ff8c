"""Chooses the session in a file that holds several: ``--session``."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final

from stream_protocol.recording.read._parsing import field
from stream_protocol.recording.read._records import RecordingError
from stream_protocol.wire import short_json

MAX_NAMES: Final = 20
"""The most sessions that an error message names: it must stay one readable line."""


def choose_session(names: Sequence[str], session: str | None, *, kind: str = "session") -> int:
    """Returns the index of ``session`` in ``names``; 0 if no session was asked for and there is only one.

    ``kind``: the noun for what is chosen. Raises ``RecordingError`` with the names if the session is not among them, or
    if one must be chosen.
    """
    if session is None and len(names) == 1:
        return 0
    if session is None and names:
        raise RecordingError(f"{len(names)} {kind}s are in it, and --session chooses one: {_list(names)}")
    if session is None:
        raise RecordingError(f"no {kind}s in it")
    if session not in names:
        raise RecordingError(f"no {kind} {short_json(session)} in it; it has {_list(names) if names else 'no names'}")
    return names.index(session)


def distinct_names(values: Iterable[Any], *fields: str, kind: str) -> list[str]:
    """The names of these values: the first of the fields that is a text.

    A value without a name has its number: ``session-2``. A name that came before gets a number, too: ``name.2``.
    """
    names: list[str] = []
    known: set[str] = set()
    for number, value in enumerate(values, 1):
        found = (field(value, name) for name in fields)
        base = name = next((one for one in found if isinstance(one, str) and one), f"{kind}-{number}")
        copies = count(number)
        while name in known:
            name = f"{base}.{next(copies)}"
        known.add(name)
        names.append(name)
    return names


def refuse_session(session: str | None) -> None:
    """Raises ``RecordingError`` if a session was asked for. For forms that have no names of sessions."""
    if session is not None:
        choose_session([], session)


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(map(short_json, names[:MAX_NAMES]))
    return f"{listed} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else listed
