"""Helpers that an agent's module calls: ``client_tool``, for tools that the browser executes, and ``data_part``."""

import re
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, get_origin

from google.adk.tools import BaseTool, ToolContext
from google.genai import types
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from stream_protocol.stream import CONTROL_TOOLS
from stream_protocol.wire import (
    InvalidArgumentError,
    argument_error,
    check_mapping,
    check_pattern,
    check_text,
    check_texts,
    json_value,
    shown,
)

NAME: Final = re.compile(r"(?!adk-)[A-Za-z0-9_-]+")

TOOL_NAME: Final = re.compile(r"(?!adk_)[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Pattern of a client tool's name. The models of all providers accept such names, and no tool of ADK has one."""

T = TypeVar("T")


def client_tool(
    name: str,
    description: str,
    schema: Mapping[str, Any] | None = None,
    *,
    output_schema: Mapping[str, Any] | None = None,
) -> BaseTool:
    """Return a tool that the browser executes: ``LlmAgent(tools=[client_tool(…)])``.

    A call of the tool waits until the client sends the output with ``addToolOutput``. The model then reads this output.
    Do not trust the output: like user input, it may contain anything.

    ``name``: up to 64 letters, digits, ``_`` and ``-``. The first character must be a letter or ``_``. ``schema``: the
    JSON schema of the arguments, which must have the type object; ``None`` for a tool without arguments.
    ``output_schema``: the JSON schema of the output. The command ``adk-ui-stream types`` uses it for the TypeScript
    types. Outputs are not checked.

    Raises ``StreamProtocolError`` for an invalid name or schema.
    """
    return ClientTool(name, description, schema, output_schema)


class ClientTool(BaseTool):
    """The tool that ``client_tool`` returns."""

    def __init__(
        self, name: str, description: str, schema: Mapping[str, Any] | None, output_schema: Mapping[str, Any] | None
    ) -> None:
        expected = "up to 64 letters, digits, `_` and `-`, with a letter first and without `adk_`"
        check_pattern("name", name, TOOL_NAME, expected)
        if name in CONTROL_TOOLS:
            raise InvalidArgumentError(f"`name` must not be {shown(name)}, which is a tool of ADK itself.")
        check_text("description", description)
        _check_schema("schema", schema)
        _check_schema("output_schema", output_schema)
        if schema is not None and schema.get("type") != "object":
            text = f"the schema of the client tool `{name}` must be of type object, not {shown(schema.get('type'))}"
            raise InvalidArgumentError(f"`schema` cannot be used: {text}.")
        super().__init__(name=name, description=description, is_long_running=True)
        self._schema = None if schema is None else dict(schema)
        self.output_schema = output_schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> None:
        """Return no result. ADK then leaves the call without a response, because the tool is long-running."""


class DataPart(Generic[T]):
    """A data part that ``data_part`` declares. ``name``: the part's type without ``data-``. ``model``: the type of the
    data.
    """

    def __init__(self, name: str, model: type[T]) -> None:
        check_part_name(name)
        _check_model(model)
        self._adapter: Final = TypeAdapter(model)
        self.name: Final = name
        self.model: Final = model

    def to_json(self, data: object) -> Any:
        """Return the data as JSON, with the aliases of the model's fields as keys.

        Raises ``ValueError`` if the data does not match the model.
        """
        try:
            return self._adapter.dump_python(
                self._adapter.validate_python(data), mode="json", by_alias=True, warnings="error"
            )
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'data'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_context=False, include_input=False)
            )
        except PydanticSerializationError as error:  # an instance that was changed after its validation
            faults = " ".join(str(error).split())
        raise ValueError(f"the data of the part `{self.name}` is no {self.model.__name__}: {faults}")


def data_part(name: str, model: type[T]) -> DataPart[T]:
    """Declare a data part, which tools and callbacks of the app send with ``emit_data``.

    Pass the result to ``emit_data`` instead of a name. ``emit_data`` then checks the data against the model.

    ``model``: a pydantic model, a dataclass or a ``TypedDict``. Before Python 3.12, use the ``TypedDict`` of
    ``typing_extensions``. The command ``adk-ui-stream types`` writes the part's TypeScript type for the client. To be
    found by the command, the part must be a variable of a module that the agent imports: ``weather =
    data_part("weather", Weather)``.

    Raises ``StreamProtocolError`` for a name that ``emit_data`` refuses, and for a value that is not a model.
    """
    return DataPart(name, model)


def check_part_name(name: str) -> None:
    check_pattern("name", name, NAME, "letters, digits, `_` and `-`, without `adk-` at the beginning")


def _check_model(model: Any) -> None:
    expected = "a pydantic model, a dataclass or a TypedDict"
    if not isinstance(model, type) and get_origin(model) is None:
        raise argument_error("model", expected, model)
    try:
        TypeAdapter(model)
    except PydanticUserError as error:
        reason = error.message.partition(". ")[0].partition("\n")[0].rstrip(".")
        raise InvalidArgumentError(f"`model` must be {expected}, and {shown(model)} is not: {reason}.") from None


def _check_schema(name: str, schema: Any) -> None:
    is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
    if is_model or not isinstance(schema, Mapping | None):
        hint = f"give {schema.__name__}.model_json_schema()" if is_model else ""
        raise argument_error(name, "a JSON schema as a dictionary, or None", schema, hint)
    if schema is None:
        return
    check_mapping(name, schema)
    try:
        json_value(schema)
    except ValueError as error:
        raise InvalidArgumentError(f"`{name}` must be a JSON schema. {error}") from None
    check_mapping(f'{name}["properties"]', schema.get("properties", {}))
    check_texts(f'{name}["required"]', schema.get("required", ()))
