"""Runs the patterns of schemas with RE2, in linear time. It has no look-around and no references to groups: patterns
with these are not run."""

from __future__ import annotations

from typing import Any, Final

import re2

MAX_PATTERN_TEXT: Final = 2_000
"""Characters of all patterns of one request. RE2 takes up to 5 µs to compile one."""

_MAX_LENGTH: Final = 1_000
"""Characters of one pattern."""

_MAX_MEMORY: Final = 2**18
"""Bytes for a compiled pattern and for its search: 9,000 instructions, as ``^.{1,1000}$`` has."""

_STEP: Final = 250
"""Instructions times characters that are one step. RE2 takes up to 5 ns for one instruction and one character."""

_CALL: Final = 3
"""The steps of any search."""


def compile_pattern(pattern: str) -> Any:
    """The pattern, ready to search; ``None`` for one that cannot be run in linear time, or is too large."""
    if len(pattern) > _MAX_LENGTH:
        return None
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.never_capture = True  # whether there is a match is all we ask, and far cheaper
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        return None


def search_steps(pattern: Any, text: str) -> int:
    """The most steps that a search of the text takes."""
    return _CALL + int(pattern.programsize) * len(text) // _STEP


def is_found(pattern: Any, text: str) -> bool | None:
    """Whether the pattern matches somewhere in the text; ``None`` for a text that has no UTF-8."""
    try:
        return pattern.search(text) is not None
    except UnicodeEncodeError:
        return None
