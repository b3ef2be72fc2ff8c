"""Parses JSON and YAML from files that somebody else may have made, and reads fields of what ADK wrote."""

import json
from typing import Any, Final

import yaml

from stream_protocol.recording.read._records import RecordingError

MAX_YAML_DEPTH: Final = 200
"""Levels of nesting. libyaml's composer recurses in C, where too many levels crash the process."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML has no C loader where libyaml was missing when it was built."""


def parse_json_text(text: bytes, first_line: int = 1) -> Any:
    """Returns the JSON value of a text. ``first_line``: the number of its first line in the file.

    Raises ``RecordingError`` with the line of the mistake.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordingError(f"line {first_line + error.lineno - 1} is not JSON") from None
    except UnicodeDecodeError:
        raise RecordingError("not a text file") from None
    except RecursionError:
        raise RecordingError(f"line {first_line} is nested too deeply") from None
    except ValueError:  # an integer with thousands of digits
        raise RecordingError(f"line {first_line} has a number that is too long") from None


def parse_yaml_text(text: bytes) -> Any:
    """Returns the value of a YAML document. Raises ``RecordingError`` with the line of the mistake.

    Aliases are refused: ADK writes none, and a small document with aliases can fill the memory.
    """
    try:
        _check_nesting(text)
        return yaml.load(text, _LOADER)  # noqa: S506 - both are safe loaders
    except RecordingError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise RecordingError(f"line {mark.line + 1 if mark is not None else 1} is not YAML") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise RecordingError("not a text file") from None
    except ValueError:  # a date that does not exist
        raise RecordingError("it has a value that YAML cannot read") from None


def field(value: Any, name: str) -> Any:
    """Returns a field of a JSON object. ``name``: in snake_case; camelCase is tried, too. ``None`` if there is none."""
    if not isinstance(value, dict):
        return None
    head, *words = name.split("_")
    return value.get(name, value.get(head + "".join(map(str.capitalize, words))))


def event_time(event: Any) -> float | None:
    """The event's timestamp in seconds since 1970; ``None`` if it has none."""
    at = field(event, "timestamp")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None


def _check_nesting(text: bytes) -> None:
    depth = 0
    for event in yaml.parse(text, _LOADER):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.AliasEvent):
            raise RecordingError(f"line {line} has a YAML alias, which no recording of ADK has")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_YAML_DEPTH:
            raise RecordingError(f"line {line} is nested too deeply")
