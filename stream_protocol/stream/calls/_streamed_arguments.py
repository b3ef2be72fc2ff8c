"""Convert streamed arguments of a tool call to pieces of JSON text. Model adapters stream arguments in three forms:

- ``partial_args`` whose items have JSON paths (Vertex, and ADK's OpenAI, LiteLlm and Anthropic adapters): ``PathText``;
- ``partial_args`` whose items are pieces of JSON text, without a path (the Interactions API): ``RawText``;
- ``args`` with all arguments so far, in each partial event (custom models): ``GrowingText``.

The three classes have these methods:

- ``write`` takes the arguments in a partial event, and returns the new JSON text. The client appends this text.
- ``complete`` takes the arguments of the complete call, and returns the text that is still missing. If no text can
  complete the JSON, it returns ``None``. Then the client uses the input of the complete call.
- ``so_far`` returns the arguments so far, for a call that ends early.

If a fragment cannot be appended to the text, all later fragments are ignored.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from stream_protocol.stream.calls._argument_paths import Path, parse_path
from stream_protocol.wire import CONSTRUCTOR, MAX_DEPTH, json_value, safe_key, to_well_formed

if TYPE_CHECKING:
    from google.genai.types import PartialArg

_NUMBER_CHARACTERS = "-+.0123456789eE"

_EXACT_FLOAT = 2**53
"""The limit up to which floats represent all integers exactly."""


def integral(value: Any) -> Any:
    """Return the JSON value with integers in place of floats such as ``3.0``. Models stream all numbers as floats."""
    match value:
        case float() if value.is_integer() and abs(value) < _EXACT_FLOAT:
            return int(value)
        case dict():
            return {key: integral(item) for key, item in value.items()}
        case list():
            return [integral(item) for item in value]
    return value


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def _quoted(text: str) -> str:
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:  # a lone surrogate
        return orjson.dumps(to_well_formed(text)).decode()


def _same(first: Any, second: Any) -> bool:
    """Return True if both values are equal in JavaScript, where all numbers are floats."""
    return _sorted_json(_floats(first)) == _sorted_json(_floats(second))


def _sorted_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _floats(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() | float():
            return value + 0.0  # turns -0.0 into 0.0
        case dict():
            return {key: _floats(item) for key, item in value.items()}
        case list():
            return [_floats(item) for item in value]
    return value


class _Level:
    """An unfinished JSON object or array."""

    __slots__ = ("is_array", "keys", "length", "open_child")

    def __init__(self, *, is_array: bool) -> None:
        self.is_array = is_array
        self.keys: set[str] = set()
        self.length = 0
        self.open_child: str | int | None = None

    def accepts(self, token: str | int) -> bool:
        if isinstance(token, int):
            return self.is_array and token == self.length
        return not self.is_array and token not in self.keys

    def add(self, token: str | int) -> str:
        """Add a child. Returns the text to write before the child's value: a comma if needed and, in an object, the
        key.
        """
        comma = "," if self.length else ""
        self.length += 1
        self.open_child = token
        if isinstance(token, int):
            return comma
        self.keys.add(token)
        return f"{comma}{_dumps(token)}:"

    @property
    def closer(self) -> str:
        return "]" if self.is_array else "}"


class PathText:
    """Builds the JSON text of a call's streamed arguments, for ``partial_args`` whose items have JSON paths."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []
        self._written: list[str] = []
        self._open_path: str | None = None
        """The path of the string that is being streamed."""
        self._string_at = 0
        """The index in ``_written`` at which this string begins."""
        self._half = ""
        """The first half of a surrogate pair at the end of the string, until the second half comes."""
        self._last_path: str | None = None
        self._frozen = False

    def accepts(self, json_path: str) -> bool:
        """Return True if a value with this path can now be appended to the JSON text."""
        return json_path == self._open_path or self._place(self._path(json_path)) is not None

    def write(self, fragment: "PartialArg") -> str:
        """Return the JSON text that this item of ``partial_args`` adds. An item without a JSON path adds nothing."""
        path = fragment.json_path
        if self._frozen or not path:
            return ""
        return self._continue(fragment) if path == self._open_path else self._begin(path, fragment)

    def _continue(self, fragment: "PartialArg") -> str:
        text = fragment.string_value or ""
        return self._emit(self._more(self._unrepeated(text) if self._half else text, fragment))

    def _begin(self, path: str, fragment: "PartialArg") -> str:
        scalar, string = _scalar(fragment), fragment.string_value
        if (scalar is None and string is None) or (string == "" and path == self._last_path):
            return ""  # a piece without a value, or an empty piece after the end of its string
        tokens = self._path(path)
        depth = self._place(tokens)
        if depth is None:
            self._frozen = True
            return ""
        head = self._emit(self._close_to(depth) + self._open_to(depth, tokens))
        self._last_path = path
        if string is None:
            return head + self._emit(scalar or "")
        self._open_path, self._string_at = path, len(self._written)
        return head + self._emit('"' + self._more(string, fragment))

    def _emit(self, text: str) -> str:
        self._written.append(text)
        return text

    def _more(self, text: str, fragment: "PartialArg") -> str:
        """Return the text to write inside the unfinished string. The first half of a surrogate pair is held back until
        the second half comes.
        """
        if not fragment.will_continue:
            return self._end_string(text)
        if self._half:
            text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _quoted(text)[1:-1]

    def _end_string(self, text: str = "") -> str:
        text, self._half = self._half + text, ""
        self._open_path = None
        return _quoted(text)[1:]

    def _unrepeated(self, text: str) -> str:
        """The string so far ends in the first half of a surrogate pair. Return only the new part of ``text``.

        When the second half comes, ADK's ``_JsonPathTracker`` sends the whole string again. The result omits the
        repeated text.
        """
        sent: str = orjson.loads("".join(self._written[self._string_at :]) + '"')
        if not _utf16(text).startswith(_utf16(sent + self._half)):
            return text
        self._half = ""
        return text[len(sent) :]

    @staticmethod
    def _path(json_path: str) -> Path:
        tokens = parse_path(json_path)
        return tuple(
            safe_key(to_well_formed(token), in_constructor=parent == CONSTRUCTOR) if isinstance(token, str) else token
            for parent, token in zip((None, *tokens), tokens, strict=False)
        )

    def _place(self, tokens: Path) -> int | None:
        """Return the depth of the unfinished object or array to which a value with this path can be appended. The
        outermost object has depth 0. Returns ``None`` if the value cannot be appended.
        """
        if not tokens or len(tokens) > MAX_DEPTH:
            return None
        levels = self._levels or [_Level(is_array=False)]
        depth = 0
        while depth < min(len(levels), len(tokens)) - 1 and levels[depth].open_child == tokens[depth]:
            depth += 1
        new_arrays_start_at_zero = all(token == 0 or isinstance(token, str) for token in tokens[depth + 1 :])
        return depth if levels[depth].accepts(tokens[depth]) and new_arrays_start_at_zero else None

    def _close_to(self, depth: int) -> str:
        text = self._end_string() if self._open_path is not None else ""
        closers = [level.closer for level in reversed(self._levels[depth + 1 :])]
        del self._levels[depth + 1 :]
        return text + "".join(closers)

    def _open_to(self, depth: int, tokens: Path) -> str:
        text = ""
        if not self._levels:
            self._levels.append(_Level(is_array=False))
            text = "{"
        text += self._levels[depth].add(tokens[depth])
        for token in tokens[depth + 1 :]:
            level = _Level(is_array=isinstance(token, int))
            self._levels.append(level)
            text += ("[" if level.is_array else "{") + level.add(token)
        return text

    def complete(self, arguments: dict[str, Any]) -> str | None:
        return self._remainder(0, self.so_far(), arguments) if self._written else ""

    def so_far(self) -> Any:
        if not self._written:
            return {}
        quote = '"' if self._open_path is not None else ""
        closers = "".join(level.closer for level in reversed(self._levels))
        return orjson.loads("".join(self._written) + quote + closers)

    def _remainder(self, depth: int, sent: Any, final: Any) -> str | None:
        """Return the JSON text that is missing at the end of the object or array at ``depth``. ``sent``: its value so
        far. ``final``: its complete value. Returns ``None`` if ``final`` does not begin with ``sent``.
        """
        if depth == len(self._levels):
            return self._leaf_remainder(sent, final)
        level = self._levels[depth]
        if not isinstance(final, list if level.is_array else dict) or len(final) < level.length:
            return None
        child: Any = level.open_child
        keys: Sequence[Any] = range(level.length) if level.is_array else list(sent)
        if any(key != child and not (_has(final, key) and _same(sent[key], final[key])) for key in keys):
            return None
        inner = self._remainder(depth + 1, sent[child], final[child]) if _has(final, child) else None
        if inner is None:
            return None
        if isinstance(final, list):
            rest = "".join(f",{_dumps(item)}" for item in final[level.length :])
        else:
            rest = "".join(f",{_dumps(key)}:{_dumps(item)}" for key, item in final.items() if key not in level.keys)
        return inner + rest + level.closer

    def _leaf_remainder(self, sent: Any, final: Any) -> str | None:
        if self._open_path is None:
            return "" if _same(sent, final) else None
        if not isinstance(final, str) or not final.startswith(sent):
            return None
        return _dumps(final[len(sent) :])[1:]


