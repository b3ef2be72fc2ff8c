"""Parse an incomplete JSON text, such as the streamed input of a tool call, as the AI SDK's client does.

The text is cut after the last usable character, and the missing ends of strings, arrays and objects are added. Then the
result is parsed. Mirrors ``util/fix-json.ts`` and ``util/parse-partial-json.ts`` of ``vercel/ai``, read at
``ai@6.0.326`` and ``ai@7.0.173``. Other parsers of partial JSON return other values than the client.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from stream_protocol.wire._chunks import AiSdkVersion
from stream_protocol.wire._json_parsing import parse_client_json

_State = Literal[
    "root",
    "finish",
    "string",
    "escape",
    "unicode escape",
    "literal",
    "number",
    "object start",
    "object key",
    "object after key",
    "object before value",
    "object after value",
    "object after comma",
    "array start",
    "array after value",
    "array after comma",
]

_LITERALS: Final = ("true", "false", "null")
_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


def parse_partial_json(text: str, *, ai_sdk: AiSdkVersion) -> Any:
    """Return the value that the client shows for an incomplete JSON text. Raises ``ValueError`` if the client shows no
    value.
    """
    try:
        return parse_client_json(text)
    except ValueError:
        return parse_client_json(repair_json(text, ai_sdk=ai_sdk))


def repair_json(text: str, *, ai_sdk: AiSdkVersion) -> str:
    """Return a complete JSON text: cut after the last usable character, with all strings, arrays and objects closed."""
    scan = _Scan(text, ai_sdk=ai_sdk)
    for index, char in enumerate(text):
        _STEPS[scan.stack[-1]](scan, char, index)
    return scan.closed()


class _Scan:
    def __init__(self, text: str, *, ai_sdk: AiSdkVersion) -> None:
        self.text = text
        self.stack: list[_State] = ["root"]
        self.end = 0
        self.literal_start = 0
        self.hex_digits = 0
        # ai@6 keeps any first character after "["; ai@7 keeps it only if it begins a value
        self.keeps_array_start = ai_sdk == 6

    def closed(self) -> str:
        closing = ""
        for state in reversed(self.stack):
            if state == "string":
                closing += '"'
            elif state.startswith("object"):
                closing += "}"
            elif state.startswith("array"):
                closing += "]"
            elif state == "literal":
                begun = self.text[self.literal_start :]
                closing += next(word for word in _LITERALS if word.startswith(begun)).removeprefix(begun)
        return self.text[: self.end] + closing

    def begin_value(self, char: str, index: int, after: _State) -> None:
        """Begin a value, if a value can begin with this character. ``after``: the state of the scan after the value, in
        the surrounding array or object.
        """
        inner: _State
        match char:
            case '"':
                inner = "string"
            case "f" | "t" | "n":
                inner = "literal"
                self.literal_start = index
            case "{":
                inner = "object start"
            case "[":
                inner = "array start"
            case "-" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
                inner = "number"
            case _:
                return
        if char != "-":
            self.end = index + 1
        self.stack[-1] = after
        self.stack.append(inner)

    def end_value(self, index: int) -> None:
        self.end = index + 1
        self.stack.pop()

    def root(self, char: str, index: int) -> None:
        self.begin_value(char, index, "finish")

    def finish(self, char: str, index: int) -> None:
        """Do nothing for a character after the end of the whole JSON value."""

    def string(self, char: str, index: int) -> None:
        if char == '"':
            self.end_value(index)
        elif char == "\\":
            self.stack.append("escape")
        else:
            self.end = index + 1

    def escape(self, char: str, index: int) -> None:
        if char == "u":
            self.hex_digits = 0
            self.stack[-1] = "unicode escape"
        else:
            self.end_value(index)

    def unicode_escape(self, char: str, index: int) -> None:
        self.hex_digits += char in _HEX_DIGITS
        if self.hex_digits == 4:
            self.end_value(index)

    def literal(self, char: str, index: int) -> None:
        begun = self.text[self.literal_start : index + 1]
        if any(word.startswith(begun) for word in _LITERALS):
            self.end = index + 1
        else:
            self.stack.pop()
            self.after_scalar(char, index)

    def number(self, char: str, index: int) -> None:
        if char in "0123456789":
            self.end = index + 1
        elif char not in "eE-.":
            self.stack.pop()
            self.after_scalar(char, index)

    def after_scalar(self, char: str, index: int) -> None:
        """Handle the character after a number or a literal such as ``true``."""
        if self.stack[-1] == "object after value":
            self.object_after_value(char, index)
        elif self.stack[-1] == "array after value" and char in ",]":
            self.array_after_value(char, index)

    def object_start(self, char: str, index: int) -> None:
        if char == "}":
            self.end_value(index)
        else:
            self.object_after_comma(char, index)

    def object_after_comma(self, char: str, index: int) -> None:
        if char == '"':
            self.stack[-1] = "object key"

    def object_key(self, char: str, index: int) -> None:
        if char == '"':
            self.stack[-1] = "object after key"

    def object_after_key(self, char: str, index: int) -> None:
        if char == ":":
            self.stack[-1] = "object before value"

    def object_before_value(self, char: str, index: int) -> None:
        self.begin_value(char, index, "object after value")

    def object_after_value(self, char: str, index: int) -> None:
        if char == ",":
            self.stack[-1] = "object after comma"
        elif char == "}":
            self.end_value(index)

    def array_start(self, char: str, index: int) -> None:
        if char == "]":
            self.end_value(index)
            return
        if self.keeps_array_start:
            self.end = index + 1
        self.begin_value(char, index, "array after value")

    def array_after_value(self, char: str, index: int) -> None:
        if char == ",":
            self.stack[-1] = "array after comma"
        elif char == "]":
            self.end_value(index)
        else:
            self.end = index + 1

    def array_after_comma(self, char: str, index: int) -> None:
        self.begin_value(char, index, "array after value")


_STEPS: Final[Mapping[_State, Callable[[_Scan, str, int], None]]] = MappingProxyType(
    {
        "root": _Scan.root,
        "finish": _Scan.finish,
        "string": _Scan.string,
        "escape": _Scan.escape,
        "unicode escape": _Scan.unicode_escape,
        "literal": _Scan.literal,
        "number": _Scan.number,
        "object start": _Scan.object_start,
        "object key": _Scan.object_key,
        "object after key": _Scan.object_after_key,
        "object before value": _Scan.object_before_value,
        "object after value": _Scan.object_after_value,
        "object after comma": _Scan.object_after_comma,
        "array start": _Scan.array_start,
        "array after value": _Scan.array_after_value,
        "array after comma": _Scan.array_after_comma,
    }
)
