"""Chooses a session in a file with several sessions, for the command-line option ``--session``."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final

from stream_protocol.recording.read._parsing import field
from stream_protocol.recording.read._records import RecordingError
from stream_protocol.wire import short_json

MAX_NAMES: Final = 20


def choose_session(names: Sequence[str], session: str | None, *, kind: str = "session") -> int:
    """Return the index of ``session`` in ``names``, the names of the sessions in a file. ``session`` may be ``None`` if
    the file has only one session.

    ``kind``: the word for a session in error messages. Raises ``RecordingError`` if there is no such session. The error
    text lists all names.
    """
    if session is None and len(names) == 1:
        return 0
    if session is None and names:
        raise RecordingError(f"{len(names)} {kind}s are in it, and --session chooses one: {_list(names)}")
    if session is None:
        raise RecordingError(f"no {kind}s in it")
    if not names:
        raise RecordingError(f"it has no {kind}s, so remove --session")
    if session not in names:
        raise RecordingError(f"no {kind} {short_json(session)} in it; it has {_list(names)}")
    return names.index(session)


def distinct_names(values: Iterable[Any], *fields: str, kind: str) -> list[str]:
    """Return a unique name for each value, such as a session. The name is the text in the first of the ``fields`` that
    is not empty.

    A value without a name gets ``kind`` and a number, such as ``session-2``. A repeated name gets a number, such as
    ``name.2``.
    """
    names: list[str] = []
    known: set[str] = set()
    for number, value in enumerate(values, 1):
        found = (field(value, name) for name in fields)
        base = name = next((text for text in found if isinstance(text, str) and text), f"{kind}-{number}")
        copies = count(number)
        while name in known:
            name = f"{base}.{next(copies)}"
        known.add(name)
        names.append(name)
    return names


def refuse_session(session: str | None) -> None:
    """Raise ``RecordingError`` if ``session`` is set for a format that has no sessions."""
    if session is not None:
        choose_session([], session)


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(map(short_json, names[:MAX_NAMES]))
    return f"{listed} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else listed
