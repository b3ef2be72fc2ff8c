"""Events that we append to a session when a run has ended, so that history and the next prompt agree with the page.

ADK stores only complete events. Any run may have streamed what no complete event repeats. Of a run that failed or was
stopped the session alone does not show either which calls it left without a response, and that it was interrupted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.convert import (
    ABORTED,
    FINISH_REASONS,
    NO_CONTENT,
    RUN_FAILED_TEXT,
    RUN_STOPPED_TEXT,
    USER,
    Ending,
    PartKind,
    compare,
    is_aggregate,
    is_user_event,
    reports_error,
)
from stream_protocol.convert.calls import external_kind
from stream_protocol.session.transcript import (
    EVENT_INTERVAL,
    HIDDEN_FROM_MODEL,
    EventMetadata,
    Exchange,
    Transcript,
    update_metadata,
)

RUN_FAILED_CODE: Final = "RUN_FAILED"
"""``error_code`` of the events after an error. After an abort or a timeout they have ADK's own code, ``ABORTED``, which
closes what is pending; but after a timeout the event that only says how the run ended has this code."""

_Speaker = tuple[str, str | None, str]
"""Author, branch and node path of an event."""


class _Stream:
    """What a speaker streamed between two of its complete events."""

    def __init__(self, begin: int) -> None:
        self.begin: Final = begin
        """How many complete events the page had been shown before it."""
        self.fragments: list[Event] = []
        self.ended = False
        """Whether a complete event of the speaker came after it."""
        self._repeated: set[bool | None] = set()
        """Of its texts (``False``) and thoughts (``True``) those that the complete event repeats."""

    @property
    def parts(self) -> list[types.Part]:
        """All of it, as the page was shown it."""
        return _joined_parts(part for event in self.fragments for part in _parts(event))

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
        unrepeated = compare(said, texts).unrepeated
        self._repeated = {bool(kind) for kind in PartKind if kind not in unrepeated}
        if not unrepeated and all(part in said for part in streamed if not part.text):
            return False
        is_failure = not said and reports_error(event)
        return is_failure or not self._is_changed_to(event)

    def _is_changed_to(self, event: Event) -> bool:
        return is_aggregate(
            event,
            model=next((one.model_version for one in self.fragments if one.model_version), None),
            finish_reason=next((one.finish_reason.value for one in self.fragments if one.finish_reason), None),
            call_ids={call.id for one in self.fragments for call in one.get_function_calls() if call.id},
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

    def add(self, event: Event) -> None:
        """Takes an event of the run that the page was shown."""
        speaker = _speaker(event)
        if event.partial:
            if (stream := self._open.get(speaker)) is None:
                stream = self._open[speaker] = _Stream(len(self._shown))
            stream.fragments.append(event)
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
            if event.id not in self._shown and event.error_code != ABORTED and not is_user_event(event)
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
                for_model=stream.ended or _speaker(stream.fragments[0]) not in hidden_speakers,
            )
            for stream in self._unstored()
        ]

    def _unstored(self) -> list[_Stream]:
        streams = [*self._unrepeated, *self._open.values()]
        return sorted((stream for stream in streams if stream.parts), key=lambda stream: stream.begin)


def sealing_events(
    transcript: Transcript, output: RunOutput, outcome: Ending, *, events_before_run: int, agent: str, now: float
) -> list[Event]:
    """The events to append, in order, to a session whose newest run ended with this outcome.

    ``transcript``: of all of the session. ``events_before_run``: how many of its events are older than the run.
    ``agent``: the root agent's name. ``now``: seconds since 1970.
    """
    exchange, of_run = transcript.current, transcript.stored[events_before_run:]
    if not of_run or exchange is None:
        return []
    hidden = output.hidden(of_run) if outcome != "finish" else []
    added = output.unstored_events(of_run, hidden)
    if outcome != "finish":
        added += _closing_events(exchange, added, outcome, agent=agent, is_told=not hidden)
    begin = max(now, of_run[-1].timestamp + EVENT_INTERVAL)
    for number, event in enumerate(added):
        event.timestamp = begin + number * EVENT_INTERVAL
        update_metadata(event, outcome=outcome)
    if hidden:
        update_metadata(added[-1], hidden_events=tuple(event.id for event in hidden))
    return added


def _closing_events(
    exchange: Exchange, streamed: Sequence[Event], outcome: Ending, *, agent: str, is_told: bool
) -> list[Event]:
    """What follows the last words of a run that was stopped or failed. ``streamed``: events with what it streamed.
    ``is_told``: whether the page was shown the newest stored event."""
    stopped = outcome != "error"
    error_text = RUN_STOPPED_TEXT if outcome == "abort" else RUN_FAILED_TEXT
    responses = [
        *_missing_responses(exchange, error_text, closes_pending=stopped),
        *_responses_hidden_from_model(exchange),
    ]
    last_words = [event for event in streamed if EventMetadata.of(event).before is None]
    for event in (*last_words, *responses):
        event.error_code = ABORTED if stopped else RUN_FAILED_CODE
    if is_told and _says_how_run_ended([exchange.stored[-1], *last_words, *responses][-1], outcome):
        return responses
    return [*responses, _end_mark(exchange, agent, ABORTED if outcome == "abort" else RUN_FAILED_CODE)]


def _says_how_run_ended(last: Event, outcome: Ending) -> bool:
    """Whether the last event of the run says it already. ADK has the same code for an abort and a timeout."""
    if outcome == "abort":
        return last.error_code == ABORTED
    return reports_error(last) and last.error_code not in {ABORTED, NO_CONTENT, *FINISH_REASONS}


def _end_mark(exchange: Exchange, agent: str, code: str) -> Event:
    """An event without content, which only says how the run ended."""
    author = next((event.author for event in reversed(exchange.stored) if event.author != USER), agent)
    return Event(author=author, invocation_id=exchange.stored[-1].invocation_id, error_code=code)


def _streamed_event(stream: _Stream, *, before: str | None, for_model: bool) -> Event:
    """An event with a stream that the page was shown. ``before``: the id of the event that the page was shown next.

    ``for_model``: whether the model reads it. If the speaker's complete event was stored after the end of the response,
    the model reads that.
    """
    parts = stream.parts_for_model() if for_model else []
    last = stream.fragments[-1]
    event = _event_like(last, types.Content(role="model", parts=parts) if parts else None)
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


def _missing_responses(exchange: Exchange, error_text: str, *, closes_pending: bool) -> Iterator[Event]:
    """Errors for the calls of the exchange that nothing will answer: one event for each event with such calls."""
    answered = {response.id for event in exchange.stored for response in event.get_function_responses()}
    delegated = {event.isolation_scope for event in exchange.stored}
    for event in exchange.stored:
        open_calls = [
            call
            for call in event.get_function_calls()
            if call.id not in answered
            and (closes_pending or (external_kind(event, call) is None and call.id not in delegated))
        ]
        if open_calls:
            yield _responses_event(event, [(call, {"error": error_text}) for call in open_calls])


def _responses_hidden_from_model(exchange: Exchange) -> Iterator[Event]:
    """Copies of the responses that ADK stored and hides from the model, in events that the model reads.

    ADK closes the calls of a stopped run in one event, and hides that from the model if an approval is among them.
    These events are hidden from the page, which has the responses already.
    """
    responses = [
        (response, any(one.name in HIDDEN_FROM_MODEL for one in event.get_function_responses()))
        for event in exchange.stored
        for response in event.get_function_responses()
    ]
    for_model = {response.id for response, hidden in responses if not hidden}
    missing = {one.id: one.response for one, hidden in responses if hidden and one.id not in for_model}
    for event in exchange.stored:
        calls = [call for call in event.get_function_calls() if call.id in missing]
        readable = [(call, missing[call.id]) for call in calls if call.name not in HIDDEN_FROM_MODEL]
        if readable:
            copy = _responses_event(event, readable)
            update_metadata(copy, hidden_events=(copy.id,))
            yield copy


def _responses_event(event: Event, outcomes: Iterable[tuple[types.FunctionCall, dict[str, Any] | None]]) -> Event:
    """An event with the responses to calls of ``event``."""
    responses = [types.FunctionResponse(id=call.id, name=call.name, response=outcome) for call, outcome in outcomes]
    content = types.Content(role="user", parts=[types.Part(function_response=response) for response in responses])
    return _event_like(event, content)


def _event_like(template: Event, content: types.Content | None) -> Event:
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


def _joined_parts(parts: Iterable[types.Part]) -> list[types.Part]:
    """Neighbouring texts, and neighbouring thoughts, as one part each; files and code as they are.

    Fragments of calls are left out: they are useless without the rest.
    """
    joined: list[types.Part] = []
    for part in parts:
        newest = joined[-1] if joined and joined[-1].text else None
        if part.inline_data is not None or part.file_data is not None or _is_code(part):
            joined.append(part)
            continue
        if part.text and (newest is None or bool(newest.thought) is not bool(part.thought)):
            newest = types.Part(text="", thought=part.thought)
            joined.append(newest)
        if newest is not None:
            newest.text = f"{newest.text}{part.text or ''}"
            if part.thought or not part.text:  # the signature of a text comes on a later part without text
                newest.thought_signature = part.thought_signature or newest.thought_signature
    return joined
