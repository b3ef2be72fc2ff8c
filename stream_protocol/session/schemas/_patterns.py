"""Runs the patterns of schemas with RE2, in linear time. It has no look-around and no references to groups: patterns
with these are not run, nor are those whose program would be too large.

Schemas have the patterns of ECMAScript. What RE2 writes otherwise is translated; what it does not have is not run. One
difference is left: ``.`` takes the rarer ends of lines, too, which would make the program three times as large.
"""

from __future__ import annotations

import re
from typing import Any, Final

import re2

MAX_PATTERN_TEXT: Final = 4_000
"""Characters of all patterns of one request, as they come and again as RE2 gets them. It takes up to 5 µs to compile
one."""

MAX_PATTERN: Final = 1_000
"""Characters of one pattern."""

_MAX_MEMORY: Final = 2**18
"""Bytes for a compiled pattern and for its search."""

_MAX_PROGRAM: Final = 3_000
"""Instructions of a compiled pattern, as ``^.{1,300}$`` has: texts of 1,600 characters can be searched by it, so that
an answer of usual length is judged."""

_STEP: Final = 250
"""Instructions times characters that are one step. RE2 takes up to 5 ns for one instruction and one character."""

_CALL: Final = 3
"""The steps of any search."""

_TOKEN: Final = re.compile(
    r"\\u\{(?P<braced>[0-9a-fA-F]{1,6})\}|\\u(?P<unit>[0-9a-fA-F]{4})|\\x(?P<byte>[0-9a-fA-F]{2})"
    r"|\\c(?P<control>[a-zA-Z])|\\[pP]\{[^{}]*\}|\\(?P<escaped>.)|\[\^?\]?|\]|\\|[^\\\[\]]+",
    re.DOTALL,
)
_SPACES: Final = r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
_OTHERS: Final = (
    r"\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}"
    r"\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}"
)
_SETS: Final = {"s": _SPACES, "S": _OTHERS}
"""Escapes that RE2 reads as sets of ASCII."""

_WHOLE: Final = {"[]": r"[^\x00-\x{10ffff}]", "[^]": r"[\x00-\x{10ffff}]"}
"""Brackets with nothing between them -> how RE2 writes them."""

_SAME: Final = frozenset("dDwWbBtnvfr")
"""Letters that mean the same behind a backslash. What is no letter or digit stands for itself."""

_SURROGATES: Final = range(0xD800, 0xE000)


def translated(pattern: str) -> str | None:
    """The pattern as RE2 writes it; ``None`` if it cannot."""
    written: list[str] = []
    in_brackets = False
    for token in _TOKEN.finditer(pattern):
        text, escaped = token[0], token["escaped"]
        number = token["braced"] or token["unit"] or token["byte"]
        if token["control"]:
            number = f"{ord(token['control']) % 32:x}"
        if number:
            if int(number, 16) in _SURROGATES:
                return None
            text = f"\\x{{{number}}}"
        elif escaped in _SETS:
            text = _SETS[escaped] if in_brackets else f"[{_SETS[escaped]}]"
        elif escaped and escaped.isalnum() and escaped not in _SAME:
            return None
        elif in_brackets:
            in_brackets = not text.endswith("]") or bool(escaped)
            text = f"\\{text}" if text.startswith("[") else text
        elif text in _WHOLE:
            text = _WHOLE[text]
        else:
            in_brackets = text.startswith("[")
        written.append(text)
    return "".join(written)


def compile_pattern(pattern: str) -> Any:
    """The translated pattern, ready to search; ``None`` for one that cannot be run in linear time, or is too large."""
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.never_capture = True  # whether there is a match is all we ask, and far cheaper
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        return None
    return compiled if compiled.programsize <= _MAX_PROGRAM else None


def search_steps(pattern: Any, text: str) -> int:
    """The most steps that a search of the text takes."""
    return _CALL + int(pattern.programsize) * len(text) // _STEP


def is_found(pattern: Any, text: str) -> bool | None:
    """Whether the pattern matches somewhere in the text; ``None`` for a text that has no UTF-8."""
    try:
        return pattern.search(text) is not None
    except UnicodeEncodeError:
        return None
