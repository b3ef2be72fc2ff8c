"""What the code of agents calls: tools that run in the page, and an app's own data parts."""

import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from google.adk.agents.context import Context
from google.adk.events.ui_widget import UiWidget
from google.adk.tools import BaseTool, ToolContext
from google.genai import types

from stream_protocol.convert import DATA_WIDGET_PROVIDER
from stream_protocol.wire import json_value

NAME: Final = re.compile(r"(?!adk-)[A-Za-z0-9_-]+")


def client_tool(name: str, description: str, schema: Mapping[str, Any] | None = None) -> BaseTool:
    """Returns a tool that runs in the page: ``LlmAgent(tools=[client_tool(…)])``.

    Its call stays open until the page answers with ``addToolOutput``. The model reads that output, so treat it as user
    input. ``schema``: the JSON schema of the arguments, of type object; ``None`` for a tool without arguments. Raises
    ``ValueError`` for a schema of another type.
    """
    if schema is not None and schema.get("type") != "object":
        raise ValueError(f"the schema of the client tool `{name}` must be of type object, not {schema.get('type')!r}")
    return _ClientTool(name, description, schema)


class _ClientTool(BaseTool):
    def __init__(self, name: str, description: str, schema: Mapping[str, Any] | None) -> None:
        super().__init__(name=name, description=description, is_long_running=True)
        self._schema = None if schema is None else dict(schema)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> None:
        """Returns nothing: ADK leaves a long-running call without a result open."""


def emit_data(context: Context, name: str, data: Any, *, id: str | None = None) -> None:  # noqa: A002 - the part's key
    """Sends a part ``data-<name>`` to the page, from a tool or a callback, with the next event of the agent.

    The part is stored with that event, in ADK's own field for UI widgets, so history has it, too. A later call with the
    same name and ``id`` replaces the data of the part; without ``id`` each call makes a new part.

    Raises ``ValueError`` for a name with other characters than letters, digits, ``_`` and ``-``, for one that begins
    with ``adk-``, and for data that is not JSON.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"`name` must be letters, digits, `_` and `-`, and not begin with `adk-`: {name!r}")
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
