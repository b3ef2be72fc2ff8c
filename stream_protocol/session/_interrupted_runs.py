"""What is stored when a run breaks off: sealing events, so that history and the next prompt agree with the screen.

ADK stores complete events alone. What a broken run had streamed, the calls that it left without a response, and that it
broke off at all would be known to nobody who was not there.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.convert import ABORTED, FINISH_REASONS, NO_CONTENT, RUN_FAILED, RUN_STOPPED, Ending
from stream_protocol.session._exchanges import conversation_events, current_exchange
from stream_protocol.session._metadata import METADATA_KEY, TOLD, UNTOLD, own_metadata
from stream_protocol.session._pending_calls import KEPT_FROM_THE_MODEL

FAILED: Final = "RUN_FAILED"
"""``error_code`` of a sealing event after an error. After an abort it is ADK's own code, which closes what waits."""

TICK: Final = 0.001
"""Seconds between sealing events. ADK's services order events by their time."""

_Speaker = tuple[str, str | None, str]


class RunOutput:
    """What a run has streamed and ADK has not stored, by speaker: the fragments behind the newest complete event."""

    def __init__(self) -> None:
        self._by_speaker: dict[_Speaker, list[Event]] = {}
        self.late: list[Event] = []

    def add(self, event: Event) -> None:
        """Takes an event of the run that was shown."""
        if event.partial:
            self._by_speaker.setdefault(_speaker(event), []).append(event)
        elif event.content is not None or event.finish_reason is not None:
            self._by_speaker.pop(_speaker(event), None)

    def add_unseen(self, event: Event) -> None:
        """Takes an event that came when the response had ended: it is stored, and nobody saw it."""
        if not event.partial and event.error_code != ABORTED:
            self.late.append(event)

    def spoken(self) -> Iterator[tuple[Event, list[types.Part]]]:
        """For each speaker a fragment that says who it is, and the text and thoughts that are left."""
        for events in self._by_speaker.values():
            parts = [part for event in events if event.content is not None for part in event.content.parts or ()]
            if joined := _joined(parts):
                yield events[-1], joined


def interruption_events(
    events: Sequence[Event], fragments: RunOutput, outcome: Ending, *, begun_at: int, agent: str
) -> list[Event]:
    """The events to append to a session whose newest run ended so. None after a run that finished.

    ``begun_at``: how many of the session's events are older than the run. ``agent``: the root agent's name.
    """
    exchange = current_exchange(conversation_events(events))
    if outcome == "finish" or begun_at >= len(events) or not exchange:
        return []
    stopped = outcome != "error"
    text = RUN_STOPPED if outcome == "abort" else RUN_FAILED
    late = {_speaker(event) for event in fragments.late if event.content is not None}
    sealing = [_said(fragment, parts, late) for fragment, parts in fragments.spoken()]
    sealing += _responses(exchange, text, closes_pending=stopped)
    sealing += _missed_responses(exchange)
    for event in sealing:
        event.error_code = ABORTED if stopped else FAILED
    if fragments.late or not _tells([*events[begun_at:], *sealing][-1].error_code, outcome):
        sealing.append(_mark(exchange, agent, ABORTED if outcome == "abort" else FAILED))
    begin = max(time.time(), events[-1].timestamp + TICK)
    for number, event in enumerate(sealing):
        event.timestamp = begin + number * TICK
        event.custom_metadata = {METADATA_KEY: {"sealed": outcome, **own_metadata(event)}}
    if fragments.late:
        sealing[-1].custom_metadata = {
            METADATA_KEY: {**own_metadata(sealing[-1]), UNTOLD: [event.id for event in fragments.late]}
        }
    return sealing


def _tells(code: str | None, outcome: Ending) -> bool:
    """Whether this is how the run ended, if it is the last word on it. ADK tells of a timeout as of an abort."""
    if outcome == "abort":
        return code == ABORTED
    return code is not None and code not in {ABORTED, NO_CONTENT, *FINISH_REASONS}


def _mark(exchange: Sequence[Event], agent: str, code: str) -> Event:
    """Says no more than how the run ended."""
    author = next((event.author for event in reversed(exchange) if event.author != "user"), agent)
    return Event(author=author, invocation_id=exchange[-1].invocation_id, error_code=code)


def _said(fragment: Event, parts: list[types.Part], late: Collection[_Speaker]) -> Event:
    """What was shown. Code goes to history alone, since the model may take none without its result; and so does all of
    it where it has been stored too late to be shown: the model has more."""
    read = [] if _speaker(fragment) in late else [part for part in parts if not _is_code(part)]
    event = _event_like(fragment, types.Content(role="model", parts=read) if read else None)
    if len(read) < len(parts):
        told = types.Content(role="model", parts=parts)
        event.custom_metadata = {METADATA_KEY: {TOLD: told.model_dump(mode="json", exclude_none=True)}}
    return event


def _is_code(part: types.Part) -> bool:
    return part.executable_code is not None or part.code_execution_result is not None


def _responses(exchange: Sequence[Event], text: str, *, closes_pending: bool) -> Iterator[Event]:
    """An error for each call of the exchange that nothing will answer, beside those that were made with it."""
    answered = {response.id for event in exchange for response in event.get_function_responses()}
    handed_over = {event.isolation_scope for event in exchange}
    for event in exchange:
        open_calls = [
            call
            for call in event.get_function_calls()
            if call.id not in answered
            and (closes_pending or call.id not in {*(event.long_running_tool_ids or ()), *handed_over})
        ]
        if open_calls:
            yield _closing(event, [(call, {"error": text}) for call in open_calls])


def _missed_responses(exchange: Sequence[Event]) -> Iterator[Event]:
    """For the model, what it cannot read where it stands: ADK closes the calls of a stopped run in one event, which it
    keeps from the model if an approval is among them."""
    responses = [
        (response, any(one.name in KEPT_FROM_THE_MODEL for one in event.get_function_responses()))
        for event in exchange
        for response in event.get_function_responses()
    ]
    read = {response.id for response, kept in responses if not kept}
    missed = {response.id: response.response for response, kept in responses if kept and response.id not in read}
    for event in exchange:
        calls = [call for call in event.get_function_calls() if call.id in missed]
        told = [(call, missed[call.id]) for call in calls if call.name not in KEPT_FROM_THE_MODEL]
        if told:
            again = _closing(event, told)
            again.custom_metadata = {METADATA_KEY: {UNTOLD: [again.id]}}
            yield again


def _closing(event: Event, outcomes: Iterable[tuple[types.FunctionCall, dict[str, Any] | None]]) -> Event:
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


def _joined(parts: Iterable[types.Part]) -> list[types.Part]:
    """Text and thoughts, each run of one kind as one part, files and code. Calls have no meaning in pieces."""
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
