"""Folds responses into messages as the client does, one after the other: of a stored session, and of a recording.

It decides what later turns change in earlier messages. A result that came later goes to the message of its call. A call
or an approval that nobody can answer any more is closed. ``transcript`` decides which events make a message, and
``KnownCalls`` finds the call of a response.
"""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from typing_extensions import override

from stream_protocol.adk import (
    NO_IDS,
    CallIds,
    Result,
    is_confirmed,
    is_user_event,
    is_user_message,
    read,
    with_parts_at,
)
from stream_protocol.session._run_input import UNANSWERED
from stream_protocol.session._user_message import user_message
from stream_protocol.session.transcript import EventMetadata, is_repeated_fragment
from stream_protocol.stream import DataUrl, Settings, chunk_conversion
from stream_protocol.wire import ClientStreamError, is_tool_part
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event

    from stream_protocol.adk import Blob
    from stream_protocol.stream import ConverterOptions
    from stream_protocol.wire import AnyChunk, UIMessage

_WITHOUT_QUESTION: Final = ("input-available", "output-available", "output-error")
"""States of a call that nobody is asked about, or was before the call went on."""

_FILE_PLACE: Final = "adk-ui-stream-file:"
"""Begins no URL of a file: those of agents are links, data and artifacts."""

_WAITING: Final = ("input-available", "approval-requested")
"""The states of a call that nobody has answered yet."""


class HistorySettings(Settings):
    """Settings by which an agent's file is a place in a list of files, until the messages are made.

    So no file is encoded before its turn, and none is copied each time that its message goes on. The hook ``transform``
    is shown the URL of a file, one at a time. ``encoded``: its URL is a text in the message, else a ``DataUrl``.
    """

    def __init__(self, task_agents: frozenset[str], /, *, encoded: bool, **options: Unpack[ConverterOptions]) -> None:
        super().__init__(task_agents, **options)
        if (transform := self.options["transform"]) is not None:
            self.options["transform"] = partial(self._transformed, transform)
        self.encode: Final[Callable[[DataUrl], Any]] = str if encoded else lambda url: url
        self._files: list[Blob] = []

    @override
    def file_url(self, file: Blob) -> str:
        self._files.append(file)
        return f"{_FILE_PLACE}{len(self._files) - 1}"

    def _transformed(self, transform: Callable[[Any], Any], chunk: Any) -> Any:
        """Return the chunk as the hook transforms it. The hook sees the URL of a file; if it does not change the URL,
        the file keeps its place."""
        place = chunk["url"] if chunk["type"] == "file" else ""
        if not place.startswith(_FILE_PLACE):
            return transform(chunk)
        url = str(self._url(place))
        made = transform({**chunk, "url": url})
        listed: list[Any] = [] if made is None else [made] if isinstance(made, dict) else [*made]
        return [{**one, "url": place} if isinstance(one, dict) and one.get("url") == url else one for one in listed]

    def _url(self, place: str) -> DataUrl:
        file = self._files[int(place.removeprefix(_FILE_PLACE))]
        return DataUrl(file.media_type, file.data)

    def fill(self, message: UIMessage) -> None:
        """Gives the files of an assistant's message their own URLs."""
        parts: list[dict[str, Any]] = cast("Any", message["parts"])
        for part in parts:
            if part["type"] == "file" and part["url"].startswith(_FILE_PLACE):
                part["url"] = self.encode(self._url(part["url"]))


class PageMessages:
    """The messages of a chat. Begin each turn, then add its responses in their order.

    The complete events are kept: a result may come for a call of any earlier message.
    """

    def __init__(self) -> None:
        self._turns: list[_PageExchange] = []
        self._new: list[Event] = []
        """The events of the newest turn whose results may be for earlier messages."""

    def begin_turn(self, message_id: str, settings: Settings, call_ids: CallIds = NO_IDS) -> None:
        """Begins a turn. ``message_id``: the id of its assistant message. ``call_ids``: of earlier turns."""
        self._add_late_results()
        self._turns.append(_PageExchange(message_id, settings, call_ids))

    def add_events(self, events: Sequence[Event], *, ends: bool = True) -> None:
        """Adds the response that these events make now. ``ends``: whether it is complete."""
        self.add_response(events, self._turns[-1].convert(events, ends=ends))

    def add_response(self, events: Sequence[Event], chunks: Iterable[AnyChunk]) -> None:
        """Adds a response: the user's events that began it and those of its run, and its chunks."""
        self._turns[-1].add_response(events, chunks)
        self._new.extend(events)

    def messages(self) -> list[UIMessage]:
        """All messages of the chat."""
        self._add_late_results()
        for superseded in self._turns[:-1]:
            superseded.close_open_calls()
        return [message for turn in self._turns for message in turn.messages()]

    def newest_messages(self) -> list[UIMessage]:
        """The messages of the newest turn: the user's, if there is one, and the assistant's."""
        return list(self._turns[-1].messages())

    def _add_late_results(self) -> None:
        """Adds the results in the newest turn to earlier messages, if these hold their calls.

        They could not be sent to a live client: an output for a call of another message is an error there. A model may
        use an id again: the result is the newest call's then.
        """
        for event in self._new if len(self._turns) > 1 else ():
            late: dict[_PageExchange, list[int]] = {}
            for place, part in enumerate(read(event).parts):
                if isinstance(part, Result):
                    late.setdefault(self._holder(part), []).append(place)
            late.pop(self._turns[-1], None)
            for holder, places in late.items():
                holder.add_late_results(with_parts_at(event, places))
        self._new.clear()

    def _holder(self, result: Result) -> _PageExchange:
        """The newest turn with the call that is answered; the newest of all if none has it."""
        return next((one for one in reversed(self._turns) if one.has_call_for(result)), self._turns[-1])


