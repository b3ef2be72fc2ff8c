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
    """A tool for ``LlmAgent(tools=[…])`` without a body: its call waits until the page gives the output.

    ``schema`` is the JSON schema of its arguments, an object; ``None`` for a tool without any. The output that the page
    gives is what the model reads, so treat it as user input. Raises ``ValueError`` for a schema that is no object's.
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
        """Nothing: ADK leaves a long-running call without a response open."""


def emit_data(context: Context, name: str, data: Any, *, id: str | None = None) -> None:  # noqa: A002 - the part's key
    """Sends a part ``data-<name>`` along with what the tool or callback returns.

    It travels, and is stored, in ADK's own channel for UI widgets: history has it too. The same name and ``id``, now or
    in a later call, replaces the part's data; without ``id`` each call is a part of its own.

    Raises ``ValueError`` for a name that no part can have or that begins with ``adk-``, and for data beyond JSON.
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
    # An agent callback that returns nothing gets an event only for a changed state; `temp:` keys are never stored.
    context.state["temp:adk_ui_stream"] = True