def _has(container: Any, key: Any) -> bool:
    return key < len(container) if isinstance(container, list) else key in container


def _scalar(fragment: "PartialArg") -> str | None:
    if (number := fragment.number_value) is not None:
        return _dumps(integral(number))
    if (flag := fragment.bool_value) is not None:
        return _dumps(flag)
    return None if fragment.null_value is None else "null"


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


class RawText:
    """Builds the JSON text of a call's streamed arguments, for ``partial_args`` whose items have no JSON path. Each
    item is a piece of the JSON text.
    """

    def __init__(self) -> None:
        self._written: list[str] = []

    def write(self, fragment: "PartialArg") -> str:
        """Return the JSON text that this item of ``partial_args`` adds. An item with a JSON path adds nothing."""
        text = "" if fragment.json_path else fragment.string_value or ""
        self._written.append(text)
        return text

    def complete(self, arguments: dict[str, Any]) -> str | None:
        try:
            sent = json_value(orjson.loads("".join(self._written) or "{}"), lossy=True)
        except orjson.JSONDecodeError:
            return None
        return "" if _same(sent, arguments) else None

    def so_far(self) -> Any:
        return to_well_formed("".join(self._written))


class GrowingText:
    """Builds the JSON text of a call's streamed arguments, if each partial event contains all arguments so far in
    ``args``.

    Text at the end that may still change is held back: closing brackets and quotes, and a number.
    """

    def __init__(self) -> None:
        self._sent = ""
        self._latest: dict[str, Any] | None = None
        self._frozen = False

    def grows_to(self, arguments: dict[str, Any]) -> bool:
        """Return True if ``arguments`` only extend the arguments so far. For example, a number may only get more
        digits.
        """
        if self._latest is None:
            return True
        text = _dumps(self._latest).rstrip("]}")
        return _dumps(arguments).startswith(text.removesuffix('"'))

    def write(self, arguments: dict[str, Any], *, streaming: bool) -> str:
        """Return the JSON text that ``arguments`` add. ``arguments``: all arguments so far, as plain JSON.

        ``streaming``: False if no partial event follows. If the call comes in a single event, the result is empty.
        """
        first, self._latest = self._latest is None, arguments
        if self._frozen or (first and not streaming):
            return ""
        stable = _stable(arguments)
        if not stable.startswith(self._sent):
            # If the new text is a beginning of the sent text, later arguments may still extend the sent text.
            self._frozen = not self._sent.startswith(stable)
            return ""
        text = stable[len(self._sent) :]
        self._sent = stable
        return text

    def complete(self, arguments: dict[str, Any]) -> str | None:
        if not self._sent:
            return ""
        final = _canonical(arguments)
        return final[len(self._sent) :] if final.startswith(self._sent) else None

    def so_far(self) -> Any:
        return self._latest


def _canonical(arguments: dict[str, Any]) -> str:
    """Return JSON text in which equal numbers are written the same way. For example, both ``3.0`` and ``3`` become
    ``3``.
    """
    return _dumps(integral(_floats(arguments)))


def _stable(arguments: dict[str, Any]) -> str:
    """Return the beginning of the arguments' JSON text: the part that later arguments cannot change."""
    text = _canonical(arguments).rstrip("]}")
    if text.endswith('"'):
        return text[:-1]
    return text.rstrip(_NUMBER_CHARACTERS) if text[-1:].isdigit() else text
