"""Finds content that the client received but ADK has not stored, and stored events that the client did not receive."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import ABORTED, is_user_event, read
from stream_protocol.session.transcript import update_metadata
from stream_protocol.stream import Conversion, PartKind, StreamedPart, UnconfirmedStream
from stream_protocol.wire import storable_text


class RunOutput:
    """Compares the response of a run with the events that ADK has stored. Before ``follow`` is called, this class
    assumes that the client has received nothing.
    """

    def __init__(self) -> None:
        self._response: Conversion[Any] | None = None
        self.error_text: str | None = None
        """The text of the ``error`` chunk at the end of the response; ``None`` if there is no such chunk."""
        self._shown_earlier: dict[str, Event] = {}
        """Event id -> event, for events of earlier executions of the run."""

    def follow(self, response: Conversion[Any]) -> None:
        """Set the response to compare with the session. Call this method before the first chunk is sent."""
        response.keep_unconfirmed()
        self._response = response

    def end(self, error_text: str | None) -> None:
        """Record that the response has ended. ``error_text``: the text of the response's ``error`` chunk, or
        ``None``."""
        self.error_text = error_text

    @property
    def failed_calls(self) -> Collection[str]:
        return () if self._response is None else self._response.failed_calls

    @property
    def _shown(self) -> list[str]:
        """The ids of the complete events in the response, in order."""
        return [] if self._response is None else self._response.complete_ids

    @property
    def _unconfirmed(self) -> list[UnconfirmedStream]:
        return [] if self._response is None else self._response.unconfirmed

    def add_earlier(self, stored: Iterable[Event]) -> None:
        """Add the events that earlier executions of the run stored before their workers died. Clients have already
        received this content.
        """
        self._shown_earlier.update({event.id: event for event in stored})

    def not_shown_again(self) -> list[Event]:
        """Return the agent's events that ``add_earlier`` received, but that this execution has not sent."""
        shown = {*self._shown}
        return [event for event in self._shown_earlier.values() if event.id not in shown and not read(event).by_user]

    @property
    def shown_ids(self) -> frozenset[str]:
        """The ids of the complete events that clients received from this execution, or from earlier executions of the
        run."""
        return frozenset((*self._shown, *self._shown_earlier))

    @property
    def unfinished_text(self) -> str:
        """The newest streamed text that no complete event contains. Empty if there is none."""
        texts = [part for stream in self._unconfirmed for part in stream.parts if part.kind is PartKind.TEXT]
        return "".join(texts[-1].pieces) if texts else ""

    @property
    def is_stored(self) -> bool:
        """True if ADK's session has all content that the client has received."""
        return not self._unconfirmed

    def hidden(self, stored: Iterable[Event]) -> list[Event]:
        """Return the stored events of the run that the client did not receive. ADK yielded these events after the
        response had ended, or stored them while the run was cancelled.
        """
        return unshown_events(stored, self.shown_ids)

    def unstored_events(self, of_run: Sequence[Event], hidden: Iterable[Event]) -> list[Event]:
        """Return events with the content that the client received but ADK has not stored, in the order of the response.

        ``of_run``: the stored events of the run. ``hidden``: the stored events of the run that the client did not
        receive.
        """
        stored_ids = {event.id for event in of_run}
        hidden_speakers = {facts.speaker for facts in map(read, hidden) if facts.role is not None}
        return [
            _streamed_event(
                stream,
                stream.newest.event,
                before=next((shown for shown in self._shown[stream.begin :] if shown in stored_ids), None),
                for_model=not stream.is_nested and (stream.ended or stream.newest.speaker not in hidden_speakers),
            )
            for stream in self._unconfirmed
            if stream.newest is not None
        ]


def unshown_events(stored: Iterable[Event], shown: Collection[str]) -> list[Event]:
    """Return the events of a run that the client did not receive. ``shown``: the ids of the received events.

    Omits user events. After a stop, ADK stores an event with responses to the unanswered calls. This event is also
    omitted, because the client's stream has already ended these calls.
    """
    return [
        event for event in stored if event.id not in shown and event.error_code != ABORTED and not is_user_event(event)
    ]


def for_client_only(event: Event) -> Event:
    """Return a copy of the event that clients get, but that the model does not read."""
    stored = event.model_copy(update={"content": None})
    if event.content is not None:
        update_metadata(stored, shown_content=event.content.model_dump(mode="json", exclude_none=True))
    return stored


def _streamed_event(stream: UnconfirmedStream, last: Event, *, before: str | None, for_model: bool) -> Event:
    """Return an event with streamed content that ADK did not store. ``before``: the id of the event that the client
    received directly after this content.

    ``for_model``: True if the model reads the content. It must be False for an agent inside a tool call. It must also
    be False if the agent has a stored event that the client did not receive: the model reads that event instead.
    """
    shown = [*map(_part, stream.parts)]
    parts = [_part(part) for part in stream.parts if _is_for_model(part, stream)] if for_model else []
    event = event_like(last, types.Content(role="model", parts=parts) if parts else None)
    shown_content = types.Content(role="model", parts=shown)
    update_metadata(
        event,
        streamed=True,
        before=before,
        shown_content=None if parts == shown else shown_content.model_dump(mode="json", exclude_none=True),
    )
    if last.finish_reason is not None:  # this partial event is the source of the model's name in the message metadata
        event.model_version, event.finish_reason = last.model_version, last.finish_reason
    return event


def unfinished_events(stream: UnconfirmedStream) -> Iterator[Event]:
    """Yield a partial event for each streamed text and thought that no complete event contains. ``stream``: the output
    of an agent inside a tool call."""
    for part in stream.parts:
        if part.kind is not None and stream.newest is not None:
            content = types.Content(role="model", parts=[_part(part)])
            yield stream.newest.event.model_copy(update={"content": content})


def _is_for_model(part: StreamedPart, stream: UnconfirmedStream) -> bool:
    """Return True if the model must read this streamed part, because no stored event contains it. Calls of the
    provider's own tools, and their results, are never for the model: some models refuse a call without its result.
    """
    return not part.is_of_provider and part.kind not in stream.repeated


def _part(streamed: StreamedPart) -> types.Part:
    if streamed.whole is not None and isinstance(streamed.whole.part, types.Part):
        return streamed.whole.part
    is_thought = True if streamed.kind is PartKind.REASONING else None
    text = storable_text("".join(streamed.pieces))
    return types.Part(text=text, thought=is_thought, thought_signature=streamed.signature)


def event_like(template: Event, content: types.Content | None) -> Event:
    return Event(
        author=template.author,
        branch=template.branch,
        invocation_id=template.invocation_id,
        isolation_scope=template.isolation_scope,
        node_info=template.node_info.model_copy(),
        content=content,
    )
