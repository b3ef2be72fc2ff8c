"""Checks answers against JSON schemas that a model wrote, in bounded time.

jsonschema-rs blocks the event loop during a check, so ``Budget`` limits the size of schemas and answers. Regular
expressions are checked in linear time. A check does not read files, and sends no requests.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError, ValidationErrorKind

from stream_protocol.session._schema_costs import UNEVALUATED, Budget, UnusableSchemaError, objects
from stream_protocol.wire import short_json

logger = logging.getLogger(__name__)

Path = tuple[str, ...]
"""The path of a field in an answer, as keys."""

_ALTERNATIVES: Final = ("anyOf", "oneOf")

_PATTERNS: Final = RegexOptions(size_limit=2**18, dfa_size_limit=2**16)
"""Options for regular expressions: linear time, and at most 256 KiB for a compiled pattern."""


def first_misfit(schema: Any, answer: Any, budget: Budget) -> Path | None:
    """Return the path of the answer's first field that does not match the schema. The path is empty if the function
    cannot tell which field is wrong. Returns ``None`` if all fields match.

    For an unusable schema, logs a warning and returns ``None``. Raises ``TooCostlyError`` for an answer that is too
    large to check.
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
    try:
        Budget().take_schema(schema)
        _validator(schema)
    except (UnusableSchemaError, ValidationError, ValueError):
        return False
    return True


def _validator(schema: Any) -> Draft202012Validator:
    """Return a validator for the schema. Raises ``ValidationError`` or ``ValueError`` if the schema is invalid."""
    return Draft202012Validator(
        schema,
        offline=True,  # otherwise it fetches references over HTTP, and opens them as files
        pattern_options=_PATTERNS,
        validate_formats=False,  # the standard makes formats optional
        mask="it",  # keeps the answer's value out of error messages
    )


def _place(schema: Any, answer: Any) -> Path:
    """Return the path of the answer's first field that does not match the schema. The path is empty if the function
    cannot tell which field is wrong.
    """
    if any(keyword in part for part in objects(schema) for keyword in _ALTERNATIVES):
        schema = _without_alternatives(schema)
    try:
        _validator(schema).validate(answer)
    except ValidationError as error:
        return tuple(map(str, (*error.instance_path, *_named(error.kind))))
    except ValueError:  # a reference to an alternative, which has a different place in the changed schema
        pass
    return ()


def _named(kind: ValidationErrorKind) -> list[Any]:
    """Return the path from the refused value to the field that the error names. Return an empty list if the error names
    no field.
    """
    match kind:
        case ValidationErrorKind.Required(property=name):
            return [name]
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            return list(names[:1])
        case ValidationErrorKind.UnevaluatedProperties(unexpected=names):
            return list(names[:1])
    return []


def _without_alternatives(schema: Any) -> Any:
    """Put each ``anyOf`` and ``oneOf`` of a schema inside two ``not`` keywords. Return the new schema, which accepts
    the same values.

    For nested ``anyOf`` and ``oneOf``, jsonschema-rs creates an error for each combination, which can take seconds. For
    ``not``, jsonschema-rs creates only one error. The keywords in ``UNEVALUATED`` are removed, because they have a
    different effect inside ``not``.
    """
    if isinstance(schema, list):
        return [_without_alternatives(item) for item in schema]
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
