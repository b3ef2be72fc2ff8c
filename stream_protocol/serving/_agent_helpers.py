"""What the code of agents calls: tools that run in the page, and an app's own data parts."""

import re
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, overload
from uuid import uuid4

from google.adk.agents.context import Context
from google.adk.events.ui_widget import UiWidget
from google.adk.tools import BaseTool, ToolContext
from google.genai import types
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from stream_protocol.convert import DATA_WIDGET_PROVIDER
from stream_protocol.wire import json_value

NAME: Final = re.compile(r"(?!adk-)[A-Za-z0-9_-]+")

T = TypeVar("T")


def client_tool(
    name: str,
    description: str,
    schema: Mapping[str, Any] | None = None,
    *,
    output_schema: Mapping[str, Any] | None = None,
) -> BaseTool:
    """Returns a tool that runs in the page: ``LlmAgent(tools=[client_tool(…)])``.

    Its call stays open until the page answers with ``addToolOutput``. The model reads that output, so treat it as user
    input. ``schema``: the JSON schema of the arguments, of type object; ``None`` for a tool without arguments. Raises
    ``ValueError`` for a schema of another type. ``output_schema``: the JSON schema of the output, for the page's own
    types (``adk-ui-stream types``); what a page sends is not held against it.
    """
    if schema is not None and schema.get("type") != "object":
        raise ValueError(f"the schema of the client tool `{name}` must be of type object, not {schema.get('type')!r}")
    return ClientTool(name, description, schema, output_schema)


class ClientTool(BaseTool):
    """What ``client_tool`` returns."""

    def __init__(
        self, name: str, description: str, schema: Mapping[str, Any] | None, output_schema: Mapping[str, Any] | None
    ) -> None:
        super().__init__(name=name, description=description, is_long_running=True)
        self._schema = None if schema is None else dict(schema)
        self.output_schema = output_schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> None:
        """Returns nothing: ADK leaves a long-running call without a result open."""


class DataPart(Generic[T]):
    """What ``data_part`` returns: ``name`` without ``data-``, and the ``model`` of its data."""

    def __init__(self, name: str, model: type[T]) -> None:
        _check_name(name)
        self.name: Final = name
        self.model: Final = model
        self._adapter: Final = TypeAdapter(model)

    def to_json(self, data: object) -> Any:
        """The data as JSON, by the aliases of the model. Raises ``ValueError`` for data that is not of the model."""
        try:
            return self._adapter.dump_python(
                self._adapter.validate_python(data), mode="json", by_alias=True, warnings="error"
            )
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'data'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_context=False, include_input=False)
            )
        except PydanticSerializationError as error:  # an object of the model that was changed after it was made
            faults = " ".join(str(error).split())
        raise ValueError(f"the data of the part `{self.name}` is no {self.model.__name__}: {faults}")


def data_part(name: str, model: type[T]) -> DataPart[T]:
    """Declares a data part of the app, which ``emit_data`` checks: it takes the part in place of a name.

    ``model``: a pydantic model, a dataclass or a ``TypedDict`` (of ``typing_extensions`` before Python 3.12).
    ``adk-ui-stream types`` writes its type for the page, where the part is a name in a module that the agent imports:
    ``weather = data_part("weather", Weather)``. Raises ``ValueError`` for a name that ``emit_data`` refuses.
    """
    return DataPart(name, model)


@overload
def emit_data(
    context: Context,
    name: DataPart[T],
    data: T | Mapping[str, Any],
    *,
    id: str | None = None,
) -> None: ...
@overload
def emit_data(context: Context, name: str, data: Any, *, id: str | None = None) -> None: ...
def emit_data(
    context: Context,
    name: str | DataPart[Any],
    data: Any,
    *,
    id: str | None = None,  # noqa: A002 - the part's key
) -> None:
    """Sends a part ``data-<name>`` to the page, from a tool or a callback, with the next event of the agent.

    ``name``: a name, or what ``data_part`` declared, whose model the data must fit. The part is stored with that event,
    in ADK's own field for UI widgets, so history has it, too. A later call with the same name and ``id`` replaces the
    data of the part; without ``id`` each call makes a new part.

    Raises ``ValueError`` for a name with other characters than letters, digits, ``_`` and ``-``, for one that begins
    with ``adk-``, for data that is not JSON, and for data that is not of the part's model.
    """
    if isinstance(name, DataPart):
        data = name.to_json(data)
        name = name.name
    else:
        _check_name(name)
    payload: dict[str, Any] = {"name": name, "data": json_value(data)}
    if id is not None:
        payload["id"] = id
    widget_id = f"{name}:{id}" if id is not None else str(uuid4())
    # ADK refuses a second widget of the same id in one event; here it replaces the first.
    widgets = context.actions.render_ui_widgets or []
    context.actions.render_ui_widgets = [widget for widget in widgets if widget.id != widget_id]
    context.render_ui_widget(UiWidget(id=widget_id, provider=DATA_WIDGET_PROVIDER, payload=payload))
    # After an agent callback without a result, ADK yields an event only for a changed state. It stores no `temp:` keys.
    context.state["temp:adk_ui_stream"] = True


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(f"`name` must be letters, digits, `_` and `-`, and not begin with `adk-`: {name!r}")
