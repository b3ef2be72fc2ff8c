"""Write ``data-*`` parts for agents, artifacts, state, widgets, and an app's own data. Also write steering messages:
messages that the user sent while the agent worked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from stream_protocol.adk import (
    ApprovalNote,
    Blob,
    Compaction,
    EventFacts,
    File,
    Part,
    Result,
    SpeakerKey,
    StateChange,
    Text,
    Transfer,
    Widget,
    stored_reference,
)
from stream_protocol.stream._media import DataUrl, file_part
from stream_protocol.stream._options import Settings
from stream_protocol.stream.calls import CallRegistry
from stream_protocol.wire import Sink, UnrepresentableValueError, is_too_large, json_value

DATA_WIDGET_PROVIDER = "adk_ui_stream"
"""The ``provider`` of UI widgets with an app's own data. ADK streams, stores and merges no other data of tools."""

PROGRESS_PART = "adk-progress"
"""The name of the data part with the progress of a call. The part has the id of the call."""

_INTERNAL_STATE = ("temp:", "_adk", "_code_execution", "adk_oauth_")
"""Prefixes of state keys that are never sent. ``temp:`` keys are not stored, and the other keys are internal to ADK.
For example, ``adk_oauth_credential:…`` has the PKCE verifier of a sign-in.
"""


STEERING_MESSAGE: Final = "steering-message"


def write_artifacts(sink: Sink[Any], saved: Mapping[str, int], settings: Settings) -> None:
    """Write a ``data-adk-artifact`` part for each saved artifact. ``saved``: a dictionary from an artifact's name to
    its version.
    """
    for filename, version in saved.items():
        url = (
            settings.options["artifact_url"](filename, version)
            if settings.options["artifact_url"] is not None
            else None
        )
        value = _without_none({"filename": filename, "version": version, "url": url})
        sink.data("adk-artifact", value, data_id=filename)


class EventActions:
    """Writer for the field ``actions`` of events: agent transfers, widgets, and state changes.

    A tool can send a widget while it runs. Later, the event with the tool's response contains the widget again, with
    the same id. The second widget is written only if its data differs from the first.
    """

    __slots__ = ("_posted", "_registry", "_settings", "_sink")

    def __init__(self, sink: Sink[Any], settings: Settings, registry: CallRegistry) -> None:
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._posted: dict[str, dict[str, Any]] | None = None
        """Id of a widget that a running tool has sent -> its newest payload, until an event repeats the widget."""

    def write_posted(self, facts: EventFacts) -> None:
        """Write the widgets that a tool has sent while it runs."""
        for report in facts.reports:
            if isinstance(report, Widget) and self._write_widget(report, facts):
                self._posted = self._posted or {}
                self._posted[report.id] = report.payload

    def write(self, facts: EventFacts) -> None:
        """Write the data parts for the ``actions`` of a complete event."""
        newest = self._newest_of_posted(facts)
        for report in facts.reports:
            match report:
                case Transfer(agent):
                    self._sink.data("adk-agent", _without_none({"agent": agent, "from": facts.speaker[0]}))
                case Widget() if report.id not in newest or report is newest[report.id]:
                    _ = self._write_widget(report, facts)
                case StateChange(delta) if keys := self._settings.options["send_state"]:
                    _write_state(self._sink, delta, keys)

    def _newest_of_posted(self, facts: EventFacts) -> dict[str, Widget | None]:
        """Return a dictionary with the widgets of this event that a running tool has already sent. Its keys are the
        widgets' ids. If the data of a widget has not changed, its value is ``None``.

        If several widgets of the event have the same id, the last widget is used.
        """
        if not self._posted:
            return {}
        found = {report.id: report for report in facts.reports if isinstance(report, Widget)}
        return {
            widget_id: None if self._posted.pop(widget_id) == widget.payload else widget
            for widget_id, widget in found.items()
            if widget_id in self._posted
        }

    def _write_widget(self, widget: Widget, facts: EventFacts) -> bool:
        """Write the data part of a widget. Returns False if the part was not written, or is transient: then the client
        does not store it.
        """
        payload = widget.payload
        match payload:
            case {"name": str(name), "data": value} if widget.provider == DATA_WIDGET_PROVIDER:
                own_id = payload.get("id")
                if name == PROGRESS_PART:
                    return self._write_progress(payload, facts)
                transient = payload.get("transient") is True
                data_id = own_id if isinstance(own_id, str) else None
                self._sink.data(name, json_value(value, lossy=True), data_id=data_id, transient=transient)
                return not transient
            case _:
                value = {"id": widget.id, "provider": widget.provider, "payload": json_value(payload, lossy=True)}
                self._sink.data("adk-ui-widget", value, data_id=widget.id)
                return True

    def _write_progress(self, payload: dict[str, Any], facts: EventFacts) -> bool:
        """Write the progress of a tool call as a data part. Returns False if the client does not have the call."""
        adk_id, value, (author, branch, _) = payload.get("id"), payload["data"], facts.speaker
        if not isinstance(adk_id, str) or not isinstance(value, dict):
            return False
        call = self._registry.find(stored_reference(adk_id, payload, author, branch), event=facts.event)
        if call is None or not call.is_shown:
            return False
        self._sink.data(PROGRESS_PART, {"toolCallId": call.id, **json_value(value, lossy=True)}, data_id=call.id)
        return True


