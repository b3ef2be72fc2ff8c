"""YAML text -> JSON values, for files that somebody else may have made."""

from typing import Any, Final

import yaml

from stream_protocol.recording.read._unreadable import RecordingError

MAX_DEPTH: Final = 200
"""Levels of nesting. libyaml's composer recurses in C, where too many levels end the process."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""A wheel of PyYAML for a rare platform may lack the C part."""


def parsed_yaml(text: bytes) -> Any:
    """The value of a document. Raises ``RecordingError`` with the line of what is wrong.

    Aliases are refused: ADK writes none, and a page of them can stand for more than a memory holds.
    """
    try:
        _check_nesting(text)
        return yaml.load(text, _LOADER)  # noqa: S506 - both are safe loaders
    except RecordingError:
        raise
    except yaml.MarkedYAMLError as error:
        raise RecordingError(f"line {_line(error)} is not YAML") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise RecordingError("not a text file") from None
    except ValueError:  # a date that there is not
        raise RecordingError("it has a value that YAML cannot read") from None


def _check_nesting(text: bytes) -> None:
    depth = 0
    for event in yaml.parse(text, _LOADER):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.AliasEvent):
            raise RecordingError(f"line {line} has a YAML alias, which no recording of ADK has")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise RecordingError(f"line {line} is nested too deeply")


def _line(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark is not None else 1
