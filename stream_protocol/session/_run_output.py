"""What a run has shown to the page, compared with what ADK has stored of it: fragments that nothing stored repeats."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import ABORTED, is_user_event, read, reports_error
from stream_protocol.session.transcript import update_metadata
from stream_protocol.stream import PartKind, StreamedTexts, compare, is_aggregate

GATHERED: Final = 64
"""Fragments of a text that are joined at once: each is an object of its own until then."""

_Speaker = tuple[str, str | None, str]
"""Author, branch and node path of an event."""


class _Stream:
    """What a speaker streamed between two of its complete events. Its events themselves are not kept: each is ten times
    as large as what it says."""

    def __init__(self, begin: int) -> None:
        self.begin: Final = begin
        """How many complete events the page had been shown before it."""
        self.newest: Event
        """Its newest fragment."""
        self.ended = False
        """Whether a complete event of the speaker came after it."""
        self._content = _JoinedParts()
        self._model: str | None = None
        """The model that its fragments name first."""
        self._finish_reason: str | None = None
        """Its first finish reason."""
        self._call_ids: set[str] = set()
        self._repeated: set[bool | None] = set()
        """Of its texts (``False``) and thoughts (``True``) those that the complete event repeats."""

    def add(self, event: Event) -> None:
        """Takes its next fragment."""
        self.newest = event
        for part in _parts(event):
            self._content.add(part)
            if part.function_call is not None and part.function_call.id:
                self._call_ids.add(part.function_call.id)
        self._model = self._model or event.model_version
        if self._finish_reason is None and event.finish_reason is not None:
            self._finish_reason = event.finish_reason.value

    @property
    def parts(self) -> list[types.Part]:
        """All of it, as the page was shown it."""
        return self._content.parts()

    def parts_for_model(self) -> list[types.Part]:
        """What the model has not in a stored event. Code is left out: some models refuse code without its result."""
        return [
            part
            for part in self.parts
            if not _is_code(part) and not (part.text and bool(part.thought) in self._repeated)
        ]

    def end(self, event: Event) -> bool:
        """Ends it by the speaker's complete event. Returns whether the page was shown some of it that is not stored.

        An aggregate that a callback changed is meant to replace what was streamed.
        """
        self.ended = True
        streamed, said = self.parts, _parts(event)
        texts = [(PartKind(bool(part.thought)), part.text) for part in streamed if part.text]
        facts = read(event)
        unrepeated = compare(facts.parts, StreamedTexts(texts)).unrepeated
        self._repeated = {bool(kind) for kind in PartKind if kind not in unrepeated}
        if not unrepeated and all(part in said for part in streamed if not part.text):
            return False
        is_failure = not said and reports_error(event)
        return is_failure or not is_aggregate(
            facts, model=self._model, finish_reason=self._finish_reason, call_ids=self._call_ids
        )


class RunOutput:
    """How page and session differ about a run: what was shown and is not stored, and what is stored and hidden."""

    def __init__(self) -> None:
        self._open: dict[_Speaker, _Stream] = {}
        """The streams that no complete event has ended yet."""
        self._unrepeated: list[_Stream] = []
        """Those that a complete event ended without repeating them."""
        self._shown: dict[str, None] = {}
        """The ids of the complete events that the page was shown, in order."""
        self.failed_calls: Collection[str] = ()
        """The page's ids of the calls that ended without a result because their tools raised."""
        self._shown_earlier: dict[str, Event] = {}
        """By their ids, the events that earlier executions of the run have stored."""

    def add_earlier(self, stored: Iterable[Event]) -> None:
        """Counts events that earlier executions of the run have stored as shown: their pages have them."""
        self._shown_earlier.update({event.id: event for event in stored})

    def not_shown_again(self) -> list[Event]:
        """Those of the earlier executions' events that the page of this execution was not shown, but for the user's:
        the page has them, and some agents announce them under other ids."""
        earlier = self._shown_earlier.values()
        return [event for event in earlier if event.id not in self._shown and not is_user_event(event)]

    def add(self, event: Event) -> None:
        """Takes an event of the run that the page was shown."""
        speaker = _speaker(event)
        if event.partial:
            if (stream := self._open.get(speaker)) is None:
                stream = self._open[speaker] = _Stream(len(self._shown))
            stream.add(event)
            return
        self._shown[event.id] = None
        if event.content is not None or event.finish_reason is not None or reports_error(event):
            ended = self._open.pop(speaker, None)
            if ended is not None and ended.end(event):
                self._unrepeated.append(ended)

    @property
    def is_stored(self) -> bool:
        """Whether all that the page was shown is stored."""
        return not self._unstored()

    def hidden(self, stored: Iterable[Event]) -> list[Event]:
        """Those of the run's stored events that the page was not shown.

        They came after the end of the response, or not at all: a run can be cancelled while ADK stores an event.
        """
        return [
            event
            for event in stored
            if event.id not in self._shown
            and event.id not in self._shown_earlier
            and event.error_code != ABORTED
            and not is_user_event(event)
        ]

    def unstored_events(self, of_run: Sequence[Event], hidden: Iterable[Event]) -> list[Event]:
        """Events with what the page was shown and ADK has not stored, in the order in which it came.

        ``of_run``: the stored events of the run. ``hidden``: those that the page was not shown.
        """
        stored_ids = {event.id for event in of_run}
        hidden_speakers = {_speaker(event) for event in hidden if event.content is not None}
        return [
            _streamed_event(
                stream,
                before=next((shown for shown in [*self._shown][stream.begin :] if shown in stored_ids), None),
                for_model=stream.ended or _speaker(stream.newest) not in hidden_speakers,
            )
            for stream in self._unstored()
        ]

    def _unstored(self) -> list[_Stream]:
        streams = [*self._unrepeated, *self._open.values()]
        return sorted((stream for stream in streams if stream.parts), key=lambda stream: stream.begin)


