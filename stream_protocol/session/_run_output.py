"""Compares the response of an ended run with the session: what was shown but not stored, and stored but not shown."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import ABORTED, ProviderPart, is_user_event
from stream_protocol.session.transcript import update_metadata
from stream_protocol.stream import Conversion, PartKind, StreamedPart, UnconfirmedStream


class RunOutput:
    """Compares the response of a run with what ADK has stored of it."""

    def __init__(self, response: Conversion[Any] | None = None) -> None:
        self._response: Conversion[Any] | None = None
        self._shown_earlier: dict[str, Event] = {}
        """By their ids, the events that earlier executions of the run have stored."""
        if response is not None:
            self.follow(response)

    def follow(self, response: Conversion[Any]) -> None:
        """Reads from this response, which has shown nothing yet."""
        response.keep_unconfirmed()
        self._response = response

    @property
    def failed_calls(self) -> Collection[str]:
        """The page's ids of the calls that ended without a result because their tools raised."""
        return () if self._response is None else self._response.failed_calls

    @property
    def _shown(self) -> list[str]:
        """The ids of the complete events that the page was shown, in order."""
        return [] if self._response is None else self._response.complete_ids

    @property
    def _unconfirmed(self) -> list[UnconfirmedStream]:
        return [] if self._response is None else self._response.unconfirmed

    def add_earlier(self, stored: Iterable[Event]) -> None:
        """Counts events that earlier executions of the run have stored as shown: their pages have them."""
        self._shown_earlier.update({event.id: event for event in stored})

    def not_shown_again(self) -> list[Event]:
        """Return the earlier executions' events that this execution's response did not show, without the user's events.
        The client has the user's message, and some agents announce it under other ids."""
        shown = {*self._shown}
        return [one for one in self._shown_earlier.values() if one.id not in shown and not is_user_event(one)]

    @property
    def shown_ids(self) -> frozenset[str]:
        """The ids of the complete events that the page was shown, by this execution or an earlier one."""
        return frozenset((*self._shown, *self._shown_earlier))

    @property
    def unfinished_text(self) -> str:
        """The text that the page was shown last, if no complete event has repeated it."""
        texts = [part for stream in self._unconfirmed for part in stream.parts if part.kind is PartKind.TEXT]
        return "".join(texts[-1].pieces) if texts else ""

    @property
    def is_stored(self) -> bool:
        """Return True if everything that the client was shown is stored."""
        return not self._unconfirmed

    def hidden(self, stored: Iterable[Event]) -> list[Event]:
        """Those of the run's stored events that the page was not shown.

        They came after the end of the response, or not at all: a run can be cancelled while ADK stores an event.
        """
        return unshown_events(stored, self.shown_ids)

    def unstored_events(self, of_run: Sequence[Event], hidden: Iterable[Event]) -> list[Event]:
        """Events with what the page was shown and ADK has not stored, in the order in which it came.

        ``of_run``: the stored events of the run. ``hidden``: those that the page was not shown.
        """
        stored_ids = {event.id for event in of_run}
        hidden_speakers = {_speaker(event) for event in hidden if event.content is not None}
        return [
            _streamed_event(
                stream,
                stream.newest.event,
                before=next((shown for shown in self._shown[stream.begin :] if shown in stored_ids), None),
                for_model=stream.ended or stream.newest.speaker not in hidden_speakers,
            )
            for stream in self._unconfirmed
            if stream.newest is not None
        ]


def unshown_events(stored: Iterable[Event], shown: Collection[str]) -> list[Event]:
    """The events of a run that its page was not shown. ``shown``: the ids of those that it was shown.

    The user's own count as shown; so do those with which ADK closes the calls of a stopped run, as the page has done.
    """
    return [
        event for event in stored if event.id not in shown and event.error_code != ABORTED and not is_user_event(event)
    ]


def for_page_alone(event: Event) -> Event:
    """The event as it is stored if the model has its content already."""
    stored = event.model_copy(update={"content": None})
    if event.content is not None:
        update_metadata(stored, shown_content=event.content.model_dump(mode="json", exclude_none=True))
    return stored


def _streamed_event(stream: UnconfirmedStream, last: Event, *, before: str | None, for_model: bool) -> Event:
    """An event with a stream that the page was shown. ``before``: the id of the event that the page was shown next.

    ``for_model``: whether the model reads it. If the speaker's complete event was stored after the end of the response,
    the model reads that.
    """
    shown = [*map(_part, stream.parts)]
    parts = [_part(one) for one in stream.parts if _is_for_model(one, stream)] if for_model else []
    event = event_like(last, types.Content(role="model", parts=parts) if parts else None)
    told = types.Content(role="model", parts=shown)
    update_metadata(
        event,
        streamed=True,
        before=before,
        shown_content=None if parts == shown else told.model_dump(mode="json", exclude_none=True),
    )
    if last.finish_reason is not None:  # only such a fragment tells the page which model it is
        event.model_version, event.finish_reason = last.model_version, last.finish_reason
    return event


def _is_for_model(part: StreamedPart, stream: UnconfirmedStream) -> bool:
    """Return True if no stored event gives this part to the model. False for code: some models refuse code without its
    result."""
    return not isinstance(part.whole, ProviderPart) and part.kind not in stream.repeated


def _part(streamed: StreamedPart) -> types.Part:
    if streamed.whole is not None and isinstance(streamed.whole.part, types.Part):
        return streamed.whole.part
    is_thought = True if streamed.kind is PartKind.REASONING else None
    return types.Part(text="".join(streamed.pieces), thought=is_thought, thought_signature=streamed.signature)


def event_like(template: Event, content: types.Content | None) -> Event:
    """An event of the template's speaker."""
    return Event(
        author=template.author,
        branch=template.branch,
        invocation_id=template.invocation_id,
        isolation_scope=template.isolation_scope,
        node_info=template.node_info.model_copy(),
        content=content,
    )


def _speaker(event: Event) -> tuple[str, str | None, str]:
    return event.author, event.branch, event.node_info.path
