"""Converts Python types to JSON schemas of the values that the client gets."""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from google.adk.events import Event
from google.adk.events.request_input import RequestInput
from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import is_typeddict, override

ANYTHING: Final = True
"""The JSON schema that allows any value."""


@dataclass(frozen=True)
class WireForm:
    """The JSON form of a tool's output. ``schema``: the JSON schema of the value.

    ``wrapped``: True if the value is sent as ``{"result": value}``, False if it is sent unchanged. ``None`` if this
    depends on the value: an object is sent unchanged, and any other value is wrapped. ``nested``: True if the value is
    sent inside the message of an agent that runs as a tool.
    """

    schema: Any
    wrapped: bool | None = False
    nested: bool = False


class _WireSchemas(GenerateJsonSchema):
    """Generator for JSON schemas of serialized values. A field that has a default is required in the schema, because
    pydantic always writes the field.
    """

    @override
    def field_is_required(
        self, field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField, total: bool
    ) -> bool:
        if field["type"] == "typed-dict-field":
            return super().field_is_required(field, total)
        return field.get("serialization_exclude_if") is None

    @override
    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        """Return the schema of a duration. A duration in a pydantic model is sent as a text. Any other duration is sent
        as a number of seconds.
        """
        return {"type": ["string", "number"]}


def schema_of(annotation: Any, *, by_alias: bool = True) -> Any:
    """Return the JSON schema for the serialized values of a Python type. Return ``ANYTHING`` if pydantic has no schema
    for the type.
    """
    try:
        # The type is put into a list, so that pydantic gives it a name and a reference.
        schema = TypeAdapter(list[annotation]).json_schema(
            mode="serialization", by_alias=by_alias, schema_generator=_WireSchemas
        )
    except (PydanticUserError, PydanticSchemaGenerationError, NameError):
        return ANYTHING
    return {**schema["items"], "$defs": schema.get("$defs", {})}


def returned(function: Callable[..., Any]) -> tuple[WireForm, ...]:
    """Return the JSON forms that the result of a function can have when ADK sends it. They come from the function's
    return annotation.
    """
    annotation = _return_annotation(function)
    origin = get_origin(annotation)
    if origin in (
        collections.abc.Generator,
        collections.abc.AsyncGenerator,
        collections.abc.Iterator,
        collections.abc.AsyncIterator,
    ):
        return tuple(_yielded(list(_members(get_args(annotation)[0]))))
    return tuple(_sent(member) for member in _members(annotation))


def _yielded(members: list[Any]) -> Iterator[WireForm]:
    """Yield the JSON forms of a generator tool's outputs.

    ADK sends each yielded value as an output. It then sends the last value again, as the result. ADK converts a
    pydantic model to a dictionary with field names, not aliases.
    """
    for member in members:
        if isinstance(member, type) and issubclass(member, (Event, RequestInput)):
            yield WireForm(ANYTHING)  # the event's data is unknown
        else:
            yield WireForm(schema_of(member, by_alias=False))
            if not _is_model(member):
                yield _sent(member)


def _sent(annotation: Any) -> WireForm:
    if annotation in (Any, object, inspect.Signature.empty):
        return WireForm(ANYTHING)
    return WireForm(schema_of(annotation), wrapped=not _is_dictionary(annotation))


def agent_output(output_schema: Any) -> WireForm:
    """Return the JSON form of an agent's reply. ``output_schema``: ``None`` if the agent returns text."""
    if output_schema is None:
        return WireForm({"type": "string"}, wrapped=True)
    if isinstance(output_schema, dict):
        return WireForm(output_schema, wrapped=None)
    schema = schema_of(output_schema, by_alias=False)
    return WireForm(_without_none(schema), wrapped=None)


def _without_none(schema: Any) -> Any:
    """Return the schema, and make each nullable key an optional key, because ADK omits keys whose value is null."""
    match schema:
        case {"properties": dict(properties), "required": list(required)}:
            present = [name for name in required if {"type": "null"} not in properties[name].get("anyOf", ())]
            return {**schema, "properties": _without_none(properties), "required": present}
        case dict():
            return {key: _without_none(value) for key, value in schema.items()}
        case list():
            return [_without_none(item) for item in schema]
    return schema


def _return_annotation(function: Callable[..., Any]) -> Any:
    try:
        annotation = inspect.signature(function).return_annotation
        unwrapped = inspect.unwrap(getattr(function, "func", function))
        hints = get_type_hints(
            unwrapped if inspect.isroutine(unwrapped) else type(unwrapped).__call__, include_extras=True
        )
    except (TypeError, ValueError, NameError, AttributeError):
        return Any
    return hints.get("return", Any) if annotation is not inspect.Signature.empty else Any


def _members(annotation: Any) -> Iterator[Any]:
    plain = _plain(annotation)
    if get_origin(plain) in (Union, UnionType):
        for member in get_args(plain):
            yield from _members(member)
    else:
        yield annotation


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _is_dictionary(annotation: Any) -> bool:
    plain = _plain(annotation)
    kind = get_origin(plain) or plain
    return is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, collections.abc.Mapping))


def _is_model(annotation: Any) -> bool:
    return _is_dictionary(annotation) or (isinstance(annotation, type) and issubclass(annotation, BaseModel))
