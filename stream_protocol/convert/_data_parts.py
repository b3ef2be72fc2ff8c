"""ADK's side effects -> ``data-*`` parts: agents, artifacts, state, widgets, and an app's own data."""

from typing import TYPE_CHECKING, Any

from stream_protocol.convert._options import Settings
from stream_protocol.wire import Sink, UnrepresentableValueError, is_too_large, json_value

if TYPE_CHECKING:
    from google.adk.events import Event, EventActions
    from google.adk.tools.tool_confirmation import ToolConfirmation

DATA_WIDGET_PROVIDER = "adk_ui_stream"
"""``provider`` of the UI widgets that carry an app's own data: the one channel that ADK streams, stores and merges."""

_INTERNAL_STATE = ("temp:", "_adk", "_code_execution", "adk_oauth_")
"""Prefixes of state keys that are never sent: ``temp:`` is not even stored, the others are ADK's bookkeeping. What a
workflow keeps of a sign-in that it waits for (``adk_oauth_credential:…``) holds the PKCE verifier."""


def write_artifacts(sink: Sink[Any], event: "Event", settings: Settings) -> None:
    """Writes the artifacts that were saved, as a complete event lists them."""
    for filename, version in event.actions.artifact_delta.items():
        url = (
            settings.options["artifact_url"](filename, version)
            if settings.options["artifact_url"] is not None
            else None
        )
        value = _without_none({"filename": filename, "version": version, "url": url})
        sink.data("adk-artifact", value, data_id=filename)


def write_actions(sink: Sink[Any], event: "Event", settings: Settings) -> None:
    """Writes what a complete event did: a transfer to an agent, widgets, and state if it is sent.

    Not for fragments: they share their ``actions`` object with the later complete event, which changes it.
    """
    actions = event.actions
    if actions.transfer_to_agent:
        sink.data("adk-agent", _without_none({"agent": actions.transfer_to_agent, "from": event.author}))
    for widget in actions.render_ui_widgets or ():
        _write_widget(sink, widget.id, widget.provider, widget.payload)
    if settings.options["send_state"]:
        _write_state(sink, actions)


def _write_widget(sink: Sink[Any], widget_id: str, provider: str, payload: dict[str, Any]) -> None:
    match payload:
        case {"name": str(name), "data": value} if provider == DATA_WIDGET_PROVIDER:
            own_id = payload.get("id")
            sink.data(name, json_value(value, lossy=True), data_id=own_id if isinstance(own_id, str) else None)
        case _:
            value = {"id": widget_id, "provider": provider, "payload": json_value(payload, lossy=True)}
            sink.data("adk-ui-widget", value, data_id=widget_id)


def _write_state(sink: Sink[Any], actions: "EventActions") -> None:
    delta = {key: value for key, value in actions.state_delta.items() if not key.startswith(_INTERNAL_STATE)}
    if delta:
        sink.data("adk-state", json_value(delta, lossy=True))


def write_confirmation(sink: Sink[Any], call_id: str, asked: "ToolConfirmation") -> None:
    """Writes the hint of a tool that asks for approval by itself, and the payload that it wants back.

    Not for a gate in front of a tool: ADK's hint there tells programmers how to answer.
    """
    said = _without_none({"hint": asked.hint or None, "payload": asked.payload})
    if said:
        sink.data("adk-confirmation", json_value({"toolCallId": call_id, **said}, lossy=True), data_id=call_id)


def write_denial(sink: Sink[Any], call_id: str, response: Any) -> None:
    """Writes what a tool returned although its call was denied."""
    sink.data("adk-denial", {"toolCallId": call_id, "output": json_value(response, lossy=True)}, data_id=call_id)


def write_output(sink: Sink[Any], event: "Event") -> None:
    """Writes a workflow node's output that is in no content: ``None`` if it has no JSON form or is too large."""
    try:
        value = None if is_too_large(event.output) else json_value(event.output)
    except UnrepresentableValueError:
        value = None
    sink.data(
        "adk-output", _without_none({"author": event.author, "node": event.node_info.path or None}) | {"output": value}
    )


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
