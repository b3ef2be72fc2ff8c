"""ADK's side effects -> ``data-*`` parts: agents, artifacts, state, widgets, and an app's own data."""

from collections.abc import Collection, Mapping
from typing import Any, Literal

from stream_protocol.adk import EventFacts, Result, StateChange, Transfer, Widget
from stream_protocol.stream._options import Settings
from stream_protocol.wire import Sink, UnrepresentableValueError, is_too_large, json_value

DATA_WIDGET_PROVIDER = "adk_ui_stream"
"""``provider`` of the UI widgets that carry an app's own data: the one channel that ADK streams, stores and merges."""

_INTERNAL_STATE = ("temp:", "_adk", "_code_execution", "adk_oauth_")
"""Prefixes of state keys that are never sent: ``temp:`` is not even stored, the others are ADK's bookkeeping. A
workflow that waits for a sign-in keeps the PKCE verifier in ``adk_oauth_credential:…``."""


def write_artifacts(sink: Sink[Any], saved: Mapping[str, int], settings: Settings) -> None:
    """Writes the artifacts that were saved: name -> version."""
    for filename, version in saved.items():
        url = (
            settings.options["artifact_url"](filename, version)
            if settings.options["artifact_url"] is not None
            else None
        )
        value = _without_none({"filename": filename, "version": version, "url": url})
        sink.data("adk-artifact", value, data_id=filename)


def write_actions(sink: Sink[Any], said: EventFacts, settings: Settings) -> None:
    """Writes what a complete event did: a transfer to an agent, widgets, and state if it is sent.

    Not for fragments: they share their ``actions`` object with the later complete event, which changes it.
    """
    for report in said.reports:
        match report:
            case Transfer(agent):
                sink.data("adk-agent", _without_none({"agent": agent, "from": said.speaker[0]}))
            case Widget():
                _write_widget(sink, report)
            case StateChange(delta) if keys := settings.options["send_state"]:
                _write_state(sink, delta, keys)


def _write_widget(sink: Sink[Any], widget: Widget) -> None:
    payload = widget.payload
    match payload:
        case {"name": str(name), "data": value} if widget.provider == DATA_WIDGET_PROVIDER:
            own_id = payload.get("id")
            sink.data(name, json_value(value, lossy=True), data_id=own_id if isinstance(own_id, str) else None)
        case _:
            value = {"id": widget.id, "provider": widget.provider, "payload": json_value(payload, lossy=True)}
            sink.data("adk-ui-widget", value, data_id=widget.id)


def _write_state(sink: Sink[Any], delta: Mapping[str, Any], keys: Literal[True] | Collection[str]) -> None:
    """``keys``: those that are sent, or ``True`` for all."""
    sent = {
        key: value
        for key, value in delta.items()
        if not key.startswith(_INTERNAL_STATE) and (keys is True or key in keys)
    }
    if sent:
        sink.data("adk-state", json_value(sent, lossy=True))


def write_confirmation(sink: Sink[Any], call_id: str, asked: Result) -> None:
    """Writes the hint of a tool that asks for approval by itself, and the payload that it wants back.

    Not for a gate in front of a tool: ADK's hint there tells programmers how to answer.
    """
    said = _without_none({"hint": asked.hint or None, "payload": asked.payload})
    if said:
        sink.data("adk-confirmation", json_value({"toolCallId": call_id, **said}, lossy=True), data_id=call_id)


def write_denial(sink: Sink[Any], call_id: str, response: Any) -> None:
    """Writes what a tool returned although its call was denied."""
    sink.data("adk-denial", {"toolCallId": call_id, "output": json_value(response, lossy=True)}, data_id=call_id)


def write_output(sink: Sink[Any], said: EventFacts, output: Any) -> None:
    """Writes a workflow node's output that is in no content: ``None`` if it has no JSON form or is too large."""
    try:
        value = None if is_too_large(output) else json_value(output)
    except UnrepresentableValueError:
        value = None
    author, _, path = said.speaker
    sink.data("adk-output", _without_none({"author": author, "node": path or None}) | {"output": value})


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
