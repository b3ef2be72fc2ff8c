"""Which tool a nameless streamed call means, told by the JSON paths of its arguments."""

from collections.abc import Iterable, Mapping
from typing import Any

from stream_protocol.convert.arguments import parse_path


def fitting_tool(paths: Iterable[str], schemas: Mapping[str, Any]) -> str | None:
    """The one tool whose parameters have all these paths; ``None`` for none, several, or no paths at all."""
    tokens = [parse_path(path) for path in paths]
    if not tokens:
        return None
    fitting = [name for name, schema in schemas.items() if all(_has_path(schema, path) for path in tokens)]
    return fitting[0] if len(fitting) == 1 else None


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