def _write_state(sink: Sink[Any], delta: Mapping[str, Any], keys: Literal[True] | Collection[str]) -> None:
    """Write changed values of the session state. ``keys``: the state keys to send, or ``True`` for all."""
    sent = {
        key: value
        for key, value in delta.items()
        if not key.startswith(_INTERNAL_STATE) and (keys is True or key in keys)
    }
    if sent:
        sink.data("adk-state", json_value(sent, lossy=True))


def write_confirmation(sink: Sink[Any], call_id: str, asked: Result) -> None:
    """A running tool has requested an approval. Write its hint and the form of the expected payload.

    Do not call this function for an approval that ADK itself requests. ADK's own hint is written for programmers.
    """
    facts = _without_none({"hint": asked.hint or None, "payload": asked.payload})
    if facts:
        sink.data("adk-confirmation", json_value({"toolCallId": call_id, **facts}, lossy=True), data_id=call_id)


def write_approval(sink: Sink[Any], call_id: str, note: ApprovalNote, settings: Settings) -> None:
    """Write the reason and the descriptor that a tool declares for its approval. Does nothing if the chunk
    ``tool-approval-request`` already contains both.
    """
    knows = settings.client.knows
    if not knows("tool-approval-request", "reason") or not knows("tool-approval-request", "approvalDescriptor"):
        declared = note.to_json()
        if declared:
            sink.data("adk-approval", {"toolCallId": call_id, **json_value(declared, lossy=True)}, data_id=call_id)


def write_denial(sink: Sink[Any], call_id: str, response: Any) -> None:
    """Write the output of a denied call as a data part. The chunk ``tool-output-denied`` has no field for an output."""
    sink.data("adk-denial", {"toolCallId": call_id, "output": json_value(response, lossy=True)}, data_id=call_id)


def write_compaction(sink: Sink[Any], compaction: Compaction) -> None:
    """ADK has summarized a range of older events. Write a data part with the time range of these events. The summary is
    not sent, because it may contain data of hidden tools.
    """
    sink.data("adk-compaction", {"startTimestamp": compaction.start, "endTimestamp": compaction.end})


def write_retry(sink: Sink[Any], speaker: SpeakerKey) -> None:
    """Write a data part for a workflow node that runs again after a failure. The error is not sent."""
    author, _, path = speaker
    sink.data("adk-retry", {"author": author, "node": path})


def write_output(sink: Sink[Any], facts: EventFacts, output: Any) -> None:
    """Write the output of a workflow node whose event has no content. An output that has no JSON form or is too large
    becomes ``None``.
    """
    try:
        value = None if is_too_large(output) else json_value(output)
    except UnrepresentableValueError:
        value = None
    author, _, path = facts.speaker
    sink.data("adk-output", _without_none({"author": author, "node": path or None}) | {"output": value})


def write_steering_message(sink: Sink[Any], message_id: str, parts: Iterable[Part], settings: Settings) -> None:
    """Write a message that the user sent while the agent was working. Clients that do not know the chunk
    ``steering-message`` get a ``data-adk-steering`` part.
    """
    ui_parts = [*_ui_parts(parts)]
    if settings.client.accepts(STEERING_MESSAGE):
        sink.steering_message(message_id, ui_parts)
    else:
        sink.data("adk-steering", {"id": message_id, "parts": ui_parts}, data_id=message_id)


def _ui_parts(parts: Iterable[Part]) -> Iterator[dict[str, Any]]:
    """Convert the parts of a user's event to parts of a UI message. The bytes of a file become a data URL."""
    for part in parts:
        match part:
            case Text(text=text) if text:
                yield {"type": "text", "text": text}
            case File(content=Blob() as blob):
                yield file_part(blob.media_type, str(DataUrl(blob.media_type, blob.data)), blob.name)
            case File(reference=reference) if reference is not None:
                yield file_part(reference.media_type, reference.uri, reference.name)


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
