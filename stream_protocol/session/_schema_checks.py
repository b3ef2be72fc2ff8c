"""Checks answers against JSON schemas that a model wrote, in bounded time.

jsonschema-rs judges, and holds the event loop meanwhile. So it gets no schema and no answer beyond the bounds of
``Budget``. It uses only its linear engine for regular expressions, and reads nothing from the network or from files.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError, ValidationErrorKind

from stream_protocol.session._schema_costs import UNEVALUATED, Budget, UnusableSchemaError, objects
from stream_protocol.wire import short_json

logger = logging.getLogger(__name__)

Path = tuple[str, ...]
"""The path of a field in an answer."""

_ALTERNATIVES: Final = ("anyOf", "oneOf")

_PATTERNS: Final = RegexOptions(size_limit=2**18, dfa_size_limit=2**16)
"""The engine of linear time, for programs of at most 256 KiB: ``^.{1,100}$`` fits, ``^.{1,200}$`` does not."""


def first_misfit(schema: Any, answer: Any, budget: Budget) -> Path | None:
    """The path of the first field that does not fit, empty for the answer itself; ``None`` if all fits.

    An answer whose schema cannot be used fits, with a line in the log. Raises ``TooCostlyError`` for an answer that is
    too large to be checked.
    """
    try:
        budget.take_schema(schema)
        budget.take_answer(schema, answer)
        if _validator(schema).is_valid(answer):
            return None
    except (UnusableSchemaError, ValidationError, ValueError) as error:
        reason = error.message if isinstance(error, ValidationError) else str(error)
        logger.warning(
            "An answer was not checked, as the schema of its question cannot be used: %s", short_json(reason)
        )
        return None
    return _place(schema, answer)


def is_usable(schema: Any) -> bool:
    """Return True if values can be checked against the schema."""
    try:
        Budget().take_schema(schema)
        _validator(schema)
    except (UnusableSchemaError, ValidationError, ValueError):
        return False
    return True


def _validator(schema: Any) -> Draft202012Validator:
    """Raises ``ValidationError`` or ``ValueError`` for a value that is not a schema."""
    return Draft202012Validator(
        schema,
        offline=True,  # else it fetches references over HTTP, and opens them as files
        pattern_options=_PATTERNS,
        validate_formats=False,  # the standard leaves that open
        mask="it",  # a message need not hold the whole answer
    )


def _place(schema: Any, answer: Any) -> Path:
    """The path of the first field that does not fit; empty if it is not known."""
    if any(keyword in one for one in objects(schema) for keyword in _ALTERNATIVES):
        schema = _without_alternatives(schema)
    try:
        _validator(schema).validate(answer)
    except ValidationError as error:
        return tuple(map(str, (*error.instance_path, *_named(error.kind))))
    except ValueError:  # a reference into an alternative
        pass
    return ()


def _named(kind: ValidationErrorKind) -> list[Any]:
    """The field within a value that an error is about."""
    match kind:
        case ValidationErrorKind.Required(property=name):
            return [name]
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            return list(names[:1])
        case ValidationErrorKind.UnevaluatedProperties(unexpected=names):
            return list(names[:1])
    return []


def _without_alternatives(schema: Any) -> Any:
    """The schema with each ``anyOf`` and ``oneOf`` behind two negations, which mean the same.

    jsonschema-rs makes an error for each alternative of each alternative, each with a copy of the value. That takes
    seconds for schemas that it judges within a millisecond. For ``not`` it makes a single error. Values that are judged
    behind ``not`` count as unevaluated, so keywords about unevaluated values are left out.
    """
    if isinstance(schema, list):
        return [_without_alternatives(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _without_alternatives(value) for key, value in schema.items() if key not in UNEVALUATED}
    moved = [
        {"not": {"not": {keyword: parts.pop(keyword)}}}
        for keyword in _ALTERNATIVES
        if isinstance(parts.get(keyword), list)
    ]
    if moved:
        others = parts.get("allOf")
        parts["allOf"] = [*(others if isinstance(others, list) else ()), *moved]
    return parts
