"""Converts the stored responses of a session or a recording to UI messages.

The converter turns each response into chunks. From the chunks, a Python version of the AI SDK's client code builds the
messages. So they equal the messages of a client that received the stream. Some events change messages that come before
them:

- The user's answer to an approval request is added to the part of the call.
- A result in a later turn is added to the message with the call.
- A call that the user can no longer answer gets an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from typing_extensions import override

from stream_protocol.adk import (
    NO_IDS,
    CallIds,
    CallMessages,
    WarnOnce,
    find_task_agents,
    is_user_message,
    read,
    read_events,
    with_results,
)
from stream_protocol.session._user_message import user_message
from stream_protocol.session.transcript import Transcript, is_repeated_fragment, user_decisions
from stream_protocol.stream import (
    UNANSWERED_TEXT,
    ConverterOptions,
    DataUrl,
    Settings,
    chunk_conversion,
    hide_task_agents,
)
from stream_protocol.wire import ClientStreamError, argument_error, check_flag, is_nested_message, is_tool_part
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from google.adk.events import Event
    from google.adk.sessions import Session

    from stream_protocol.adk import Blob, EventFacts, Result
    from stream_protocol.wire import AnyChunk, UIMessage

_WITHOUT_QUESTION: Final = ("input-available", "output-available", "output-error")
"""States in which a tool call asks the user nothing."""

_FILE_PLACE: Final = "adk-ui-stream-file:"
"""The prefix of placeholder URLs for files. No real URL begins with it."""

_WAITING: Final = ("input-available", "approval-requested")
"""States in which a tool call waits for an answer."""


def session_to_messages(
    session: Session | dict[str, Any], *, running: bool = False, **options: Unpack[ConverterOptions]
) -> list[UIMessage]:
    """Return the messages of a chat, with the ids and parts that a client received when the messages were streamed.

    ``session``: an ADK session, or a dictionary with ``events`` from Agent Engine or ADK's API server. ``options``: the
    converter options with which you serve the chat. ``running``: True if the newest run has not ended. In this case,
    unanswered calls of the newest run get no error.

    A user message has the id that the client sent, or the id of its event. Calls that start task-mode agents are
    hidden.
    """
    check_flag("running", running)
    Settings(**options)
    stored = session.get("events") if isinstance(session, dict) else getattr(session, "events", None)
    if not isinstance(stored, Sequence):
        raise argument_error("session", "a Session of ADK, or its JSON with `events`", session)
    events = read_events(stored, WarnOnce())
    return transcript_to_messages(Transcript(events), running=running, **options)


def transcript_to_messages(
    transcript: Transcript,
    *,
    running: bool = False,
    encoded: bool = True,
    **options: Unpack[ConverterOptions],
) -> list[UIMessage]:
    """Return the messages of a transcript, like ``session_to_messages``. ``encoded``: True for data URLs as strings,
    False for ``DataUrl`` objects."""
    options.pop("on_error", None)  # the text of an `error` chunk is not in the message
    options = hide_task_agents(find_task_agents(transcript.stored), options)
    settings = HistorySettings(encoded=encoded, **options)
    page = PageMessages()
    shown = [turn for turn in transcript.turns if turn.events]
    for turn in shown:
        page.begin_turn(turn.message_id, settings, turn.call_ids)
        for number, response in enumerate(turn.responses, 1):
            grows = running and turn is shown[-1] and number == len(turn.responses)
            page.add_events(response, ends=not grows)
    return [*page.messages(), *(_without_answer(transcript) if not running else ())]


def _without_answer(transcript: Transcript) -> list[UIMessage]:
    """Return the steering messages that no model call has read. A steering message was sent while the agent worked."""
    return [cast("UIMessage", {"role": "user", **accepted.message}) for accepted in transcript.waiting]


class HistorySettings(Settings):
    """Converter settings for histories. Each file of the agent first gets a placeholder as its URL. When the message is
    finished, the method ``fill`` puts the real URLs in. So each file is encoded only once.

    ``encoded``: True if ``fill`` inserts URLs as strings, False for ``DataUrl`` objects.
    """

    def __init__(self, *, encoded: bool, **options: Unpack[ConverterOptions]) -> None:
        super().__init__(**options)
        if (transform := self.options["transform"]) is not None:
            self.options["transform"] = partial(self._transformed, transform)
        self.encode: Final[Callable[[DataUrl], Any]] = str if encoded else lambda url: url
        self._files: list[Blob] = []

    @override
    def file_url(self, file: Blob) -> str:
        self._files.append(file)
        return f"{_FILE_PLACE}{len(self._files) - 1}"

    @property
    @override
    def nested(self) -> Settings:
        """The settings for agents inside tool calls. Their files get no placeholders, because ``fill`` does not look
        into the outputs of tools.
        """
        return Settings(**cast("ConverterOptions", {**self.options, "transform": None}))

    def _transformed(self, transform: Callable[[Any], Any], chunk: Any) -> Any:
        """Return the chunks that the app's hook ``transform`` returns for a chunk. The hook gets a file with its real
        URL. If the hook returns this URL unchanged, it becomes the placeholder again.
        """
        place = chunk["url"] if chunk["type"] == "file" else ""
        if not place.startswith(_FILE_PLACE):
            return transform(chunk)
        url = str(self._url(place))
        made = transform({**chunk, "url": url})
        listed: list[Any] = [] if made is None else [made] if isinstance(made, dict) else [*made]
        return [
            {**turn, "url": place} if isinstance(turn, dict) and turn.get("url") == url else turn for turn in listed
        ]

    def _url(self, place: str) -> DataUrl:
        file = self._files[int(place.removeprefix(_FILE_PLACE))]
        return DataUrl(file.media_type, file.data)

    def fill(self, message: UIMessage) -> None:
        parts: list[dict[str, Any]] = cast("Any", message["parts"])
        for part in parts:
            if part["type"] == "file" and part["url"].startswith(_FILE_PLACE):
                part["url"] = self.encode(self._url(part["url"]))


class PageMessages:
    """Builds the messages of a chat. For each turn, call ``begin_turn``, and then add the turn's responses in order.

    Keeps all complete events in memory, because the result of a call can come in a later turn.
    """

    def __init__(self) -> None:
        self._turns: list[_PageTurn] = []
        self._new: list[EventFacts] = []
        self._calls = CallMessages[_PageTurn]()

    def begin_turn(self, message_id: str, settings: Settings, call_ids: CallIds = NO_IDS) -> None:
        """Begin a turn, which is a user message and the agent's replies to it.

        ``message_id``: the id of the turn's assistant message. ``call_ids``: the ``toolCallId`` of each call in earlier
        turns.
        """
        self._add_late_results()
        self._turns.append(_PageTurn(message_id, settings, call_ids))

    def add_events(self, events: Sequence[Event], *, ends: bool = True) -> None:
        """Convert the events of a response to chunks, and add the response to the current turn. ``ends``: True if the
        response has ended."""
        self.add_response(events, self._turns[-1].convert(events, ends=ends))

    def add_response(self, events: Sequence[Event], chunks: Iterable[AnyChunk]) -> None:
        """Add a response to the current turn. ``events``: the user's events that started the run, and the events of the
        run. ``chunks``: the chunks of the response."""
        newest, response = self._turns[-1], [read(event) for event in events]
        newest.add_response(response, chunks)
        self._new += response
        for facts in response:
            self._calls.add(facts, newest)

    def messages(self) -> list[UIMessage]:
        self._add_late_results()
        for superseded in self._turns[:-1]:
            superseded.close_open_calls()
        return [message for turn in self._turns for message in turn.messages()]

    def newest_messages(self) -> list[UIMessage]:
        """Return the messages of the newest turn."""
        return list(self._turns[-1].messages())

    def _add_late_results(self) -> None:
        """Some results in the newest turn belong to calls of earlier turns. Add each of them to the message that
        contains the call.

        The stream to a client does not contain these results, because a client refuses outputs for calls of earlier
        messages.
        """
        for facts in self._new if len(self._turns) > 1 else ():
            late: dict[_PageTurn, list[Result]] = {}
            for result in facts.results:
                late.setdefault(self._calls.find(result) or self._turns[-1], []).append(result)
            late.pop(self._turns[-1], None)
            for holder, results in late.items():
                holder.add_late_results(with_results(facts, results))
        self._new.clear()


class _PageTurn:
    def __init__(self, message_id: str, settings: Settings, call_ids: CallIds) -> None:
        self._message_id = message_id
        self._settings = settings
        self._ids_before = call_ids
        self._events: list[Event] = []
        """The events of the turn, without partial events that a complete event repeats."""
        self._late_events: list[Event] = []
        """Events of later turns with results of this turn's calls."""
        self._message: UIMessage | None = None

    def convert(self, events: Sequence[Event], *, ends: bool) -> list[AnyChunk]:
        """Return the chunks that these events add to the turn's assistant message. ``ends``: True if the response has
        ended."""
        past = [*self._events, *self._late_events]
        conversion = chunk_conversion(past, self._message_id, self._settings, self._ids_before)
        with conversion.warn.silenced():
            for event in events:
                conversion.feed(event)
            if ends:
                conversion.finish()
        return conversion.take()

    def add_response(self, response: Sequence[EventFacts], chunks: Iterable[AnyChunk]) -> None:
        self._fold(response, chunks)
        self._events += [facts.event for facts in response if not is_repeated_fragment(facts)]

    def add_late_results(self, late: Event) -> None:
        """Add the tool results of the event ``late`` to the assistant message. The event comes from a later turn."""
        of_calls = ("tool-output", "data-adk-denial")
        chunks = [chunk for chunk in self.convert([late], ends=False) if chunk["type"].startswith(of_calls)]
        self._fold([read(late)], chunks)
        self._late_events.append(late)

    def close_open_calls(self) -> None:
        """Give each unanswered tool call an error, because the user has sent a newer message. ``unanswered: true`` in
        the call's metadata distinguishes it from a failed call.

        If an agent inside a tool call has asked a question, the message contains it twice: as a part, and in the output
        of the tool call. Both get the error.
        """
        if self._message is None:
            return
        calls = filter(is_tool_part, self._message["parts"])
        waiting = [part["toolCallId"] for part in calls if part["state"] in _WAITING]
        if waiting:
            self._fold(
                (), [{"type": "tool-output-error", "toolCallId": id_, "errorText": UNANSWERED_TEXT} for id_ in waiting]
            )
        parts: list[dict[str, Any]] = [*filter(is_tool_part, cast("Any", self._message["parts"]))]
        for part in parts:
            if part["toolCallId"] in waiting:
                provider = part.get("callProviderMetadata", {})
                part["callProviderMetadata"] = {**provider, "adk": {**provider.get("adk", {}), "unanswered": True}}
        for part in parts:
            if is_nested_message(part.get("output"), part["toolCallId"]):
                part["output"] = _with_closed_questions(part["output"], parts)

    def _fold(self, response: Sequence[EventFacts], chunks: Iterable[AnyChunk]) -> None:
        self._message = fold_response(chunks, _apply_approvals(self._message, response), self._settings)

    def messages(self) -> Iterator[UIMessage]:
        """Yield the user message and the assistant message of the turn, if they exist. An assistant message without
        parts is left out, because the AI SDK's ``validateUIMessages`` refuses it."""
        events, settings = self._events, self._settings
        if events and is_user_message(events[0]):
            encode = settings.encode if isinstance(settings, HistorySettings) else str
            yield user_message(events[0], events, settings.options["artifact_url"], encode)
        if self._message is not None and self._message["parts"]:
            _drop_unanswered_approvals(self._message)
            if isinstance(settings, HistorySettings):
                settings.fill(self._message)
            yield self._message


