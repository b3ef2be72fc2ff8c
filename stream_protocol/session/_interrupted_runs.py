"""Creates events to append after a run, so that the history and the next prompt match the client's screen.

ADK stores only complete events. When a run fails or is stopped, ADK stores no further event. So a session may lack
streamed text, the end of a run, and responses to calls.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import (
    ABORTED,
    ANSWERED_KEY,
    NESTED_EVENTS,
    USER,
    CallReference,
    a2a_markers,
    is_aborted,
    is_failure,
)
from stream_protocol.session._run_output import RunOutput, event_like, for_client_only
from stream_protocol.session.transcript import (
    EVENT_INTERVAL,
    HIDDEN_FROM_MODEL,
    EventMetadata,
    StoredCall,
    StoredResponse,
    Transcript,
    Turn,
    update_metadata,
)
from stream_protocol.stream import RUN_FAILED_TEXT, TOOL_FAILED_TEXT, Ending
from stream_protocol.wire import RUN_STOPPED_TEXT, storable_text

RUN_FAILED_CODE: Final = "RUN_FAILED"
"""The ``error_code`` of events that are appended after an error. Events after an abort have ADK's code ``ABORTED``,
which closes pending calls. After a timeout, the last event has ``RUN_FAILED``, and the other events have ``ABORTED``.
"""


def completing_events(
    transcript: Transcript, output: RunOutput, outcome: Ending, *, events_before_run: int, agent: str, now: float
) -> list[Event]:
    """Return the events that the session lacks after its newest run. The caller must append them in order.

    ``transcript``: the complete session. ``outcome``: how the run ended. ``events_before_run``: the number of events
    stored before the run. ``agent``: the root agent's name. ``now``: seconds since 1970.
    """
    turn, of_run = transcript.current, transcript.stored[events_before_run:]
    if not of_run or turn is None:
        return []
    hidden = output.hidden(of_run) if outcome != "finish" else []
    added = output.unstored_events(of_run, hidden)
    last_shown = len(added) - 1
    if outcome != "finish":
        added += _closing_events(turn, added, outcome, output, agent=agent, hidden=hidden)
    for marker in a2a_markers([*of_run, *added]):
        marker.error_code = [*of_run, *added][-1].error_code
        added.append(marker)
    begin = max(now, of_run[-1].timestamp + EVENT_INTERVAL)
    for number, event in enumerate(added):
        event.timestamp = begin + number * EVENT_INTERVAL
        update_metadata(event, outcome=outcome)
    if added and outcome in ("error", "timeout") and output.error_text is not None:
        update_metadata(added[-1], error_text=storable_text(output.error_text))
    if hidden:  # on the last event with shown content, because the worker may lose the chat after storing this event
        update_metadata(added[last_shown], hidden_events=tuple(event.id for event in hidden))
    return added


def tool_failure_events(transcript: Transcript, raised: Iterable[CallReference], *, run_failed: bool) -> list[Event]:
    """Return error responses, as events, for calls whose tools raised an exception. ADK stores no responses to these
    calls. The caller must append the events after the run.

    ``transcript``: the complete session. ``raised``: the calls. ``run_failed``: True if the exception ended the run.
    The events then have an error code.
    """
    turn, found = transcript.current, {transcript.find_call(reference) for reference in raised}
    unanswered = [call for call in (turn.calls if turn is not None else ()) if call in found and not call.responses]
    last, events = transcript.stored[-1], list[Event]()
    code_and_message = (
        (last.error_code, last.error_message) if _reports_outcome(last, "error") else (RUN_FAILED_CODE, None)
    )
    for _, calls in groupby(unanswered, key=lambda call: call.index):
        event = _responses_event([(call, {"error": TOOL_FAILED_TEXT}) for call in calls])
        if run_failed:
            event.error_code, event.error_message = code_and_message
        event.timestamp = max(event.timestamp, last.timestamp + (1 + len(events)) * EVENT_INTERVAL)
        update_metadata(event, outcome="error" if run_failed else "finish")
        events.append(event)
    return events


def _closing_events(
    turn: Turn,
    streamed: Sequence[Event],
    outcome: Ending,
    output: RunOutput,
    *,
    agent: str,
    hidden: Sequence[Event],
) -> list[Event]:
    """Return the events to append after the streamed text of a failed or stopped run. They contain responses to
    unanswered calls, and the end of the run.

    ``streamed``: events with text that the client received but ADK did not store. ``hidden``: stored events that the
    client did not receive. If the client received an error text and ``streamed`` is empty, the result has at least one
    event. The caller stores the error text in this event.
    """
    stopped = outcome != "error"
    error_text = RUN_STOPPED_TEXT if outcome == "abort" else RUN_FAILED_TEXT
    hidden_ids = {event.id for event in hidden}
    responses = [
        *(_hidden_responses(turn, hidden) if stopped else ()),
        *_missing_responses(turn, error_text, closes_pending=stopped, hidden=hidden_ids, failed=output.failed_calls),
        *_responses_hidden_from_model(turn),
    ]
    last_texts = [event for event in streamed if EventMetadata.of(event).before is None]
    for event in (*last_texts, *responses):
        event.error_code = ABORTED if stopped else RUN_FAILED_CODE
    is_reported = _reports_outcome([turn.stored[-1], *last_texts, *responses][-1], outcome)
    has_error_text = outcome != "abort" and output.error_text is not None
    if is_reported and not hidden and (streamed or responses or not has_error_text):
        return responses
    return [*responses, _end_mark(turn, agent, ABORTED if outcome == "abort" else RUN_FAILED_CODE)]


def _hidden_responses(turn: Turn, hidden: Sequence[Event]) -> Iterator[Event]:
    """ADK stored the responses to some calls after the client's stream had ended. Yield events with error responses for
    these calls.

    Only clients get these events, so that the chat's history shows the same errors as the stream. The model reads ADK's
    stored responses.
    """
    hidden_ids = {event.id for event in hidden}
    shown_calls = (call for call in turn.calls if call.event.id not in hidden_ids)
    answering = {response.facts.id for call in shown_calls for response in call.responses}
    return (for_client_only(stopped_responses(event)) for event in hidden if event.id in answering)


def stopped_responses(late: Event) -> Event:
    """``late``: an event that came after the client's stream had ended. Return a copy in which each function response
    is ADK's error for a stopped run.

    If an agent ran inside a call, the copy keeps the stored events of this agent.
    """
    metadata = late.custom_metadata or {}
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=answer.id, name=answer.name, response={"error": RUN_STOPPED_TEXT}
            )
        )
        for answer in late.get_function_responses()
    ]
    event = event_like(late, types.Content(role="user", parts=parts))
    event.error_code = ABORTED
    event.custom_metadata = {key: metadata[key] for key in (NESTED_EVENTS, ANSWERED_KEY) if key in metadata}
    return event


def _reports_outcome(last: Event, outcome: Ending) -> bool:
    """Return True if the run's last event already reports how the run ended."""
    return is_aborted(last) if outcome == "abort" else is_failure(last)


