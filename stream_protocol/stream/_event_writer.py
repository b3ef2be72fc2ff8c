"""Events -> a sink: the dispatch. ``_conversion`` begins and ends the response around them.

An ADK event is a fragment (``partial``) or complete. Fragments are shown as they come. A complete event repeats what
its speaker's fragments said, so only the difference is shown. An aggregate that differs from the streamed text (a
callback redacted it) is not shown a second time. A complete event that is not the aggregate of that stream is a
response of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from stream_protocol.adk import (
    POSTED_WIDGETS,
    AgentSpeech,
    Artifacts,
    Call,
    CallIds,
    CallPiece,
    Compaction,
    EventFacts,
    Failure,
    File,
    LiveTurnEnd,
    NestedEvent,
    OtherPart,
    Output,
    Part,
    Posted,
    ProviderCall,
    ProviderPart,
    ProviderResult,
    Result,
    SearchSuggestions,
    Source,
    SpeakerKey,
    Steering,
    Text,
    WarnOnce,
    continued_text,
    read_complete,
)
from stream_protocol.stream._aggregates import NOTHING_STREAMED, Repetition, compare, is_aggregate
from stream_protocol.stream._data_parts import (
    EventActions,
    write_artifacts,
    write_compaction,
    write_output,
    write_retry,
)
from stream_protocol.stream._endings import RunSummary
from stream_protocol.stream._function_calls import FunctionCalls
from stream_protocol.stream._function_responses import FunctionResponses
from stream_protocol.stream._media import write_media
from stream_protocol.stream._nested_messages import NestedConversion
from stream_protocol.stream._options import Settings
from stream_protocol.stream._sources import Sources
from stream_protocol.stream._speakers import AuthorStream
from stream_protocol.stream._steering import write_steering_message
from stream_protocol.stream._steps import Steps
from stream_protocol.stream._streamed_texts import GATHERED, PrefixHash
from stream_protocol.stream._unconfirmed import PartKind, UnconfirmedStream
from stream_protocol.stream.calls import CallRegistry, ToolCall
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from stream_protocol.adk import EventOrDict

PART_KINDS = TEXT, REASONING = tuple(PartKind)

_OF_SOURCES = frozenset({Source, SearchSuggestions})
"""Reports of sources. A citation comes beside its source."""

T = TypeVar("T")


class EventWriter(Generic[T]):
    """Writes what events add to a response, and remembers what later events need."""

    __slots__ = (
        "_actions",
        "_calls",
        "_complete_id",
        "_part_ids",
        "_settings",
        "_sink",
        "_sources",
        "_speaker",
        "_speakers",
        "_unconfirmed",
        "_warn",
        "complete_ids",
        "registry",
        "responses",
        "steps",
        "summary",
    )

    def __init__(
        self,
        sink: Sink[T],
        settings: Settings,
        call_ids: CallIds,
        warn: WarnOnce,
        begin_nested: Callable[[str], NestedConversion],
    ) -> None:
        """``begin_nested``: as for ``FunctionResponses``."""
        self._sink = sink
        self._settings = settings
        self._warn = warn
        self._speaker: AuthorStream | None = None
        """The speaker of the newest event."""
        self._speakers: dict[SpeakerKey, AuthorStream] = {}
        self._part_ids = [0 for _ in PartKind]
        """The next part ids, by kind: ordinals in the message, so that the same events give the same bytes."""
        self.registry = CallRegistry(sink, call_ids, warn)
        self.steps = Steps(sink, self.registry)
        self._calls = FunctionCalls(sink, settings, self.registry, self.steps)
        self._actions = EventActions(sink, settings, self.registry)
        self.responses = FunctionResponses(
            sink,
            settings,
            registry=self.registry,
            steps=self.steps,
            actions=self._actions,
            warn=warn,
            begin_nested=begin_nested,
        )
        self._sources = Sources(sink, settings.client)
        self.summary = RunSummary()
        self._complete_id: str | None = None
        """The id of the newest complete event."""
        self._unconfirmed: list[UnconfirmedStream] | None = None
        """The streams that complete events have ended and not confirmed; ``None`` if streams are not kept."""
        self.complete_ids: list[str] = []
        """The ids of the complete events, in their order, from when streams are kept."""

    def text_delta(self, event: "EventOrDict") -> T | None:
        """Return the one item that this event adds if it only continues the open text or thought. Returns ``None`` for
        every other event, and changes nothing then: pass such an event to ``feed``.

        ``feed`` writes the same for it. The queue must be empty.
        """
        speaker = self._speaker
        if speaker is None or speaker.opened is None or not (text := continued_text(event, speaker.opened)):
            return None
        item: T = speaker.write.make(text)
        fragments = speaker.streamed.fragments
        fragments.append(text)  # as `add`: nearly all events come here, and a call is a tenth of their time
        if len(fragments) == GATHERED:
            speaker.streamed.gather()
        return item

    def add(self, said: EventFacts) -> None:
        """Writes what this event adds to the stream."""
        if said.reports and (compaction := said.report(Compaction)) is not None:
            write_compaction(self._sink, compaction)
            return
        if self._unconfirmed is not None and not said.is_fragment:
            self.complete_ids.append(said.id)
        if said.is_fragment and (posted := said.report(Posted)) is not None:
            self._add_posted(said, posted)
            return
        nesting = self.responses.nesting_call(said)
        if said.in_users_name:
            if (steering := said.report(Steering)) is not None:
                self.steps.end_before_message()
                write_steering_message(self._sink, steering.id, said.parts, self._settings)
                return
            self.responses.add_user_event(said)
            if nesting is not None:
                self.responses.add_inner(nesting, said, asks=False)
            if said.failure is not None:  # of a node: an agent in task mode that fails after a user's message
                self.summary.add(said, has_content=False, any_shown=self.steps.response_has_content)
            return
        if nesting is not None:
            self._add_inner(said, nesting)
            return
        speaker = self._speaker
        if speaker is None or said.speaker != speaker.key:
            speaker = self._change_speaker(said)
        if said.finish_reason is not None:
            self.summary.add_finish_reason(said.finish_reason, said.model)
        # The results of its failed tools may follow a failure.
        if speaker.has_failed and (said.reports_a(Output) or any(not isinstance(part, Result) for part in said.parts)):
            write_retry(self._sink, speaker.key)
            speaker.has_failed = False
        if said.is_fragment:
            self._add_fragment(said, speaker)
        elif said.reports and said.report(AgentSpeech) is not None:
            self._add_speech(said, speaker)
        elif not self.responses.add_progress(said):
            self._add_complete(read_complete(said), speaker)

    def _add_posted(self, said: EventFacts, posted: Posted) -> None:
        """Writes what a tool sends while it runs. Nothing of it is the speech of an agent."""
        nested = said.report(NestedEvent)
        if nested is not None:
            self.responses.add_nested(nested)
        elif posted.kind == POSTED_WIDGETS:
            self._actions.write_posted(said)
        else:
            self._warn(f"Skipped a posted event of the unknown kind {posted.kind!r}")

    def _add_inner(self, said: EventFacts, nesting: ToolCall) -> None:
        """Takes an event that happened in a call. The call's output shows it, and the message itself only the questions
        in it: the client's helpers send answers to calls that are parts of the message."""
        calls = [] if said.is_fragment else said.calls
        self.responses.add_inner(nesting, said, asks=any(call.kind is not None for call in calls))
        if said.is_fragment:
            return
        speaker = self._speakers.get(said.speaker)
        if speaker is None:
            speaker = self._speakers[said.speaker] = AuthorStream(said.speaker, self._sink)
        call_ids = {call.id for call in calls}
        for part in said.parts:
            match part:
                case Call():
                    self._calls.add_complete(said, speaker, part, call_ids, is_nested=True)
                case Result():
                    self.responses.add_response(said, part, speaker.key)
        self.summary.add(said, has_content=bool(said.parts), any_shown=self.steps.response_has_content)
        speaker.end_response()

    def _change_speaker(self, said: EventFacts) -> AuthorStream:
        """Returns the speaker of the event, who is the current one from now on."""
        self.responses.add_delegation(said.event)
        speaker = self._speakers.get(said.speaker)
        if speaker is None:
            speaker = self._speakers[said.speaker] = AuthorStream(said.speaker, self._sink)
            if self._unconfirmed is not None:
                speaker.streamed.kept = UnconfirmedStream()
        self._speaker = speaker
        return speaker

    def _add_fragment(self, said: EventFacts, speaker: AuthorStream) -> None:
        if speaker.streamed.kept is not None:
            speaker.streamed.kept.note(said, len(self.complete_ids))
        if said.finish_reason is not None:
            speaker.finish_reason = said.finish_reason
        if said.reports and (failure := said.failure) is not None:  # perhaps no complete event repeats it
            self.summary.add_error(failure, said.speaker[1], any_shown=self.steps.response_has_content)
        for part in said.parts:
            if speaker.deferred_parts:
                speaker.defer(part)
            elif isinstance(part, Text) and part.text:
                self._add_delta(speaker, part, said.model)
            elif isinstance(part, CallPiece):
                self._calls.add_fragment(said.event, speaker, part)
            else:
                self._add_streamed_whole(speaker, part)
        if said.role is None and said.report(AgentSpeech) is not None:
            self._add_speech(said, speaker)

    def _add_delta(self, speaker: AuthorStream, part: Text, model: str | None) -> None:
        """Writes a piece of a text, or of a thought."""
        kind = REASONING if part.is_thought else TEXT
        if speaker.kind is kind or self._open(speaker, kind, model):
            speaker.write(part.text)
            speaker.streamed.add(part.text)
        else:
            speaker.streamed.keep(part)  # the model has thought it, though nobody is shown that
        if part.is_thought and part.signature:
            speaker.sign(part.signature)
            speaker.streamed.sign(part.signature)

    def _add_streamed_whole(self, speaker: AuthorStream, part: Part) -> None:
        """Takes a part of a fragment that never comes in pieces, or that only signs."""
        if self._settings.options["artifact_url"] is not None and isinstance(part, File):
            # Only the complete event says whether the file was saved, and what replaces it.
            speaker.defer(part)
            return
        speaker.streamed.keep(part)
        if isinstance(part, File | ProviderPart | OtherPart):
            self._add_whole(speaker, part, None)
            speaker.streamed_others[part.fields] = speaker.streamed_others.get(part.fields, 0) + 1
        if part.signature:
            speaker.sign(part.signature)

    def _add_speech(self, said: EventFacts, speaker: AuthorStream) -> None:
        """Writes what an agent says in a live run: pieces of it, or the whole without the pieces that were written.

        Calls may come between the pieces, so these are not compared with the next complete event.
        """
        speech = said.report(AgentSpeech)
        assert speech is not None
        text = speech.text
        said_before = speaker.speech
        if not speech.finished:
            speaker.speech = said_before = said_before or PrefixHash()
            said_before.add(text)
        elif said_before is not None:
            text = text[said_before.length :] if said_before.begins(text) else ""
        if text and (speaker.kind is TEXT or self._open(speaker, TEXT)):
            speaker.write(text)
        if speech.finished:
            self.summary.add(said, has_content=True, any_shown=self.steps.response_has_content)
            speaker.speech = None
            self._end_speaker(speaker)

    def _open(self, speaker: AuthorStream, kind: PartKind, model: str | None = None) -> bool:
        """Opens a part of this kind for the speaker. Returns ``False`` if parts of this kind are not shown. ``model``:
        the one that streams the part."""
        if kind is REASONING and not self._settings.options["send_reasoning"]:
            speaker.close()
            return False
        self.steps.begin_content(speaker)
        speaker.open(kind, str(self._part_ids[kind]), model)
        self._part_ids[kind] += 1
        return True

    def _add_complete(self, said: EventFacts, speaker: AuthorStream) -> None:
        parts, reports = said.parts, {type(report) for report in said.reports}
        repetition = compare(parts, speaker.streamed)
        if said.role is not None or said.finish_reason is not None or Failure in reports:
            self._end_stream(said, speaker, repetition)
        if parts:
            repetition = self._add_parts(said, speaker, repetition)
        elif (output := said.report(Output)) is not None:
            write_output(self._sink, said, output.value)
            self.steps.response_has_content = True
        else:
            self.responses.add_failure(said, speaker.key)
            failure = said.failure
            speaker.has_failed = failure is not None and failure.finish_reason is None and bool(speaker.key[2])
        if Artifacts in reports and (artifacts := said.report(Artifacts)) is not None:
            speaker.saved_artifacts.append(artifacts.saved)
        # ADK's API server sends an event with artifacts as two of one id: its content, then its actions.
        if parts or said.id == self._complete_id:
            self._write_artifacts(speaker)
        self._complete_id = said.id
        if reports:
            self._actions.write(said)
            if not _OF_SOURCES.isdisjoint(reports) and self._settings.options["send_sources"]:
                self._sources.add(said, speaker, as_streamed=repetition.same_text)
        turn_ends = LiveTurnEnd in reports
        self.summary.add(said, has_content=bool(parts), any_shown=self.steps.response_has_content)
        if parts:
            speaker.end_response()
        elif said.finish_reason is not None or Failure in reports or turn_ends:
            self._end_speaker(speaker)
        if turn_ends:
            speaker.speech = None

    def _write_artifacts(self, speaker: AuthorStream) -> None:
        for saved in speaker.saved_artifacts:
            write_artifacts(self._sink, saved, self._settings)
        speaker.saved_artifacts.clear()

    def _end_speaker(self, speaker: AuthorStream) -> None:
        """Ends the speaker's response although no complete event repeats it, and writes what waited for that event."""
        for part in speaker.deferred_parts:
            match part:
                case Text(text=text) if text:
                    self._add_text(speaker, part, text)
                case File() | ProviderPart() | OtherPart():
                    self._add_whole(speaker, part, None)
        self._write_artifacts(speaker)
        speaker.end_response()

    def _add_text(self, speaker: AuthorStream, part: Text, text: str) -> None:
        """Writes the text of this part that was not streamed."""
        kind = REASONING if part.is_thought else TEXT
        if text and (speaker.kind is kind or self._open(speaker, kind)):
            speaker.write_whole(text)
        if speaker.kind is kind and part.signature:
            speaker.sign(part.signature)

    def _add_parts(self, said: EventFacts, speaker: AuthorStream, repetition: Repetition) -> Repetition:
        """Writes the parts of a complete event, without what was streamed of them. Returns the comparison with the
        stream that it repeats: with none, if it is a response of its own."""
        if (repetition.differs or _leaves_out(said.parts, speaker)) and not self._is_aggregate(said, speaker):
            self._end_speaker(speaker)
            repetition = NOTHING_STREAMED
        repeated = list(repetition.lengths)
        repeated_others = dict(speaker.streamed_others)
        call_ids: set[str | None] | None = None
        for part in said.parts:
            match part:
                case Text(text=text) if text:
                    kind = REASONING if part.is_thought else TEXT
                    new_text = text[repeated[kind] :]
                    repeated[kind] = max(0, repeated[kind] - len(text))
                    if not repeated[
                        kind
                    ]:  # else all of it was streamed and is over: its signature is not the open part's
                        self._add_text(speaker, part, new_text)
                    continue
                case Call():
                    call_ids = call_ids or {call.id for call in said.calls}
                    self._calls.add_complete(said, speaker, part, call_ids)
                    continue
                case Result():
                    self.responses.add_response(said, part, speaker.key)
                case File() | ProviderPart() | OtherPart():
                    if repeated_others.get(part.fields, 0) > 0:
                        repeated_others[part.fields] -= 1
                    else:
                        self._add_whole(speaker, part, said)
            if part.signature:
                speaker.sign(part.signature)
        return repetition

    def _is_aggregate(self, said: EventFacts, speaker: AuthorStream) -> bool:
        call_ids = [call_id for call_id, call in speaker.calls_by_id.items() if call in speaker.streaming_calls]
        return is_aggregate(said, model=speaker.model, finish_reason=speaker.finish_reason, call_ids=call_ids)

    def _add_whole(self, speaker: AuthorStream, part: File | ProviderPart | OtherPart, said: EventFacts | None) -> None:
        """Writes a part that never comes in pieces. ``said``: its event if that is complete, else ``None``."""
        match part:
            case File():
                self.steps.begin_content(speaker)
                write_media(self._sink, part, self._settings)
            case ProviderPart(value=ProviderCall() as call):
                self._calls.add_provider_call(speaker, call)
            case ProviderPart(value=ProviderResult() as result):
                self.responses.add_provider_result(said, result, speaker.key)
            case OtherPart(fields=fields) if not part.signature:
                self._warn(f"Skipped a part with {fields or 'nothing in it'}")

    def end_parts(self, error_text: str, *, closes_pending: bool = False, error: BaseException | None = None) -> None:
        """Ends all that is open: parts, and calls as ``FunctionResponses.end_calls``."""
        for speaker in self._speakers.values():
            if self._unconfirmed is not None and (stream := speaker.streamed.take_kept()) is not None:
                self._unconfirmed.append(stream)
            speaker.has_failed = False  # a node tries again within its run
            self._end_speaker(speaker)
            self.steps.end_unfinished_calls(speaker)
        self.responses.end_calls(error_text, closes_pending=closes_pending, error=error)

    # Streams that no complete event has confirmed

    def keep_unconfirmed(self) -> None:
        """From now on, keeps all that is streamed until a complete event confirms it: see ``unconfirmed``."""
        self._unconfirmed = []
        for speaker in self._speakers.values():
            speaker.streamed.kept = UnconfirmedStream()

    @property
    def unconfirmed(self) -> list[UnconfirmedStream]:
        """The streamed parts that no complete event has confirmed, in the order in which they began."""
        streams = [*(self._unconfirmed or ()), *(speaker.streamed.whole for speaker in self._speakers.values())]
        return sorted((one for one in streams if one is not None and one.parts), key=lambda one: one.begin)

    def _end_stream(self, said: EventFacts, speaker: AuthorStream, repetition: Repetition) -> None:
        """Takes the complete event that ends the speaker's stream. An aggregate that a callback changed replaces it."""
        stream = speaker.streamed.take_kept()
        if self._unconfirmed is None or stream is None:
            return
        if not repetition.unrepeated and stream.is_confirmed_by(said.parts):
            return
        is_failure = not said.parts and said.failure is not None
        if is_failure or not self._is_aggregate(said, speaker):
            stream.ended = True
            stream.repeated = [kind for kind in PartKind if kind not in repetition.unrepeated]
            self._unconfirmed.append(stream)


def _leaves_out(parts: Iterable[Part], speaker: AuthorStream) -> bool:
    """Return True if the speaker streamed files, or other parts than text and calls, that are not among these parts."""
    if not speaker.streamed_others and not speaker.deferred_parts:
        return False
    streamed = Counter(speaker.streamed_others)
    streamed.update(_fields(speaker.deferred_parts))
    return any(fields for fields in streamed - Counter(_fields(parts)))


def _fields(parts: Iterable[Part]) -> list[str]:
    return [part.fields for part in parts if isinstance(part, File | ProviderPart | OtherPart)]
