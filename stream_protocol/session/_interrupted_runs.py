"""Records of interrupted runs: the events to append when a run fails or is stopped.

ADK stores complete events alone. Nobody who was not there would know what an interrupted run had streamed, which calls
it left without a response, and that it was interrupted at all. The records make history and the next prompt agree with
what the page showed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.convert import ABORTED, FINISH_REASONS, NO_CONTENT, RUN_FAILED_TEXT, RUN_STOPPED_TEXT, Ending
from stream_protocol.session._exchanges import conversation_events, current_exchange
from stream_protocol.session._metadata import (
    EVENT_INTERVAL,
    HIDDEN_EVENTS_KEY,
    METADATA_KEY,
    SHOWN_CONTENT_KEY,
    own_metadata,
)
from stream_protocol.session._pending_calls import HIDDEN_FROM_MODEL

FAILED: Final = "RUN_FAILED"
"""``error_code`` of a record after an error. After an abort it is ADK's own code, which closes what is pending."""

_Speaker = tuple[str, str | None, str]
"""Author, branch and node path of an event."""


class RunOutput:
    """Where the page and the session differ about a run: what was shown and not stored, and what was stored unseen."""

    def __init__(self) -> None:
        self._fragments: dict[_Speaker, list[Event]] = {}
        self.unseen: list[Event] = []
        """Stored events that came when the response had ended, so that no page saw them."""

    def add(self, event: Event) -> None:
        """Takes an event of the run that the page was shown."""
        if event.partial:
            self._fragments.setdefault(_speaker(event), []).append(event)
        elif event.content is not None or event.finish_reason is not None:
            self._fragments.pop(_speaker(event), None)

    def add_unseen(self, event: Event) -> None:
        """Takes an event of the run that came when the response had ended."""
        if not event.partial and event.error_code != ABORTED:
            self.unseen.append(event)

    def unstored(self) -> Iterator[tuple[Event, list[types.Part]]]:
        """What was streamed behind each speaker's newest complete event: a fragment of the speaker, and the parts."""
        for events in self._fragments.values():
            parts = [part for event in events if event.content is not None for part in event.content.parts or ()]
            if joined := _joined_parts(parts):
                yield events[-1], joined


def interruption_events(
    events: Sequence[Event], output: RunOutput, outcome: Ending, *, begun_at: int, agent: str, now: float
) -> list[Event]:
    """The events to append to a session, in order, whose newest run ended with this outcome; none after ``"finish"``.

    ``events``: all of the session. ``begun_at``: how many of them are older than the run. ``agent``: the root agent's
    name. ``now``: seconds since 1970.
    """
    exchange = current_exchange(conversation_events(events))
    if outcome == "finish" or begun_at >= len(events) or not exchange:
        return []
    stopped = outcome != "error"
    error_text = RUN_STOPPED_TEXT if outcome == "abort" else RUN_FAILED_TEXT
    stored_speakers = {_speaker(event) for event in output.unseen if event.content is not None}
    records = [_unstored_content(fragment, parts, stored_speakers) for fragment, parts in output.unstored()]
    records += _missing_responses(exchange, error_text, closes_pending=stopped)
    records += _responses_hidden_from_model(exchange)
    for event in records:
        event.error_code = ABORTED if stopped else FAILED
    if output.unseen or not _says_how_run_ended([*events[begun_at:], *records][-1].error_code, outcome):
        records.append(_end_mark(exchange, agent, ABORTED if outcome == "abort" else FAILED))
    begin = max(now, events[-1].timestamp + EVENT_INTERVAL)
    for number, event in enumerate(records):
        event.timestamp = begin + number * EVENT_INTERVAL
        event.custom_metadata = {METADATA_KEY: {"sealed": outcome, **own_metadata(event)}}
    if output.unseen:
        hidden = {HIDDEN_EVENTS_KEY: [event.id for event in output.unseen]}
        records[-1].custom_metadata = {METADATA_KEY: {**own_metadata(records[-1]), **hidden}}
    return records


def _says_how_run_ended(code: str | None, outcome: Ending) -> bool:
    """Whether a last event with this error code says it already. ADK has one code for an abort and a timeout."""
    if outcome == "abort":
        return code == ABORTED
    return code is not None and code not in {ABORTED, NO_CONTENT, *FINISH_REASONS}