def _with_closed_questions(card: dict[str, Any], questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a copy of ``card``, the message of an agent inside a tool call. In the copy, no question waits for an
    answer.

    ``questions``: the tool parts of the chat's message. They replace the card's parts that wait for an answer to the
    same question.
    """
    closed = []
    for part in card["parts"]:
        if part.get("state") in _WAITING:
            closed.append(_outer_part(part, questions))
        elif is_nested_message(part.get("output"), part.get("toolCallId")):
            closed.append({**part, "output": _with_closed_questions(part["output"], questions)})
        else:
            closed.append(part)
    return {**card, "parts": closed}


def _outer_part(part: dict[str, Any], questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A card is the message of an agent inside a tool call. For ``part``, a question in a card, return the part of the
    chat's message with the same question. Ids in cards are not unique, so the agent, its branch, the tool and the
    arguments must match, too.
    """
    same = [each for each in questions if _identity(each) == _identity(part)]
    return next((each for each in same if each["toolCallId"] == part["toolCallId"]), same[0] if same else part)


def _identity(part: dict[str, Any]) -> tuple[Any, ...]:
    adk = part.get("callProviderMetadata", {}).get("adk", {})
    return part["type"], part.get("toolName"), adk.get("author"), adk.get("branch"), part.get("input")


def fold_response(chunks: Iterable[AnyChunk], message: UIMessage | None, settings: Settings) -> UIMessage:
    """Return the assistant message that a client has after these chunks. ``message``: the message that the response
    continues; ``None`` for a new message.

    An empty last step is left out, as in the client.
    """
    reducer = MessageReducer(ai_sdk=settings.client.major, message=message)
    shown = len(reducer.message["parts"])
    try:
        for chunk in chunks:
            if reducer.apply(chunk) != "nothing":
                shown = len(reducer.message["parts"])
    except ClientStreamError:
        pass  # after an `error` chunk, the client keeps the message so far
    folded = reducer.message
    del folded["parts"][shown:]
    return folded


def _drop_unanswered_approvals(message: UIMessage) -> None:
    """Remove the key ``approval`` from calls that ended before the user approved or denied them. With this key, the AI
    SDK's ``validateUIMessages`` refuses such calls."""
    parts: list[dict[str, Any]] = cast("Any", message["parts"])
    for part in parts:
        if part.get("state") in _WITHOUT_QUESTION and part.get("approval", {}).get("approved") is None:
            part.pop("approval", None)


def _apply_approvals(message: UIMessage | None, response: Iterable[EventFacts]) -> UIMessage | None:
    """Copy the user's approvals and denials to the calls in ``message``. Changes and returns ``message``."""
    parts: list[dict[str, Any]] = [] if message is None else cast("Any", message["parts"])
    for approval_id, approved, reason in user_decisions(response):
        for part in parts:
            approval = part.get("approval", {})
            if part.get("state") == "approval-requested" and approval.get("id") == approval_id:
                part["state"] = "approval-responded"
                part["approval"] = {**approval, "approved": approved, **({} if reason is None else {"reason": reason})}
    return message