def _streamed_event(stream: _Stream, *, before: str | None, for_model: bool) -> Event:
    """An event with a stream that the page was shown. ``before``: the id of the event that the page was shown next.

    ``for_model``: whether the model reads it. If the speaker's complete event was stored after the end of the response,
    the model reads that.
    """
    parts = stream.parts_for_model() if for_model else []
    last = stream.newest
    event = event_like(last, types.Content(role="model", parts=parts) if parts else None)
    shown = types.Content(role="model", parts=stream.parts)
    update_metadata(
        event,
        streamed=True,
        before=before,
        shown_content=None if parts == stream.parts else shown.model_dump(mode="json", exclude_none=True),
    )
    if last.finish_reason is not None:  # only such a fragment tells the page which model it is
        event.model_version, event.finish_reason = last.model_version, last.finish_reason
    return event


def _is_code(part: types.Part) -> bool:
    return part.executable_code is not None or part.code_execution_result is not None


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


def _parts(event: Event) -> list[types.Part]:
    return (event.content.parts if event.content is not None else None) or []


def _speaker(event: Event) -> _Speaker:
    return event.author, event.branch, event.node_info.path


class _JoinedParts:
    """Neighbouring texts, and neighbouring thoughts, as one part each; files and code as they are.

    Fragments of calls are left out: they are useless without the rest.
    """

    def __init__(self) -> None:
        self._parts: list[types.Part] = []
        self._texts: list[tuple[types.Part, list[str]]] = []
        """Those that are texts or thoughts, with what they say."""
        self._newest: types.Part | None = None
        """The last of these, unless a file or code came after it."""
        self._fragments: list[str] = []
        """The newest fragments of its text."""

    def add(self, part: types.Part) -> None:
        """Appends a part, or to a part."""
        if part.inline_data is not None or part.file_data is not None or _is_code(part):
            self._parts.append(part)
            self._newest = None
            return
        if part.text and (self._newest is None or bool(self._newest.thought) is not bool(part.thought)):
            self._gather()
            self._newest = types.Part(text="", thought=part.thought)
            self._parts.append(self._newest)
            self._texts.append((self._newest, []))
        if self._newest is not None:
            if part.text:
                self._fragments.append(part.text)
            if len(self._fragments) == GATHERED:
                self._gather()
            if part.thought or not part.text:  # the signature of a text comes on a later part without text
                self._newest.thought_signature = part.thought_signature or self._newest.thought_signature

    def parts(self) -> list[types.Part]:
        """All that was added."""
        self._gather()
        for part, pieces in self._texts:
            part.text = "".join(pieces)
        return [*self._parts]

    def _gather(self) -> None:
        if self._fragments:
            self._texts[-1][1].append("".join(self._fragments))
            self._fragments.clear()