class _PageExchange:
    """One turn, and the assistant message that its responses make in a client."""

    def __init__(self, message_id: str, settings: Settings, call_ids: CallIds) -> None:
        self._message_id = message_id
        self._settings = settings
        self._ids_before = call_ids
        self._events: list[Event] = []
        """Its events, without fragments that a complete event repeats."""
        self._late_events: list[Event] = []
        """Results for its calls that came in later turns."""
        self._calls: set[tuple[str | None, str | None]] = set()
        """Id and tool of each call."""
        self._message: UIMessage | None = None

    def convert(self, events: Sequence[Event], *, ends: bool) -> list[AnyChunk]:
        """The chunks that these events add to the message."""
        past = [*self._events, *self._late_events]
        conversion = chunk_conversion(past, self._message_id, self._settings, self._ids_before)
        with conversion.warn.silenced():
            for event in events:
                conversion.feed(event)
            if ends:
                conversion.finish()
        return conversion.take()

    def add_response(self, events: Sequence[Event], chunks: Iterable[AnyChunk]) -> None:
        """Folds a response."""
        self._fold(events, chunks)
        self._events += [event for event in events if not is_repeated_fragment(event)]
        self._calls.update((call.id, call.name) for event in events for call in read(event).calls)

    def has_call_for(self, result: Result) -> bool:
        return (result.id, result.name) in self._calls

    def add_late_results(self, late: Event) -> None:
        """Folds the results of an event that came while a later message was being written."""
        of_calls = ("tool-output", "data-adk-denial")
        chunks = [chunk for chunk in self.convert([late], ends=False) if chunk["type"].startswith(of_calls)]
        self._fold([late], chunks)
        self._late_events.append(late)

    def close_open_calls(self) -> None:
        """Closes what still waits for an answer: the user went on without one, and it can't be answered any more."""
        parts = filter(is_tool_part, self._message["parts"] if self._message is not None else ())
        closing: list[AnyChunk] = [
            {"type": "tool-output-error", "toolCallId": part["toolCallId"], "errorText": UNANSWERED}
            for part in parts
            if part["state"] in _WAITING
        ]
        if closing:
            self._fold((), closing)

    def _fold(self, events: Sequence[Event], chunks: Iterable[AnyChunk]) -> None:
        self._message = fold_response(chunks, _apply_approvals(self._message, events), self._settings)

    def messages(self) -> Iterator[UIMessage]:
        """The user's message, if the turn has one, and the assistant's, if it has parts yet.

        The client refuses a message without parts when it validates messages (``validateUIMessages``).
        """
        events, settings = self._events, self._settings
        if events and is_user_message(events[0]):
            encode = settings.encode if isinstance(settings, HistorySettings) else str
            yield user_message(events[0], events, settings.options["artifact_url"], encode)
        if self._message is not None and self._message["parts"]:
            _drop_unanswered_approvals(self._message)
            if isinstance(settings, HistorySettings):
                settings.fill(self._message)
            yield self._message


def fold_response(chunks: Iterable[AnyChunk], message: UIMessage | None, settings: Settings) -> UIMessage:
    """The message that the client shows after a response. ``message``: the one that the response continues.

    An empty step at its end is left out: the client's list of messages gets a step only with the next change.
    """
    reducer = MessageReducer(ai_sdk=settings.client.major, message=message)
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


def _drop_unanswered_approvals(message: UIMessage) -> None:
    """Takes the approval out of calls that ended before somebody answered it.

    The client keeps it there, and refuses it when it validates messages (``validateUIMessages``).
    """
    parts: list[dict[str, Any]] = cast("Any", message["parts"])
    for part in parts:
        if part.get("state") in _WITHOUT_QUESTION and part.get("approval", {}).get("approved") is None:
            part.pop("approval", None)


def _apply_approvals(message: UIMessage | None, events: Iterable[Event]) -> UIMessage | None:
    """Marks in the message the approvals with which these events begin, as the client did when it sent them.

    Changes the message, and returns it.
    """
    parts: list[dict[str, Any]] = [] if message is None else cast("Any", message["parts"])
    for event in takewhile(is_user_event, events):
        reasons = EventMetadata.of(event).reasons
        for result in read(event).results:
            if (approved := is_confirmed(result.value)) is not None:
                _approve(parts, result.id, reasons, approved=approved)
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