def _end_mark(turn: Turn, agent: str, code: str) -> Event:
    author = next((event.author for event in reversed(turn.stored) if event.author != USER), agent)
    return Event(author=author, invocation_id=turn.stored[-1].invocation_id, error_code=code)


def _missing_responses(
    turn: Turn, error_text: str, *, closes_pending: bool, hidden: Container[str], failed: Container[str]
) -> Iterator[Event]:
    """Yield events with error responses for the turn's unanswered tool calls. Calls from the same event get their
    responses in one event.

    ``closes_pending``: True to include calls that wait for the user's answer. ``hidden``: ids of stored events that the
    client did not receive. If a call waits for the client, responses in such events are ignored. ``failed``: the
    ``toolCallId`` of each call whose tool raised an exception.
    """
    unanswered = (
        call
        for call in turn.calls
        if not (call.has_placeholder or _is_answered(call, hidden))
        and (
            closes_pending
            or call.event.id in hidden
            or call.known.id in failed
            or (call.kind is None and not call.is_delegated)
        )
    )
    for _, calls in groupby(unanswered, key=lambda call: call.index):
        texts = [(call, TOOL_FAILED_TEXT if call.known.id in failed else error_text) for call in calls]
        yield _responses_event([(call, {"error": text}) for call, text in texts])


def _is_answered(call: StoredCall, hidden: Container[str]) -> bool:
    return any(call.kind is None or response.facts.id not in hidden for response in call.responses)


def _responses_hidden_from_model(turn: Turn) -> Iterator[Event]:
    """Yield copies of stored function responses. ADK hides the originals from the model, but not the copies.

    When a run is stopped, ADK writes one event with responses to all unanswered calls. If one of these calls is an
    approval request, ADK hides the whole event. The client has already received the responses, so the copies are hidden
    from the client.
    """
    unread = (
        call
        for call in turn.calls
        if call.name not in HIDDEN_FROM_MODEL and call.responses and not any(map(_is_readable, call.responses))
    )
    for _, calls in groupby(unread, key=lambda call: call.index):
        copy = _responses_event([(call, call.responses[-1].result.value) for call in calls])
        update_metadata(copy, hidden_events=(copy.id,))
        yield copy


def _is_readable(response: StoredResponse) -> bool:
    return not any(result.name in HIDDEN_FROM_MODEL for result in response.facts.results)


def _responses_event(outcomes: Sequence[tuple[StoredCall, dict[str, Any] | None]]) -> Event:
    """Return one event with responses to the given calls. All these calls must be from the same event."""
    responses = [
        types.FunctionResponse(id=stored.call.id, name=stored.name, response=outcome) for stored, outcome in outcomes
    ]
    content = types.Content(role="user", parts=[types.Part(function_response=response) for response in responses])
    return event_like(outcomes[0][0].event, content)
