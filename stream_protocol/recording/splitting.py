"""Recorded events -> the responses that a client would have had, one for each time that somebody spoke or answered."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Unpack

from google.adk.events import Event

from stream_protocol.conversation.stretches import is_shown, is_user_text, message_id
from stream_protocol.convert.options import ConverterOptions
from stream_protocol.convert.people import REQUEST_CONFIRMATION, gated_call
from stream_protocol.convert.streams import iter_sse


def replay_sse(events: Iterable[Event], **options: Unpack[ConverterOptions]) -> Iterator[bytes]:
    """The SSE events of all responses, each from ``start`` to ``[DONE]``, as the recorded events come in.

    ``hidden_tools``: ``delegated_tools`` of the whole recording belong there.
    """
    splitter = ResponseSplitter()
    for response, own in groupby(filter(is_shown, events), key=splitter.place):
        yield from iter_sse(own, past=response.past, message_id=response.message_id, **options)


@dataclass(frozen=True, eq=False)
class Response:
    """One response in a recording; two are never equal."""

    message_id: str
    past: tuple[Event, ...] = ()
    """The earlier events of the message, if this response continues one."""


class ResponseSplitter:
    """Tells, event by event, where one response ends and the next begins.

    A user's text begins a message; so does a new invocation, in recordings that leave the user's events out. A user's
    answer to a call, or, where it was left out, the real response to a call that waited for approval, begins a response
    that continues its message: also in recordings of ADK 1, where the continuation is an invocation of its own.
    """

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        """Invocation id -> how many user texts it has had."""
        self._invocation: str | None = None
        self._response = Response("")
        self._message: list[Event] = []
        """The events of the message so far."""
        self._asked: dict[str, str] = {}
        """Id that a user answers under -> id of the call that waits for it; of the whole recording."""
        self._gated: set[str] = set()
        """Calls of this message whose approval is still out."""

    def place(self, event: Event) -> Response:
        """The response that the event belongs to."""
        if is_user_text(event):
            self._texts[event.invocation_id] = self._texts.get(event.invocation_id, 0) + 1
            self._begin_message(event)
        elif self._is_answer(event):
            self._continue(event)
        elif event.invocation_id != self._invocation:
            self._texts.setdefault(event.invocation_id, 1)
            self._begin_message(event)
        self._note_calls(event)
        self._message.append(event)
        return self._response

    def _begin_message(self, event: Event) -> None:
        self._invocation = event.invocation_id
        self._message = []
        self._gated.clear()
        self._response = Response(message_id(event.invocation_id, self._texts[event.invocation_id]))

    def _continue(self, event: Event) -> None:
        self._invocation = event.invocation_id
        self._response = Response(self._response.message_id, tuple(self._message))

    def _is_answer(self, event: Event) -> bool:
        """Whether somebody outside answered; what is answered waits no more."""
        ids = {response.id for response in event.get_function_responses() if response.id}
        if event.author == "user":
            answered = ids & self._asked.keys()
            self._gated -= {self._asked[answer_id] for answer_id in answered}
            return bool(answered)
        ran = (ids & self._gated) - event.actions.requested_tool_confirmations.keys()
        self._gated -= ran
        return bool(ran)

    def _note_calls(self, event: Event) -> None:
        for call in event.get_function_calls():
            if call.id and call.name == REQUEST_CONFIRMATION and not event.partial:
                call_id = str(gated_call(call.args or {}).get("id") or call.id)
                self._asked[call.id] = call_id
                self._gated.add(call_id)
            elif call.id in (event.long_running_tool_ids or ()):
                self._asked[str(call.id)] = str(call.id)