def _end_mark(exchange: Sequence[Event], agent: str, code: str) -> Event:
    """An event without content, which says no more than how the run ended."""
    author = next((event.author for event in reversed(exchange) if event.author != "user"), agent)
    return Event(author=author, invocation_id=exchange[-1].invocation_id, error_code=code)


def _unstored_content(fragment: Event, parts: list[types.Part], stored_speakers: Collection[_Speaker]) -> Event:
    """What the page was shown and ADK has not stored.

    The model does not read all of it. Code is left out, since a model may take none without its result. Where the
    speaker's complete event was stored after the response, all is left out: the model reads that event.
    """
    read = [] if _speaker(fragment) in stored_speakers else [part for part in parts if not _is_code(part)]
    event = _event_like(fragment, types.Content(role="model", parts=read) if read else None)
    if len(read) < len(parts):
        shown = types.Content(role="model", parts=parts)
        event.custom_metadata = {METADATA_KEY: {SHOWN_CONTENT_KEY: shown.model_dump(mode="json", exclude_none=True)}}
    return event


def _is_code(part: types.Part) -> bool:
    return part.executable_code is not None or part.code_execution_result is not None


def _missing_responses(exchange: Sequence[Event], error_text: str, *, closes_pending: bool) -> Iterator[Event]:
    """An error for each call of the exchange that nothing will answer: one event for each event with such calls."""
    answered = {response.id for event in exchange for response in event.get_function_responses()}
    delegated = {event.isolation_scope for event in exchange}
    for event in exchange:
        open_calls = [
            call
            for call in event.get_function_calls()
            if call.id not in answered
            and (closes_pending or call.id not in {*(event.long_running_tool_ids or ()), *delegated})
        ]
        if open_calls:
            yield _responses_event(event, [(call, {"error": error_text}) for call in open_calls])


def _responses_hidden_from_model(exchange: Sequence[Event]) -> Iterator[Event]:
    """The responses that ADK stored and hides from the model, once more in events that the model reads.

    ADK closes the calls of a stopped run in one event, and hides that from the model if an approval is among them.
    These events are hidden from the page, which has the responses already.
    """
    responses = [
        (response, any(one.name in HIDDEN_FROM_MODEL for one in event.get_function_responses()))
        for event in exchange
        for response in event.get_function_responses()
    ]
    read = {response.id for response, hidden in responses if not hidden}
    missed = {response.id: response.response for response, hidden in responses if hidden and response.id not in read}
    for event in exchange:
        calls = [call for call in event.get_function_calls() if call.id in missed]
        readable = [(call, missed[call.id]) for call in calls if call.name not in HIDDEN_FROM_MODEL]
        if readable:
            again = _responses_event(event, readable)
            again.custom_metadata = {METADATA_KEY: {HIDDEN_EVENTS_KEY: [again.id]}}
            yield again


def _responses_event(event: Event, outcomes: Iterable[tuple[types.FunctionCall, dict[str, Any] | None]]) -> Event:
    """The responses to calls of an event."""
    responses = [types.FunctionResponse(id=call.id, name=call.name, response=outcome) for call, outcome in outcomes]
    content = types.Content(role="user", parts=[types.Part(function_response=response) for response in responses])
    return _event_like(event, content)


def _event_like(model: Event, content: types.Content | None) -> Event:
    """An event of the same speaker."""
    return Event(
        author=model.author,
        branch=model.branch,
        invocation_id=model.invocation_id,
        isolation_scope=model.isolation_scope,
        node_info=model.node_info.model_copy(),
        content=content,
    )


def _speaker(event: Event) -> _Speaker:
    return event.author, event.branch, event.node_info.path


def _joined_parts(parts: Iterable[types.Part]) -> list[types.Part]:
    """Neighbouring texts, and neighbouring thoughts, as one part each; files and code as they are.

    Calls are left out: in pieces they mean nothing.
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
            if part.thought or not part.text:  # a text is signed by what follows it
                newest.thought_signature = part.thought_signature or newest.thought_signature
    return joined
