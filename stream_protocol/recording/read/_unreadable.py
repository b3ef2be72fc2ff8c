"""The files that nothing can be said about, and the bounds of what is held of one."""

from typing import Final

MAX_LINE: Final = 64 * 2**20
"""Characters in a line, or in an event of several lines: 64 Mi, three times the largest request that Gemini takes with
an inline image. The client has no such bound."""

MAX_DOCUMENT: Final = 256 * 2**20
"""Bytes of a file that can only be read as a whole: a session on many lines, YAML. Parsed, it takes ten times that."""


class UnreadableError(ValueError):
    """The file holds nothing that can be judged. ``str(error)`` is one line that says why."""


class RecordingError(UnreadableError):
    """The file is no recording. ``str(error)`` is one line that says why, and where in the file."""


def overlong(number: int, what: str = "line") -> RecordingError:
    """The error for a line, or for what ends in it, that is longer than ``MAX_LINE``."""
    where = f"line {number}" if what == "line" else f"the {what} at line {number}"
    return RecordingError(f"{where} is longer than {MAX_LINE // 2**20} Mi characters")
