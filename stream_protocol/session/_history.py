"""A stored session -> the messages that a client of it shows.

Nothing here builds a message. Each stored response goes through the converter, with what came before it in its message
as its past, and through the client's reducer, as it did when it was live; what the client did itself in between (the
answer to an approval request) is done here as the client does it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Unpack, cast

from stream_protocol.convert import ConverterOptions, Settings, chunk_conversion, find_task_agents, hide_tools
from stream_protocol.convert.calls import is_confirmed
from stream_protocol.session._exchanges import Exchange, exchanges, is_users, live_events
from stream_protocol.session._metadata import approval_reasons, shown_events
from stream_protocol.session._user_message import user_message
from stream_protocol.wire import ClientStreamError
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from google.adk.events import Event
    from google.adk.sessions import Session
    from google.genai import types

    from stream_protocol.wire import AnyChunk, UIMessage


def session_to_messages(
    session: Session, *, running: bool = False, **options: Unpack[ConverterOptions]
) -> list[UIMessage]:
    """The messages of a chat, as a client that was there has them, ids included.

    ``options`` are the converter's, and must be those that the chat is served with; delegations to task-mode agents are
    hidden, as ``ChatService`` hides them. ``running``: the newest response is
    still being written; its calls are left open then.

    The user's messages have the ids that their client gave them, or else those of their events.
    """
    options.pop("on_error", None)  # a message has no place for an error's text
    settings = Settings(**hide_tools(find_task_agents(session.events), options))
    told = [_Telling(exchange, settings) for exchange in exchanges(shown_events(live_events(session.events)))]
    for number, telling in enumerate(told):
        telling.tell(running=running and number == len(told) - 1)
        for event in telling.exchange.events:
            _tell_late(event, told[: number + 1])
    return [message for telling in told for message in telling.messages()]


class _Telling:
    """One exchange on its way to its messages."""

    def __init__(self, exchange: Exchange, settings: Settings) -> None:
        self.exchange = exchange
        self._settings = settings
        self._past: list[Event] = []
        self._message: UIMessage | None = None
        self._running = False
        self._call_ids = {call.id for event in exchange.events for call in event.get_function_calls()}

    def tell(self, *, running: bool) -> None:
        """Folds the responses of the exchange, one after the other."""
        self._running = running
        responses = list(self.exchange.responses())
        for response in responses:
            chunks = self._converted(response, ends=not (running and response is responses[-1]))
            self._message = folded(chunks, answered(self._message, *response), self._settings)
            self._past.extend(response)

    def holds(self, call_id: str | None) -> bool:
        return call_id in self._call_ids

    def tell_result(self, event: Event) -> None:
        """Folds the result of a call of this message that came when a later message was being written."""
        chunks = [chunk for chunk in self._converted([event], ends=False) if chunk["type"].startswith("tool-output")]
        self._message = folded(chunks, answered(self._message, event), self._settings)
        self._past.append(event)

    def messages(self) -> Iterator[UIMessage]:
        user_text = self.exchange.user_text
        if user_text is not None:
            yield user_message(user_text, self.exchange.events, self._settings.options["artifact_url"])
        if self._message is not None and (self.exchange.is_answered or not self._running):
            yield self._message

    def _converted(self, events: Sequence[Event], *, ends: bool) -> list[AnyChunk]:
        conversion = chunk_conversion(self._past, self.exchange.message_id, self._settings)
        for event in events:
            conversion.feed(event)
        if ends:
            conversion.finish()
        return conversion.take()


def _tell_late(event: Event, told: Sequence[_Telling]) -> None:
    """Puts results of calls that earlier messages hold where their calls are: the live client could not be told.

    ``told`` ends with the message that the event is of. A model may use an id again: the newest call has it then.
    """
    late: dict[int, list[types.Part]] = {}
    for part in (event.content.parts if event.content is not None else None) or ():
        if (response := part.function_response) is not None:
            holder = next((n for n in reversed(range(len(told))) if told[n].holds(response.id)), len(told) - 1)
            late.setdefault(holder, []).append(part)
    for holder, parts in late.items():
        if holder < len(told) - 1 and event.content is not None:
            content = event.content.model_copy(update={"parts": parts})
            told[holder].tell_result(event.model_copy(update={"content": content}))


def folded(chunks: Iterable[AnyChunk], message: UIMessage | None, settings: Settings) -> UIMessage:
    """The message that the client shows after a response. A bare step reaches its list only with the next change."""
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


def answered(message: UIMessage | None, *events: Event) -> UIMessage | None:
    """The message as the client made it when it sent the approvals with which these events begin."""
    parts: list[dict[str, Any]] = [] if message is None else cast("Any", message["parts"])
    for event in takewhile(is_users, events):
        reasons = approval_reasons(event)
        for response in event.get_function_responses():
            if (approved := is_confirmed(response.response)) is not None:
                _approve(parts, response.id, reasons, approved=approved)
    return message


def _approve(parts: list[dict[str, Any]], approval_id: str | None, reasons: dict[str, str], *, approved: bool) -> None:
    for part in parts:
        approval = part.get("approval", {})
        if part.get("state") == "approval-requested" and approval.get("id") == approval_id:
            part["state"] = "approval-responded"
            reason = {"reason": reasons[approval["id"]]} if approval["id"] in reasons else {}
            part["approval"] = {**approval, "approved": approved, **reason}
