"""A stored session -> the messages that a client of it shows.

This module builds no message itself. Each stored response goes through the converter, with the earlier events of its
message as the past, and through the client's reducer, as it did when it was live. What the client changed itself in
between (the answer to an approval request) is changed here as the client does it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Unpack, cast

from stream_protocol.convert import (
    ConverterOptions,
    Settings,
    WarnOnce,
    chunk_conversion,
    find_task_agents,
    hide_tools,
    is_user_event,
    read_events,
)
from stream_protocol.convert.calls import is_confirmed
from stream_protocol.session._metadata import EventMetadata
from stream_protocol.session._transcript import Exchange, Transcript
from stream_protocol.session._user_message import user_message
from stream_protocol.wire import ClientStreamError
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event
    from google.adk.sessions import Session
    from google.genai import types

    from stream_protocol.wire import AnyChunk, UIMessage


def session_to_messages(
    session: Session | dict[str, Any], *, running: bool = False, **options: Unpack[ConverterOptions]
) -> list[UIMessage]:
    """The messages of a chat, ids included, as a client has them that received each response live.

    ``session``: may also be a dictionary with ``events``, as an Agent Engine and ADK's API server send it.
    ``options``: the converter's; give those with which the chat is served. Delegations to task-mode agents are hidden,
    as ``ChatService`` hides them. ``running``: whether the newest response is still being written; its calls stay open
    then.

    The user's messages have the ids that their client gave them, or else those of their events.
    """
    events = read_events(session["events"] if isinstance(session, dict) else session.events, WarnOnce())
    return transcript_to_messages(Transcript(events), running=running, **options)


def transcript_to_messages(
    transcript: Transcript, *, running: bool = False, **options: Unpack[ConverterOptions]
) -> list[UIMessage]:
    """``session_to_messages`` of a session that was read before."""
    options.pop("on_error", None)  # a message has no place for an error's text
    settings = Settings(**hide_tools(find_task_agents(transcript.stored), options))
    replays = [_ExchangeReplay(exchange, settings) for exchange in transcript.exchanges if exchange.events]
    for index, replay in enumerate(replays):
        replay.replay_responses(running=running and index == len(replays) - 1)
        for event in replay.exchange.events:
            _add_late_results(event, replays[: index + 1])
    return [message for replay in replays for message in replay.messages()]


class _ExchangeReplay:
    """One exchange, and the assistant message that its responses make in a client."""

    def __init__(self, exchange: Exchange, settings: Settings) -> None:
        self.exchange = exchange
        self._settings = settings
        self._past: list[Event] = []
        self._message: UIMessage | None = None
        self._running = False

    def replay_responses(self, *, running: bool) -> None:
        """Folds the responses of the exchange, one after the other. ``running``: the last one is still growing."""
        self._running = running
        for number, response in enumerate(self.exchange.responses, 1):
            chunks = self._convert(response, ends=not running or number < len(self.exchange.responses))
            self._message = fold_response(chunks, apply_approvals(self._message, *response), self._settings)
            self._past.extend(response)

    def has_call(self, call_id: str | None) -> bool:
        return call_id in self.exchange.calls

    def add_late_result(self, event: Event) -> None:
        """Folds the result of a call of this message that came while a later message was being written."""
        chunks = [chunk for chunk in self._convert([event], ends=False) if chunk["type"].startswith("tool-output")]
        self._message = fold_response(chunks, apply_approvals(self._message, event), self._settings)
        self._past.append(event)

    def messages(self) -> Iterator[UIMessage]:
        """The user's message, if the exchange has one, and the assistant's, if there is one yet."""
        user_event = self.exchange.user_event
        if user_event is not None:
            yield user_message(user_event, self.exchange.events, self._settings.options["artifact_url"])
        if self._message is not None and (self.exchange.has_agent_events or not self._running):
            yield self._message

    def _convert(self, events: Sequence[Event], *, ends: bool) -> list[AnyChunk]:
        conversion = chunk_conversion(self._past, self.exchange.message_id, self._settings)
        for event in events:
            conversion.feed(event)
        if ends:
            conversion.finish()
        return conversion.take()


def _add_late_results(event: Event, replays: Sequence[_ExchangeReplay]) -> None:
    """Adds the results in the event to earlier messages, if these hold their calls.

    They could not be sent to a live client: an output for a call of another message is an error there.
    ``replays`` ends with the exchange of the event. A model may use an id again: the result is the newest call's then.
    """
    late: dict[int, list[types.Part]] = {}
    newest = len(replays) - 1
    for part in (event.content.parts if event.content is not None else None) or ():
        if (response := part.function_response) is not None:
            holder = next((n for n in range(newest, -1, -1) if replays[n].has_call(response.id)), newest)
            late.setdefault(holder, []).append(part)
    for holder, parts in late.items():
        if holder < newest and event.content is not None:
            content = event.content.model_copy(update={"parts": parts})
            replays[holder].add_late_result(event.model_copy(update={"content": content}))


def fold_response(chunks: Iterable[AnyChunk], message: UIMessage | None, settings: Settings) -> UIMessage:
    """The message that the client shows after a response. ``message``: the one that the response continues.

    An empty step at its end is left out: the client's list of messages gets a step only with the next change.
    """
    reducer = MessageReducer(ai_sdk=settings.options["ai_sdk"], message=message)
    shown = len(reducer.message["parts"])
    try:
        for chunk in chunks:
            if reducer.apply(chunk) != "nothing":
                shown = len(reducer.message["parts"])
    except ClientStreamError:
        pass  # an `error` chunk: the client keeps what it has
    folded = reducer.message
    del folded["parts"][shown:]
    return folded


def apply_approvals(message: UIMessage | None, *events: Event) -> UIMessage | None:
    """Marks in the message the approvals with which these events begin, as the client did when it sent them.

    Changes the message, and returns it.
    """
    parts: list[dict[str, Any]] = [] if message is None else cast("Any", message["parts"])
    for event in takewhile(is_user_event, events):
        reasons = EventMetadata.of(event).reasons
        for response in event.get_function_responses():
            if (approved := is_confirmed(response.response)) is not None:
                _approve(parts, response.id, reasons, approved=approved)
    return message


def _approve(
    parts: list[dict[str, Any]], approval_id: str | None, reasons: Mapping[str, str], *, approved: bool
) -> None:
    for part in parts:
        approval = part.get("approval", {})
        if part.get("state") == "approval-requested" and approval.get("id") == approval_id:
            part["state"] = "approval-responded"
            reason = {"reason": reasons[approval["id"]]} if approval["id"] in reasons else {}
            part["approval"] = {**approval, "approved": approved, **reason}
