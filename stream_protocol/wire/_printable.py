"""Text that is safe to print on a terminal, also if a stranger wrote it."""

import re
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that control a terminal, change the direction of a text, break a line, or are invisible. Lone surrogates,
which no file accepts, are among them. Joiners stay: letters and emoji need them.
"""


def printable(text: str) -> str:
    r"""Returns the text with such characters as JSON escapes, such as ``\u202e``. The value of JSON on one line does
    not change.
    """
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))
