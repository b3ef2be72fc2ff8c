"""Parses JSON and YAML from untrusted files, and reads fields of ADK's JSON."""

import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field as field_of_dataclass
from typing import Any, Final, TypeAlias

import yaml

from stream_protocol.recording.read._records import RecordingError
from stream_protocol.wire import short_json

MAX_YAML_DEPTH: Final = 200
"""Maximum number of nesting levels in YAML. libyaml recurses in C, so that more levels could crash the process."""

ItemLines: TypeAlias = Mapping[tuple[str, int], int]
"""(key of a list in the document, index of an item) -> first line of the item. The key is empty if the document is the
list."""

_BAD_VALUES: Final = (ValueError, LookupError, AttributeError)
"""Errors that PyYAML raises if a text does not fit its tag, such as ``!!int x``."""


# The YAML loader decides which plain texts are numbers, booleans and null. PyYAML reads YAML 1.1, where `yes`,
# `12:30:00`, `=` and a date are not texts. So such a text is lost if it has no quotes. A number in base 60 also needs
# quadratic time. In YAML 1.2, all these are texts. This loader reads them as texts, too. For ADK's files, both versions
# give the same values, because ADK writes such texts in quotes.

_TAG: Final = "tag:yaml.org,2002:"

_CORE: Final = re.compile(
    r"~|null|Null|NULL|"  # or the text is empty
    r"|true|True|TRUE|false|False|FALSE"
    r"|[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)"
    r"|[-+]?[0-9]*\.[0-9]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""Pattern for values of YAML 1.2's core schema that are also values in YAML 1.1."""

_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader based on libyaml, or the Python loader if PyYAML was built without libyaml."""


def _resolve(loader: Any, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
    """Return the YAML tag of a node that has no explicit tag."""
    tag = _BASE.resolve(loader, kind, value, implicit)
    is_other = kind is yaml.ScalarNode and implicit[0] and not _CORE.fullmatch(value)
    return _TAG + "str" if is_other else tag


def _construct_int(loader: Any, node: yaml.Node) -> int:
    return int(loader.construct_scalar(node), base=0)


def _construct_float(loader: Any, node: yaml.Node) -> float:
    text = loader.construct_scalar(node).lower()
    match text.lstrip("+-"):
        case ".inf":
            return -math.inf if text.startswith("-") else math.inf
        case ".nan":
            return math.nan
    return float(text)


LOADER: Final[Any] = type("Loader", (_BASE,), {"resolve": _resolve})
"""A safe YAML loader, which creates only plain values."""
LOADER.add_constructor(_TAG + "int", _construct_int)
LOADER.add_constructor(_TAG + "float", _construct_float)


def parse_json_text(text: bytes, first_line: int = 1, first_column: int = 1) -> Any:
    """Parse JSON text. Raises ``RecordingError`` with the line and the column of the error in the file.

    ``first_line`` and ``first_column``: the position of the text in the file.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        column = error.colno + (first_column - 1 if error.lineno == 1 else 0)
        raise RecordingError(f"line {first_line + error.lineno - 1}, column {column} is not JSON") from None
    except UnicodeDecodeError as error:
        raise RecordingError(f"{place_of_byte(text, error.start, first_line)} is not UTF-8") from None
    except RecursionError:
        where = f"line {first_line}" if b"\n" not in text.strip() else "it"
        raise RecordingError(f"{where} is nested too deeply") from None
    except ValueError:
        digits = re.search(rb"\d{%d,}" % (sys.get_int_max_str_digits() + 1), text)
        where = place_of_byte(text, digits.start() if digits is not None else 0, first_line)
        raise RecordingError(f"{where} has a number that is too long") from None


def parse_yaml_text(text: bytes) -> tuple[Any, ItemLines]:
    """Parse a YAML document. Return its value, and the line numbers of list items.

    Raises ``RecordingError`` with the line and the column of the error. Repeated keys are refused. Aliases are also
    refused, because a small document with aliases could fill the memory.
    """
    try:
        text.decode()
        lines = _scan(text)
        return yaml.load(text, LOADER), lines  # noqa: S506 - a safe loader
    except RecordingError:
        raise
    except yaml.MarkedYAMLError as error:
        raise RecordingError(_why_no_yaml(error)) from None
    except UnicodeDecodeError as error:
        raise RecordingError(f"{place_of_byte(text, error.start)} is not UTF-8") from None
    except yaml.reader.ReaderError as error:
        raise RecordingError(f"{place_of_byte(text, error.position)} has a character that YAML forbids") from None
    except _BAD_VALUES:
        raise RecordingError(f"{_unreadable_value(text)} has a value that YAML cannot read") from None


def _why_no_yaml(error: yaml.MarkedYAMLError) -> str:
    """Return an error text for invalid YAML, with the position of the error."""
    place = _place(error.problem_mark or error.context_mark)
    if isinstance(error, yaml.composer.ComposerError):
        return f"{place} begins a second YAML document"  # the other composer error, an alias, was refused before
    if not isinstance(error, yaml.constructor.ConstructorError):
        return f"{place} is not YAML"
    problem = error.problem or ""
    if problem.startswith("could not determine a constructor"):
        return f"{place} has a YAML tag that is not read"
    return f"{place} has a " + ("key that is no text" if "unhashable" in problem else "value that YAML cannot read")


def field(value: Any, name: str) -> Any:
    """Return the value of a field in a JSON object; ``None`` if the field is missing. ``name``: the name in snake_case.
    The field in the object may also be in camelCase.
    """
    if not isinstance(value, dict):
        return None
    head, *words = name.split("_")
    return value.get(name, value.get(head + "".join(map(str.capitalize, words))))


def list_field(value: Any, name: str) -> list[Any]:
    """Return the list in a field of a JSON object (see ``field``); empty if there is no list."""
    found = field(value, name)
    return found if isinstance(found, list) else []


def event_time(event: Any) -> float | None:
    """Return the timestamp of an event, in seconds since 1970; ``None`` if the event has no timestamp."""
    return seconds(field(event, "timestamp"))


def seconds(value: Any) -> float | None:
    """Return a time from a file as a number; ``None`` if the value is not a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer that is too large for a float
        return None


@dataclass(slots=True)
class _Collection:
    """A list or mapping of a YAML document that the scan has entered and not yet left."""

    is_list: bool
    count: int = 0
    """The number of nodes found in the collection. In a mapping, keys and values both count."""
    key: str = ""
    """The newest key of a mapping."""
    keys: set[str] = field_of_dataclass(default_factory=set)


def _scan(text: bytes) -> ItemLines:
    """Return the line numbers of list items in a YAML text, without building values.

    Refuses aliases, repeated keys and deep nesting.
    """
    lines: dict[tuple[str, int], int] = {}
    open_collections: list[_Collection] = []
    for event in yaml.parse(text, LOADER):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.AliasEvent):
            raise RecordingError(f"line {line} has a YAML alias, which no recording of ADK has")
        if isinstance(event, yaml.CollectionEndEvent):
            open_collections.pop()
        elif isinstance(event, yaml.NodeEvent):
            if open_collections:
                _count_node(event, line, open_collections, lines)
            if isinstance(event, yaml.CollectionStartEvent):
                open_collections.append(_Collection(isinstance(event, yaml.SequenceStartEvent)))
        if len(open_collections) > MAX_YAML_DEPTH:
            raise RecordingError(f"line {line} is nested too deeply")
    return lines


def _count_node(event: Any, line: int, parents: list[_Collection], lines: dict[tuple[str, int], int]) -> None:
    parent = parents[-1]
    if parent.is_list and len(parents) <= 2 and not (len(parents) == 2 and parents[0].is_list):
        lines[parents[0].key, parent.count] = line
    elif not parent.is_list and parent.count % 2 == 0:
        parent.key = event.value if isinstance(event, yaml.ScalarEvent) else ""
        if isinstance(event, yaml.ScalarEvent):
            if parent.key in parent.keys:
                raise RecordingError(f"{_place(event.start_mark)} repeats the key {short_json(parent.key)}")
            parent.keys.add(parent.key)
    parent.count += 1


def _unreadable_value(text: bytes) -> str:
    """Return the position of the first YAML value that the parser cannot convert to a Python object."""
    loader = LOADER(text)
    nodes: list[Any] = [loader.get_single_node()]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.ScalarNode):
            try:
                loader.construct_object(node)
            except _BAD_VALUES:
                return _place(node.start_mark)
        elif isinstance(node, yaml.MappingNode):
            nodes.extend(child for pair in reversed(node.value) for child in reversed(pair))
        else:
            nodes.extend(reversed(node.value))
    return "it"


def place_of_byte(text: bytes, position: int, first_line: int = 1) -> str:
    """Return the line and the column of a byte, for an error message. ``first_line``: the line at which ``text``
    begins."""
    lines = text[:position].split(b"\n")
    return f"line {first_line + len(lines) - 1}, column {len(lines[-1].decode(errors='replace')) + 1}"


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else "line 1"
