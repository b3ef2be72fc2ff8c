"""Parse the JSON paths of streamed arguments, and find the tool of a streamed call that has no name yet.

Some models send the tool's name only in the last partial event of a call, but a client needs the name first. If only
one tool in the option ``tool_schemas`` has all parameters that were streamed so far, the call belongs to this tool.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]

# Patterns are texts, so that `re` compiles them only when the first call is streamed.
_PATH_STEP = r"""(?xs)\[\s*(?P<index>[0-9]{1,9})\s*\]
      | \['(?P<single>(?:[^'\\]|\\.)*)'\]
      | \["(?P<double>(?:[^"\\]|\\.)*)"\]
      | \.?(?P<plain>(?:[^.\[\]\\]|\\.)+)"""
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.))"
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@lru_cache(maxsize=512)
def parse_path(json_path: str) -> Path:
    """Return the keys and indexes in ADK's JSON path, such as ``$.a.b[0]['odd key']``."""
    text = json_path.removeprefix("$")
    return tuple(
        int(match["index"])
        if match["index"] is not None
        else _unescape(match["single"] or match["double"] or match["plain"] or "")
        for match in re.finditer(_PATH_STEP, text)
    )


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(_ESCAPE, lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), text)


class ToolGuess:
    """The possible tools of a streamed call without a name. A tool is possible if its parameters include the JSON paths
    of all streamed arguments.
    """

    __slots__ = ("_candidates", "_paths")

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._candidates: Collection[str] | None = None
        """The tools that have all paths so far."""

    def add(self, paths: Iterable[str], schemas: Mapping[str, Any]) -> str | None:
        """Add the JSON paths of newly streamed arguments. Returns the tool's name if only one tool is possible;
        otherwise ``None``.

        ``schemas``: a dictionary from a tool's name to the JSON schema of its parameters.
        """
        new = {*paths} - self._paths
        if not new:
            return None
        self._paths |= new
        tokens = [parse_path(path) for path in new]
        among = schemas if self._candidates is None else self._candidates
        self._candidates = [name for name in among if all(_has_path(schemas[name], path) for path in tokens)]
        return self._candidates[0] if len(self._candidates) == 1 else None


def _has_path(schema: Any, path: Path) -> bool:
    for token in path:
        match schema:
            case {"properties": {**properties}} if token in properties:
                schema = properties[token]
            case {"items": items} if isinstance(token, int):
                schema = items
            case _:
                return False
    return True
