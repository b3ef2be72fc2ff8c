"""Recorded events -> the responses that a client would have had, one for each time that somebody spoke or answered."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from google.adk.events import Event

from stream_protocol.convert import ConverterOptions
from stream_protocol.convert.calls import REQUEST_CONFIRMATION, gated_call
from stream_protocol.recording.read import ChunkRecord, EndRecord, TurnRecord
from stream_protocol.session import is_conversation_event, is_user_message, message_id


@dataclass(frozen=True, slots=True)
class Moment:
    """An event as it came."""

    event: Event
    at: float | None = None
    """When, as ``EventRecord`` has it."""
    number: int = 0
    """Where it stands, as ``EventRecord`` has it."""


Step = Moment | TurnRecord | ChunkRecord | EndRecord
"""What a response is made of."""


def responses(steps: Iterable[Step]) -> Iterator[tuple["RecordedResponse", Iterator[Step]]]:
    """The responses with their steps, as those are read: they are gone when the next response is asked for."""
    for response, own in groupby(_placed(steps), key=lambda place: place[0]):
        yield response, (step for _, step in own)


def _placed(steps: Iterable[Step]) -> Iterator[tuple["RecordedResponse", Step]]:
    """Every step with the response that it belongs to. Events that no run yields are left out."""
    splitter = ResponseSplitter()
    for step in steps:
        match step:
            case Moment(event):
                if is_conversation_event(event):
                    yield splitter.place(event), step
            case TurnRecord():
                yield splitter.begin(step), step
            case EndRecord():
                yield splitter.end(), step
            case ChunkRecord():
                yield splitter.response, step


@dataclass(frozen=True, eq=False)
class RecordedResponse:
    """One response in a recording; two are never equal."""

    message_id: str
    past: tuple[Event, ...] = ()
    """The earlier events of the message, if this response continues one."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """Those that its stream was made with, where they were recorded."""


class ResponseSplitter:
    """Tells, event by event, where one response ends and the next begins.

    A user's text begins a message; so does a new invocation, in recordings that leave the user's events out. A user's
    answer to a call, or, where it was left out, the real response to a call that waited for approval, begins a response
    that continues its message: also in recordings of ADK 1, where the continuation is an invocation of its own.

    Where the recording itself says where its turns begin, that counts: ``begin``.
    """

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        """Invocation id -> how many user texts it has had."""
        self._invocation: str | None = None
        self.response = RecordedResponse("")
        """The newest."""
        self._told = False
        """Whether the recording tells where its turns begin."""
        self._ended = False
        """Whether the recording told that the newest response ended, and nothing of the next has come."""
        self._message: list[Event] = []
        """The events of the message so far, but for fragments of text: their aggregate says the same."""
        self._asked: dict[str, str] = {}
        """Id that a user answers under -> id of the call that waits for it; of the whole recording."""
        self._gated: set[str] = set()
        """Calls of this message whose approval is still out."""

    def begin(self, turn: TurnRecord) -> RecordedResponse:
        """The response of a turn that the recording begins. Under the id of the newest message it continues that."""
        self._told, self._ended = True, False
        if not turn.message_id or turn.message_id != self.response.message_id:
            self._message = []
        self.response = RecordedResponse(turn.message_id, tuple(self._message), turn.options)
        return self.response

    def end(self) -> RecordedResponse:
        """The response that ends here; another one, if no event came since the last end."""
        if self._ended:
            self._message = []
            self.response = RecordedResponse("")
        self._ended = True
        return self.response

    def place(self, event: Event) -> RecordedResponse:
        """The response that the event belongs to."""
        if not self._told:
            self._split(event)
        self._ended = False
        if not _is_text_fragment(event):
            self._message.append(event)
        return self.response

    def _split(self, event: Event) -> None:
        if is_user_message(event):
            self._texts[event.invocation_id] = self._texts.get(event.invocation_id, 0) + 1
            self._begin_message(event)
        elif self._is_answer(event):
            self._continue(event)
        elif event.invocation_id != self._invocation or self._ended:
            self._texts.setdefault(event.invocation_id, 1)
            self._begin_message(event)
        self._note_calls(event)

    def _begin_message(self, event: Event) -> None:
        self._invocation = event.invocation_id
        self._message = []
        self._gated.clear()
        self.response = RecordedResponse(message_id(event.invocation_id, self._texts[event.invocation_id]))

    def _continue(self, event: Event) -> None:
        self._invocation = event.invocation_id
        self.response = RecordedResponse(self.response.message_id, tuple(self._message))

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


def _is_text_fragment(event: Event) -> bool:
    parts = event.content.parts if event.content is not None else None
    return bool(event.partial) and all(part.text is not None for part in parts or ())
