"""Finds the tool of a streamed call without a name by the JSON paths of its arguments."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stream_protocol.stream.calls._streamed_arguments import parse_path


def fitting_tools(paths: Iterable[str], schemas: Mapping[str, Any], *, among: Collection[str]) -> list[str]:
    """Those of the tools ``among`` whose parameters have all the paths. ``schemas``: tool name -> JSON schema."""
    tokens = [parse_path(path) for path in paths]
    return [name for name in among if all(_has_path(schemas[name], path) for path in tokens)]


def _has_path(schema: Any, path: tuple[str | int, ...]) -> bool:
    for token in path:
        match schema:
            case {"properties": {**properties}} if token in properties:
                schema = properties[token]
            case {"items": items} if isinstance(token, int):
                schema = items
            case _:
                return False
    return True
