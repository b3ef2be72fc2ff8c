"""Events that we append to a session when a run failed or was stopped.

ADK stores only complete events. The stored session alone does not show what an interrupted run had streamed, which
calls it left without a response, and that it was interrupted at all. With the events that we append, history and the
next prompt agree with what the page showed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
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
    is_user_event,
)
from stream_protocol.session.transcript import (
    EVENT_INTERVAL,
    HIDDEN_FROM_MODEL,
    Exchange,
    StoredCall,
    StoredResponse,
    Transcript,
    update_metadata,
)

RUN_FAILED_CODE: Final = "RUN_FAILED"
"""``error_code`` of the events after an error. After an abort or a timeout they have ADK's own code, ``ABORTED``, which
closes what is pending; but after a timeout the event that only says how the run ended has this code."""

_Speaker = tuple[str, str | None, str]
"""Author, branch and node path of an event."""


class RunOutput:
    """How page and session differ about a run: what was shown and is not stored, and what is stored and hidden."""

    def __init__(self) -> None:
        self._fragments: dict[_Speaker, list[Event]] = {}
        self._shown: set[str] = set()
        """The ids of the complete events that the page was shown."""

    def add(self, event: Event) -> None:
        """Takes an event of the run that the page was shown."""
        if event.partial:
            self._fragments.setdefault(_speaker(event), []).append(event)
            return
        self._shown.add(event.id)
        if event.content is not None or event.finish_reason is not None:
            self._fragments.pop(_speaker(event), None)

    def hidden(self, stored: Iterable[Event]) -> list[Event]:
        """Those of the run's stored events that the page was not shown.

        They came after the end of the response, or not at all: a run can be cancelled while ADK stores an event.
        """
        return [
            event
            for event in stored
            if event.id not in self._shown and event.error_code != ABORTED and not is_user_event(event)
        ]

    def unstored(self) -> Iterator[tuple[Event, list[types.Part]]]:
        """For each speaker: its last fragment, and the parts that it streamed after its newest complete event."""
        for events in self._fragments.values():
            parts = [part for event in events if event.content is not None for part in event.content.parts or ()]
            if joined := _joined_parts(parts):
                yield events[-1], joined


def interruption_events(
    transcript: Transcript, output: RunOutput, outcome: Ending, *, events_before_run: int, agent: str, now: float
) -> list[Event]:
    """The events to append, in order, to a session whose newest run ended with this outcome; none after ``"finish"``.

    ``transcript``: of all of the session. ``events_before_run``: how many of its events are older than the run.
    ``agent``: the root agent's name. ``now``: seconds since 1970.
    """
    exchange, of_run = transcript.current, transcript.stored[events_before_run:]
    if outcome == "finish" or not of_run or exchange is None:
        return []
    stopped = outcome != "error"
    error_text = RUN_STOPPED_TEXT if outcome == "abort" else RUN_FAILED_TEXT
    hidden = output.hidden(of_run)
    stored_speakers = {_speaker(event) for event in hidden if event.content is not None}
    added = [_unstored_content(fragment, parts, stored_speakers) for fragment, parts in output.unstored()]
    added += _missing_responses(exchange, error_text, closes_pending=stopped)
    added += _responses_hidden_from_model(exchange)
    for event in added:
        event.error_code = ABORTED if stopped else RUN_FAILED_CODE
    last_code = [*of_run, *added][-1].error_code
    if hidden or not _says_how_run_ended(last_code, outcome):
        added.append(_end_mark(exchange, agent, ABORTED if outcome == "abort" else RUN_FAILED_CODE))
    begin = max(now, of_run[-1].timestamp + EVENT_INTERVAL)
    for number, event in enumerate(added):
        event.timestamp = begin + number * EVENT_INTERVAL
        update_metadata(event, outcome=outcome)
    if hidden:
        update_metadata(added[-1], hidden_events=tuple(event.id for event in hidden))
    return added


def _says_how_run_ended(code: str | None, outcome: Ending) -> bool:
    """Whether a last event with this error code says it already. ADK has the same code for an abort and a timeout."""
    if outcome == "abort":
        return code == ABORTED
    return code is not None and code not in {ABORTED, NO_CONTENT, *FINISH_REASONS}


def _end_mark(exchange: Exchange, agent: str, code: str) -> Event:
    """An event without content, which only says how the run ended."""
    author = next((event.author for event in reversed(exchange.stored) if event.author != USER), agent)
    return Event(author=author, invocation_id=exchange.stored[-1].invocation_id, error_code=code)


def _unstored_content(fragment: Event, parts: list[types.Part], stored_speakers: Collection[_Speaker]) -> Event:
    """An event with what the page was shown and ADK has not stored.

    The model does not read all of it. Code is left out, since some models refuse code without its result. If the
    speaker's complete event was stored after the end of the response, all is left out: the model reads that event.
    """
    for_model = [] if _speaker(fragment) in stored_speakers else [part for part in parts if not _is_code(part)]
    event = _event_like(fragment, types.Content(role="model", parts=for_model) if for_model else None)
    if len(for_model) < len(parts):
        shown = types.Content(role="model", parts=parts)
        update_metadata(event, shown_content=shown.model_dump(mode="json", exclude_none=True))
    if fragment.finish_reason is not None:  # only such a fragment tells the page which model it is
        event.model_version = fragment.model_version
    return event


def _is_code(part: types.Part) -> bool:
    return part.executable_code is not None or part.code_execution_result is not None


def _missing_responses(exchange: Exchange, error_text: str, *, closes_pending: bool) -> Iterator[Event]:
    """Errors for the calls of the exchange that nothing will answer: one event for each event with such calls."""
    delegated = {event.isolation_scope for event in exchange.stored}
    unanswered = (
        call
        for call in exchange.calls
        if not (call.responses or call.has_placeholder)
        and (closes_pending or (call.kind is None and call.call.id not in delegated))
    )
    for _, calls in groupby(unanswered, key=lambda call: call.index):
        yield _responses_event([(call, {"error": error_text}) for call in calls])


def _responses_hidden_from_model(exchange: Exchange) -> Iterator[Event]:
    """Copies of the responses that ADK stored and hides from the model, in events that the model reads.

    ADK closes the calls of a stopped run in one event, and hides that from the model if an approval is among them.
    These events are hidden from the page, which has the responses already.
    """
    unread = (
        call
        for call in exchange.calls
        if call.call.name not in HIDDEN_FROM_MODEL and call.responses and not any(map(_is_readable, call.responses))
    )
    for _, calls in groupby(unread, key=lambda call: call.index):
        copy = _responses_event([(call, call.responses[-1].response.response) for call in calls])
        update_metadata(copy, hidden_events=(copy.id,))
        yield copy


def _is_readable(response: StoredResponse) -> bool:
    return not any(one.name in HIDDEN_FROM_MODEL for one in response.event.get_function_responses())


def _responses_event(outcomes: Sequence[tuple[StoredCall, dict[str, Any] | None]]) -> Event:
    """An event with the responses to calls of one event."""
    responses = [
        types.FunctionResponse(id=stored.call.id, name=stored.call.name, response=outcome)
        for stored, outcome in outcomes
    ]
    content = types.Content(role="user", parts=[types.Part(function_response=response) for response in responses])
    return _event_like(outcomes[0][0].event, content)


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
