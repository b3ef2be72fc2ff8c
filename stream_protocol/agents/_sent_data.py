"""Functions with which tools and callbacks send data to the client during a run."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload
from uuid import uuid4

from google.adk.agents.context import Context
from google.adk.events import Event, EventActions
from google.adk.events.ui_widget import UiWidget

from stream_protocol.adk import POSTED_WIDGETS, running_call
from stream_protocol.agents._agent_helpers import DataPart, check_part_name
from stream_protocol.agents._run_channel import CallScope, posted_event, scope_of
from stream_protocol.stream import DATA_WIDGET_PROVIDER, PROGRESS_PART
from stream_protocol.wire import InvalidArgumentError, argument_error, check_flag, check_text, json_value

if TYPE_CHECKING:
    from google.adk.tools.mcp_tool.mcp_tool import ProgressFnT  # its import needs the extra

T = TypeVar("T")

MAX_MESSAGE: Final = 500
"""Maximum number of characters in a progress message. Messages are stored, and may come from a foreign MCP server."""

_STORING: Final = Lock()
"""Lock for storing UI widgets, because several threads may store widgets for one ``AgentTool`` call."""


@overload
def emit_data(
    context: Context,
    name: DataPart[T],
    data: T | Mapping[str, Any],
    *,
    id: str | None = None,
    transient: bool = False,
) -> None: ...
@overload
def emit_data(context: Context, name: str, data: Any, *, id: str | None = None, transient: bool = False) -> None: ...
def emit_data(
    context: Context,
    name: str | DataPart[Any],
    data: Any,
    *,
    id: str | None = None,  # noqa: A002 - the key in the part
    transient: bool = False,
) -> None:
    """Send a part ``data-<name>`` to the client. Any thread may call ``emit_data``.

    A part that a tool emits is sent immediately. A part that a callback emits is sent with the agent's next event.

    ``name``: a name, or the result of ``data_part``. With the result of ``data_part``, the data must match the part's
    model. A second call with an equal name and ``id`` replaces the data of the part. Without ``id``, each call creates
    a new part.

    ADK stores the part as a UI widget in the event of the tool or callback. So the part is in the chat's history. If an
    agent inside an ``AgentTool`` emits a part, the part belongs to this agent's message. If the client does not see
    this message, the part is stored with the event of the ``AgentTool``. If you use no ``ChatService``, the part is not
    sent immediately, but with the event.

    ``transient``: True to only send the part, and not store it. In the AI SDK, only the callback ``onData`` gets a
    transient part. Without a ``ChatService``, a transient part is dropped.

    A name has only letters, digits, ``_`` and ``-``, and does not begin with ``adk-``. Raises ``StreamProtocolError``
    for any other name. Raises ``ValueError`` if the data is not JSON or does not match the part's model.
    """
    _check_context("context", context, "the context of a tool or a callback")
    check_text("id", id, or_none=True)
    check_flag("transient", transient)
    if isinstance(name, DataPart):
        data = name.to_json(data)
        name = name.name
    else:
        check_part_name(name)
    payload: dict[str, Any] = {"name": name, "data": json_value(data)}
    if id is not None:
        payload["id"] = id
    if transient:
        payload["transient"] = True
    widget = _widget(f"{name}:{id}" if id is not None else str(uuid4()), payload)
    scope = scope_of(context)
    storing = context if scope is None else scope.shown or context
    if not transient:
        _store(storing, widget)
    if scope is not None and (transient or storing.function_call_id):
        scope.channel.post(_posted(storing, widget))


def report_progress(
    tool_context: Context, progress: float, total: float | None = None, message: str | None = None
) -> None:
    """Show the progress of a tool call to the user. Any thread may call this function, as often as needed.

    ``progress``: a number that increases. ``total``: the final value of ``progress``, if known. ``message``: a text
    about the current work of the tool, of up to 500 characters. A longer text is truncated.

    The client gets a part ``data-adk-progress`` with the id of the tool call. If you report more often than a few times
    per second, some reports are not sent. The last report is always sent, and is stored with the tool's event. If an
    agent inside an ``AgentTool`` called the tool, the report appears in the message of this agent. If the client does
    not see this message, the report has the id of the ``AgentTool`` call.

    Raises ``StreamProtocolError`` if the context does not belong to a tool call, or if a number is negative or not
    finite.
    """
    _check_context("tool_context", tool_context, "the context of a tool")
    data = _progress_data(progress, total, message)
    send = _progress_sender(tool_context)
    if send is None:
        raise argument_error("tool_context", "the context of a tool", tool_context)
    send(data)


def mcp_progress(
    tool_name: str,
    *,
    callback_context: Context | None = None,
    **_: Any,
) -> "ProgressFnT | None":
    """Show the progress of an MCP server's tools: ``McpToolset(…, progress_callback=mcp_progress)``.

    ADK calls this function for each call of a tool. The client then gets the progress notifications of the MCP server
    as parts ``data-adk-progress``, like those of ``report_progress``. Returns ``None`` outside a tool call. Raises
    ``StreamProtocolError`` for arguments of wrong types.
    """
    check_text("tool_name", tool_name)
    if callback_context is None:
        return None
    _check_context("callback_context", callback_context, "the context of a tool")
    send = _progress_sender(callback_context)
    if send is None:
        return None

    async def on_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
        with suppress(InvalidArgumentError):  # a server may send anything
            send(_progress_data(progress, total, message))

    return on_progress


def _progress_data(progress: float, total: float | None, message: str | None) -> dict[str, Any]:
    _check_number("progress", progress)
    if total is not None:
        _check_number("total", total)
    check_text("message", message, or_none=True)
    if message is not None and len(message) > MAX_MESSAGE:
        message = f"{message[: MAX_MESSAGE - 1]}…"
    data = {"progress": progress, "total": total, "message": message}
    return {key: json_value(value) for key, value in data.items() if value is not None}


def _progress_sender(context: Context) -> Callable[[dict[str, Any]], None] | None:
    """Return a function that sends the progress of the tool call of ``context``; ``None`` outside a tool call."""
    # Looked up now, because the MCP client may call the function in a task of another run.
    scope = scope_of(context)
    shown = context if scope is None else scope.shown or context
    call_id = shown.function_call_id
    return partial(_send_progress, scope, shown, call_id) if call_id else None


def _send_progress(scope: CallScope | None, shown: Context, call_id: str, data: dict[str, Any]) -> None:
    call = running_call(shown)
    number = {} if call is None else call.reference.stored_number
    widget_id = ":".join((PROGRESS_PART, call_id, *map(str, number.values())))
    widget = _widget(widget_id, {"name": PROGRESS_PART, "id": call_id, **number, "data": data})
    _store(shown, widget)
    if scope is not None:
        scope.channel.post_newest(call_id if call is None else call.key, lambda: _posted(shown, widget))


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise argument_error(name, "a finite number from 0", value)


def _check_context(name: str, context: object, expected: str) -> None:
    if not hasattr(context, "render_ui_widget"):
        raise argument_error(name, expected, context)


def _widget(widget_id: str, payload: dict[str, Any]) -> UiWidget:
    return UiWidget(id=widget_id, provider=DATA_WIDGET_PROVIDER, payload=payload)


def _posted(context: Context, widget: UiWidget) -> Event:
    return posted_event(context, POSTED_WIDGETS, EventActions(render_ui_widgets=[widget]))


def _store(context: Context, widget: UiWidget) -> None:
    """Let ADK store the widget in the next event of the tool or callback."""
    with _STORING:
        widgets = context.actions.render_ui_widgets or []
        place = next((place for place, stored in enumerate(widgets) if stored.id == widget.id), None)
        if place is None:
            context.render_ui_widget(widget)
        else:  # replaced here, because ADK refuses two widgets with equal ids in an event
            widgets[place] = widget
    # After an agent callback without a result, ADK yields an event only if the state has changed. `temp:` keys are not
    # stored.
    context.state["temp:adk_ui_stream"] = True
