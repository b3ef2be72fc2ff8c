"""Which session is meant, in a file that holds several or says which one it holds."""

from collections.abc import Sequence
from typing import Final

from stream_protocol.recording.read._unreadable import RecordingError
from stream_protocol.wire import short_json

MOST_LISTED: Final = 20
"""Sessions that an error names; a line has to stay readable."""


def choose(names: Sequence[str], session: str | None) -> int:
    """The index of the session that is asked for, or of the only one.

    Raises ``RecordingError``, which lists the names, if there is none or not only one.
    """
    if session is None and len(names) == 1:
        return 0
    if session is None and names:
        raise RecordingError(f"{len(names)} sessions are in it, and --session chooses one: {_listed(names)}")
    if session is None:
        raise RecordingError("no events in it")
    if session not in names:
        raise RecordingError(
            f"no session {short_json(session)} in it; it has {_listed(names) if names else 'no names'}"
        )
    return names.index(session)


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(map(short_json, names[:MOST_LISTED]))
    return f"{listed} and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else listed
