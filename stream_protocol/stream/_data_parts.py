"""ADK's side effects -> ``data-*`` parts: agents, artifacts, state, widgets, and an app's own data."""

from collections.abc import Mapping
from typing import Any

from stream_protocol.adk import ApprovalNote, EventFacts, Result, StateChange, Transfer, Widget
from stream_protocol.stream._options import Settings
from stream_protocol.stream.calls import CallRegistry
from stream_protocol.wire import Sink, UnrepresentableValueError, is_too_large, json_value

DATA_WIDGET_PROVIDER = "adk_ui_stream"
"""``provider`` of the UI widgets that carry an app's own data: the one channel that ADK streams, stores and merges."""

PROGRESS_PART = "adk-progress"
"""The part with the progress of a call. Its id is that of the call."""

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


class EventActions:
    """Writes what events did: a transfer to an agent, widgets, and state if it is sent.

    A tool's data may be posted while the tool runs, and come again with the tool's event. It is written once: by the
    widget's id, it is known again. If the event has other data under that id, the newest is written.
    """

    __slots__ = ("_posted", "_registry", "_settings", "_sink")

    def __init__(self, sink: Sink[Any], settings: Settings, registry: CallRegistry) -> None:
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._posted: dict[str, dict[str, Any]] = {}
        """Widget id -> the payload that was posted last, until the stored event comes."""

    def write_posted(self, said: EventFacts) -> None:
        """Writes what a posted event has."""
        for report in said.reports:
            if isinstance(report, Widget) and self._write_widget(report):
                self._posted[report.id] = report.payload

    def write(self, said: EventFacts) -> None:
        """Writes what a complete event did.

        Not for fragments: they share their ``actions`` object with the later complete event, which changes it.
        """
        newest = self._newest_of_posted(said) if self._posted else {}
        for report in said.reports:
            match report:
                case Transfer(agent):
                    self._sink.data("adk-agent", _without_none({"agent": agent, "from": said.speaker[0]}))
                case Widget() if report.id not in newest or report is newest[report.id]:
                    _ = self._write_widget(report)
                case StateChange(delta) if self._settings.options["send_state"]:
                    _write_state(self._sink, delta)

    def _newest_of_posted(self, said: EventFacts) -> dict[str, Widget | None]:
        """The ids of this event's widgets that were posted -> the widget to write; ``None`` if nothing has changed.

        Parallel calls may post under one id in another order than that of the event, which is the one that is kept.
        """
        found = {report.id: report for report in said.reports if isinstance(report, Widget)}
        return {
            widget_id: None if self._posted.pop(widget_id) == widget.payload else widget
            for widget_id, widget in found.items()
            if widget_id in self._posted
        }

    def _write_widget(self, widget: Widget) -> bool:
        """Writes the part of a widget. Return True if there is one that stays in the message."""
        payload = widget.payload
        match payload:
            case {"name": str(name), "data": value} if widget.provider == DATA_WIDGET_PROVIDER:
                own_id = payload.get("id")
                if name == PROGRESS_PART:
                    return self._write_progress(own_id, value)
                transient = payload.get("transient") is True
                data_id = own_id if isinstance(own_id, str) else None
                self._sink.data(name, json_value(value, lossy=True), data_id=data_id, transient=transient)
                return not transient
            case _:
                value = {"id": widget.id, "provider": widget.provider, "payload": json_value(payload, lossy=True)}
                self._sink.data("adk-ui-widget", value, data_id=widget.id)
                return True

    def _write_progress(self, adk_id: Any, value: Any) -> bool:
        """Writes the progress of a call under the client's id of the call. Returns False if the client has no such
        call."""
        call = self._registry.find(adk_id) if isinstance(adk_id, str) else None
        if call is None or not call.is_shown or not isinstance(value, dict):
            return False
        self._sink.data(PROGRESS_PART, {"toolCallId": call.id, **json_value(value, lossy=True)}, data_id=call.id)
        return True


def _write_state(sink: Sink[Any], delta: Mapping[str, Any]) -> None:
    sent = {key: value for key, value in delta.items() if not key.startswith(_INTERNAL_STATE)}
    if sent:
        sink.data("adk-state", json_value(sent, lossy=True))


def write_confirmation(sink: Sink[Any], call_id: str, asked: Result) -> None:
    """Writes the hint of a tool that asks for approval by itself, and the payload that it wants back.

    Not for a gate in front of a tool: ADK's hint there tells programmers how to answer.
    """
    said = _without_none({"hint": asked.hint or None, "payload": asked.payload})
    if said:
        sink.data("adk-confirmation", json_value({"toolCallId": call_id, **said}, lossy=True), data_id=call_id)


def write_approval(sink: Sink[Any], call_id: str, note: ApprovalNote, settings: Settings) -> None:
    """Writes what a tool says about its approval, for clients whose ``tool-approval-request`` has no place for it."""
    knows = settings.client.knows
    if not knows("tool-approval-request", "reason") or not knows("tool-approval-request", "approvalDescriptor"):
        told = note.to_json()
        if told:
            sink.data("adk-approval", {"toolCallId": call_id, **json_value(told, lossy=True)}, data_id=call_id)


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
