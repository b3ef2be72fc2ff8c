"""What is stored when a run breaks off: sealing events, so that history and the next prompt agree with the screen.

ADK stores complete events alone. What a broken run had streamed, the calls that it left without a response, and that it
broke off at all would be known to nobody who was not there.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.conversation.metadata import METADATA_KEY
from stream_protocol.conversation.stretches import current_stretch, live_events
from stream_protocol.convert.conversion import RUN_FAILED, RUN_STOPPED, Ending
from stream_protocol.convert.finish import ABORTED

FAILED: Final = "RUN_FAILED"
"""``error_code`` of a sealing event after an error. After an abort it is ADK's own code."""

TICK: Final = 0.001
"""Seconds between sealing events. ADK's services order events by their time."""

_Speaker = tuple[str, str | None, str]


class Fragments:
    """What a run has streamed and ADK has not stored, by speaker: the fragments behind the newest complete event."""

    def __init__(self) -> None:
        self._by_speaker: dict[_Speaker, list[Event]] = {}

    def add(self, event: Event) -> None:
        """Takes an event of the run that was shown."""
        if event.partial:
            self._by_speaker.setdefault(_speaker(event), []).append(event)
        else:
            self.store(event)

    def store(self, event: Event) -> None:
        """Takes a complete event: what its speaker had streamed is stored with it."""
        if event.content is not None or event.finish_reason is not None:
            self._by_speaker.pop(_speaker(event), None)

    def spoken(self) -> Iterator[tuple[Event, list[types.Part]]]:
        """For each speaker a fragment that says who it is, and the text and thoughts that are left."""
        for events in self._by_speaker.values():
            parts = [part for event in events if event.content is not None for part in event.content.parts or ()]
            if joined := _joined(parts):
                yield events[-1], joined


def sealing_events(
    events: Sequence[Event], fragments: Fragments, outcome: Ending, *, begun_at: int, agent: str
) -> list[Event]:
    """The events to append to a session whose newest run ended so. None after a run that finished.

    ``begun_at``: how many of the session's events are older than the run. ``agent``: the root agent's name.
    """
    stretch = current_stretch(live_events(events))
    if outcome == "finish" or begun_at >= len(events) or not stretch:
        return []
    told = any(event.error_code for event in events[begun_at:])
    code, text = (ABORTED, RUN_STOPPED) if outcome == "abort" else (FAILED, RUN_FAILED)
    sealing = [_said(fragment, parts) for fragment, parts in fragments.spoken()]
    sealing += _responses(stretch, text, closes_pending=outcome == "abort")
    if not sealing and not told:
        sealing = [Event(author=_last_author(stretch, agent), invocation_id=stretch[-1].invocation_id)]
    begin = max(time.time(), events[-1].timestamp + TICK)
    for number, event in enumerate(sealing):
        event.error_code = code
        event.timestamp = begin + number * TICK
        event.custom_metadata = {METADATA_KEY: {"sealed": outcome}}
    return sealing


def _said(fragment: Event, parts: list[types.Part]) -> Event:
    return _event_like(fragment, types.Content(role="model", parts=parts))


def _responses(stretch: Sequence[Event], text: str, *, closes_pending: bool) -> Iterator[Event]:
    """An error for each call of the stretch that nothing will answer, beside those that were made with it."""
    answered = {response.id for event in stretch for response in event.get_function_responses()}
    handed_over = {event.isolation_scope for event in stretch}
    for event in stretch:
        open_calls = [
            call
            for call in event.get_function_calls()
            if call.id not in answered
            and (closes_pending or call.id not in {*(event.long_running_tool_ids or ()), *handed_over})
        ]
        if open_calls:
            parts = [
                types.Part(
                    function_response=types.FunctionResponse(id=call.id, name=call.name, response={"error": text})
                )
                for call in open_calls
            ]
            yield _event_like(event, types.Content(role="user", parts=parts))


def _event_like(model: Event, content: types.Content) -> Event:
    """An event of the same speaker."""
    return Event(
        author=model.author,
        branch=model.branch,
        invocation_id=model.invocation_id,
        isolation_scope=model.isolation_scope,
        node_info=model.node_info.model_copy(),
        content=content,
    )


def _last_author(stretch: Sequence[Event], agent: str) -> str:
    return next((event.author for event in reversed(stretch) if event.author != "user"), agent)


def _speaker(event: Event) -> _Speaker:
    return event.author, event.branch, event.node_info.path


def _joined(parts: Iterable[types.Part]) -> list[types.Part]:
    """Text and thoughts, each run of one kind as one part. Unfinished calls and the rest have no meaning in pieces."""
    said = [part for part in parts if part.text]
    return [_merged(list(group)) for _, group in groupby(said, key=lambda part: bool(part.thought))]


def _merged(parts: Sequence[types.Part]) -> types.Part:
    signature: Any = next((part.thought_signature for part in reversed(parts) if part.thought_signature), None)
    text = "".join(part.text or "" for part in parts)
    return types.Part(text=text, thought=parts[0].thought, thought_signature=signature)
