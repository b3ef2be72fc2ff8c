"""Make text safe to print on a terminal, whoever wrote it."""

import re
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Pattern for characters that control a terminal, change the direction of text, break a line, or are invisible.

Lone surrogates, which cannot be written to a file, are among them. Joiners are not: letters and emoji need them.
"""


def printable(text: str) -> str:
    r"""Return the text with control characters and invisible characters as JSON escapes, such as ``\u202e``.

    If the text is JSON on one line, the result is JSON with the same value.
    """
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))
