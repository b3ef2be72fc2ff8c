"""Convert ADK events to chunks, and write the chunks. The module ``_conversion`` writes the chunks that begin and end a
response.

The content of a partial event is written when the event arrives. A complete event repeats the content of its author's
partial events. From a complete event, only new content is written. If a callback has changed the streamed text, the
client keeps the streamed text.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from stream_protocol.adk import (
    AgentSpeech,
    Artifacts,
    Call,
    CallIds,
    CallPiece,
    Compaction,
    EventFacts,
    File,
    LiveTurnEnd,
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
    Steering,
    Text,
    WarnOnce,
    continued_text,
    read_complete,
)
from stream_protocol.stream._aggregates import GATHERED, PartKind
from stream_protocol.stream._data_parts import (
    write_artifacts,
    write_compaction,
    write_output,
    write_retry,
    write_steering_message,
)
from stream_protocol.stream._endings import RunSummary
from stream_protocol.stream._function_calls import FunctionCalls
from stream_protocol.stream._function_responses import FunctionResponses
from stream_protocol.stream._inner_agents import ends_task_turn
from stream_protocol.stream._media import write_media
from stream_protocol.stream._nested_messages import NestedConversion
from stream_protocol.stream._options import Settings
from stream_protocol.stream._sources import Sources
from stream_protocol.stream._speakers import Authors, AuthorStream
from stream_protocol.stream._steps import Steps
from stream_protocol.stream.calls import CallRegistry, ToolCall
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from stream_protocol.adk import EventOrDict

TEXT, REASONING = PartKind

_OF_SOURCES = frozenset({Source, SearchSuggestions})
"""Reports of an event with sources. A ``Citation`` always comes with its ``Source``."""

T = TypeVar("T")


class EventWriter(Generic[T]):
    """Converts ADK events to chunks, and stores the state that later events need."""

    __slots__ = (
        "_calls",
        "_complete_id",
        "_reasoning_count",
        "_sink",
        "_sources",
        "_speaker",
        "_text_count",
        "_warn",
        "authors",
        "registry",
        "responses",
        "settings",
        "steps",
        "summary",
    )

    def __init__(
        self,
        sink: Sink[T],
        settings: Settings,
        call_ids: CallIds,
        warn: WarnOnce,
        begin_nested: Callable[[Settings, str], NestedConversion],
    ) -> None:
        """``begin_nested``: a function that begins the conversion for an agent inside a tool call. Its arguments are
        the settings and the call's ``toolCallId``.
        """
        self._sink = sink
        self.settings = settings
        self._warn = warn
        self._speaker: AuthorStream | None = None
        """The author of the newest event."""
        self.authors = Authors(sink)
        # Part ids are numbered in the message, so that the same events give the same bytes.
        self._text_count = 0
        self._reasoning_count = 0
        self.registry = CallRegistry(sink, call_ids, warn)
        self.steps = Steps(sink, self.registry)
        self._calls = FunctionCalls(sink, settings, self.registry, self.steps)
        self.responses = FunctionResponses(
            sink,
            settings,
            registry=self.registry,
            steps=self.steps,
            warn=warn,
            begin_nested=begin_nested,
        )
        self._sources: Sources | None = None
        self.summary = RunSummary()
        self._complete_id: str | None = None
        """The id of the newest complete event."""

    def text_delta(self, event: "EventOrDict") -> T | None:
        """Return the chunk for an event that only continues the current text or thought.

        For any other event, returns ``None`` and changes nothing. Then pass the event to ``add``. ``sink.queue`` must
        be empty.
        """
        speaker = self._speaker
        if speaker is None or speaker.opened is None or not (text := continued_text(event, speaker.opened)):
            return None
        item: T = speaker.write.make(text)
        fragments = speaker.streamed.fragments
        fragments.append(
            text
        )  # `StreamedResponse.add` inlined: for nearly all events, its call alone would take a tenth of the time
        if len(fragments) == GATHERED:
            speaker.streamed.shorten()
        return item

    def add(self, facts: EventFacts) -> None:
        if facts.reports and (compaction := facts.report(Compaction)) is not None:
            write_compaction(self._sink, compaction)
            return
        if not facts.is_fragment:
            self.authors.note_complete(facts)
        nesting = self.responses.inner_agents.nesting_call(facts)
        if facts.is_fragment and (posted := facts.report(Posted)) is not None:
            if nesting is None:
                self.responses.add_posted(facts, posted)
            else:  # an agent inside a call uses the tool
                self.responses.add_inner(nesting, facts, asks=False)
            return
        if facts.in_users_name:
            if (steering := facts.report(Steering)) is not None:
                self.steps.end_before_message()
                write_steering_message(self._sink, steering.id, facts.parts, self.settings)
                return
            self.responses.add_user_event(facts)
            if nesting is not None:
                self.responses.add_inner(nesting, facts, asks=False)
            if facts.failure is not None:  # a task-mode agent has failed after a user's message
                self.summary.add(facts, has_content=False, any_shown=self.steps.response_has_content)
            return
        if nesting is not None:
            self._add_inner(facts, nesting)
            return
        speaker = self._speaker
        if speaker is None or facts.speaker != speaker.key:
            speaker = self._change_speaker(facts)
        if facts.finish_reason is not None:
            self.summary.add_finish_reason(facts.finish_reason, facts.model)
        # After a failure, results of the failed tools may follow. Any other content shows that the node tries again.
        if speaker.has_failed and (
            facts.reports_a(Output) or any(not isinstance(part, Result) for part in facts.parts)
        ):
            write_retry(self._sink, speaker.key)
            speaker.has_failed = False
        if facts.is_fragment:
            self._add_fragment(facts, speaker)
        elif facts.reports and (speech := facts.report(AgentSpeech)) is not None:
            self._add_speech(facts, speech, speaker)
        elif not self.responses.add_progress(facts):
            self._add_complete(read_complete(facts), speaker)

    def _add_inner(self, facts: EventFacts, nesting: ToolCall) -> None:
        """Process an event of an agent that runs inside the tool call ``nesting``. The event becomes part of this
        call's output.

        The client can answer only calls of the assistant message. If a call of the inner agent waits for the user, it
        therefore also gets a part in the assistant message. If a task-mode agent waits for the user's next message, its
        reply also gets a part there.
        """
        calls = [] if facts.is_fragment else facts.calls
        self.responses.add_inner(nesting, facts, asks=any(call.kind is not None for call in calls))
        if facts.is_fragment:
            self.authors.keep_inner(facts)
            return
        if ends_task_turn(facts):
            self.responses.end_task(nesting)
            visible = (part for part in facts.parts if not (isinstance(part, Text) and part.is_thought))
            self._add_complete(read_complete(facts._replace(parts=(*visible,))), self._change_speaker(facts))
            return
        speaker = self.authors.get(facts.speaker)
        call_ids = {call.id for call in calls}
        for part in facts.parts:
            match part:
                case Call():
                    self._calls.add_complete(facts, speaker, part, call_ids, is_nested=True)
                case Result():
                    self.responses.add_response(facts, part)
        self.summary.add(facts, has_content=bool(facts.parts), any_shown=self.steps.response_has_content)
        speaker.end_response()

    def _change_speaker(self, facts: EventFacts) -> AuthorStream:
        self.responses.add_delegation(facts.event)
        if self._speaker is not None:
            self._write_artifacts(self._speaker)
        self._speaker = self.authors.get(facts.speaker)
        return self._speaker

    def _add_fragment(self, facts: EventFacts, speaker: AuthorStream) -> None:
        self.authors.note_fragment(speaker, facts)
        if facts.finish_reason is not None:
            speaker.streamed.finish_reason = facts.finish_reason
        if facts.reports and (failure := facts.failure) is not None:  # a complete event may never repeat the failure
            self.summary.add_error(failure, facts.speaker[1], any_shown=self.steps.response_has_content)
        for part in facts.parts:
            if speaker.streamed.deferred:
                speaker.defer(part)
            elif isinstance(part, Text) and part.text:
                self._add_delta(speaker, part, facts.model)
            elif isinstance(part, CallPiece):
                self._calls.add_fragment(facts.event, speaker, part)
            else:
                self._add_streamed_whole(speaker, part)
        if facts.role is None and (speech := facts.report(AgentSpeech)) is not None:
            self._add_speech(facts, speech, speaker)

    def _add_delta(self, speaker: AuthorStream, part: Text, model: str | None) -> None:
        kind = REASONING if part.is_thought else TEXT
        if speaker.kind is kind or self._open(speaker, kind, model):
            speaker.write(part.text)
            speaker.streamed.add(part.text)
        else:
            speaker.keep(part)  # thoughts are stored even if they are not shown
        if part.is_thought and part.signature:
            speaker.sign(part.signature)

    def _add_streamed_whole(self, speaker: AuthorStream, part: Part) -> None:
        """Process a part that a partial event contains completely, such as a file or a signature without text."""
        if self.settings.options["artifact_url"] is not None and isinstance(part, File):
            # Only the complete event shows whether the file was saved, and as which artifact.
            speaker.defer(part)
            return
        speaker.keep(part)
        if isinstance(part, File | ProviderPart | OtherPart):
            self._add_whole(speaker, part, None)
            speaker.streamed.note_whole(part.fields)
        if part.signature:
            speaker.sign(part.signature)

    def _add_speech(self, facts: EventFacts, speech: AgentSpeech, speaker: AuthorStream) -> None:
        """Write the agent's transcribed speech in a live run.

        An utterance arrives in fragments. The event with ``finished`` repeats the whole utterance. Other events may
        arrive between two fragments.
        """
        text = speaker.new_speech(speech)
        if text and (speaker.kind is TEXT or self._open(speaker, TEXT)):
            speaker.write(text)
        if speech.finished:
            self.summary.add(facts, has_content=True, any_shown=self.steps.response_has_content)
            self._end_speaker(speaker)

    def _open(self, speaker: AuthorStream, kind: PartKind, model: str | None = None) -> bool:
        """Begin a text or reasoning part. Returns False for a reasoning part if the option ``send_reasoning`` is off.

        ``model``: the model that streams the part.
        """
        if kind is REASONING and not self.settings.options["send_reasoning"]:
            speaker.close()
            return False
        self.steps.begin_content(speaker)
        if kind is REASONING:
            number, self._reasoning_count = self._reasoning_count, self._reasoning_count + 1
        else:
            number, self._text_count = self._text_count, self._text_count + 1
        speaker.open(kind, str(number), model)
        return True

    def _add_complete(self, facts: EventFacts, speaker: AuthorStream) -> None:
        parts, reports = facts.parts, {type(report) for report in facts.reports}
        comparison = self.authors.confirm(speaker, facts, self.registry)
        if comparison.is_separate:
            self._end_speaker(speaker)
        if parts:
            self._add_parts(facts, speaker, comparison.new_parts)
            speaker.streamed.deferred = ()  # the complete event replaces them
        elif (output := facts.report(Output)) is not None:
            write_output(self._sink, facts, output.value)
            self.steps.response_has_content = True
        else:
            self.responses.add_failure(facts, speaker.key)
            failure = facts.failure
            speaker.has_failed = failure is not None and failure.finish_reason is None and bool(speaker.key[2])
        if Artifacts in reports and (artifacts := facts.report(Artifacts)) is not None:
            speaker.saved_artifacts = (*speaker.saved_artifacts, artifacts.saved)
        # ADK's API server sends an event with artifacts as two events with one id: its content, then its actions.
        if parts or facts.id == self._complete_id:
            self._write_artifacts(speaker)
        self._complete_id = facts.id
        if reports:
            self.responses.action_writer.write(facts)
            if not _OF_SOURCES.isdisjoint(reports) and self.settings.options["send_sources"]:
                self._sources = self._sources or Sources(self._sink, self.settings.client)
                self._sources.add(facts, speaker, as_streamed=comparison.same_text)
        self.summary.add(facts, has_content=bool(parts), any_shown=self.steps.response_has_content)
        if comparison.ends_response:
            self._end_speaker(speaker)
        if LiveTurnEnd in reports:
            speaker.speech = None

    def _write_artifacts(self, speaker: AuthorStream) -> None:
        # Removed first: if the hook `artifact_url` raises, the end of the response must not call it again.
        waiting, speaker.saved_artifacts = speaker.saved_artifacts, ()
        for saved in waiting:
            write_artifacts(self._sink, saved, self.settings)

    def _end_speaker(self, speaker: AuthorStream) -> None:
        """End an author's model response. If parts wait for the complete event, write them first."""
        waiting, speaker.streamed.deferred = speaker.streamed.deferred, ()
        for part in waiting:
            match part:
                case Text(text=text) if text:
                    self._add_text(speaker, part)
                case File() | ProviderPart() | OtherPart():
                    self._add_whole(speaker, part, None)
        self._write_artifacts(speaker)
        speaker.end_response()

    def _add_text(self, speaker: AuthorStream, part: Text) -> None:
        """Write a text that was not streamed. The text may be empty if the part has a thought signature."""
        kind = REASONING if part.is_thought else TEXT
        if part.text and (speaker.kind is kind or self._open(speaker, kind)):
            speaker.write_whole(part.text)
        if speaker.kind is kind and part.signature:
            speaker.sign(part.signature)

    def _add_parts(self, facts: EventFacts, speaker: AuthorStream, new_parts: Iterable[Part]) -> None:
        """Write the parts of a complete event that were not streamed before."""
        call_ids: set[str | None] | None = None
        for part in new_parts:
            assert not isinstance(part, CallPiece)  # only fragments have pieces of calls
            match part:
                case Text():
                    self._add_text(speaker, part)
                    continue
                case Call():
                    call_ids = call_ids or {call.id for call in facts.calls}
                    self._calls.add_complete(facts, speaker, part, call_ids)
                    continue
                case Result():
                    self.responses.add_response(facts, part)
                case _:
                    self._add_whole(speaker, part, facts)
            if part.signature:
                speaker.sign(part.signature)

    def _add_whole(
        self, speaker: AuthorStream, part: File | ProviderPart | OtherPart, facts: EventFacts | None
    ) -> None:
        """Write a part that is never streamed in fragments. ``facts``: the complete event with the part; ``None`` if
        the event is partial.
        """
        match part:
            case File():
                self.steps.begin_content(speaker)
                write_media(self._sink, part, self.settings)
            case ProviderPart(value=ProviderCall() as call):
                self._calls.add_provider_call(speaker, call)
            case ProviderPart(value=ProviderResult() as result):
                self.responses.add_provider_result(facts, result, speaker.key)
            case OtherPart(fields=fields) if not part.signature:
                self._warn(f"Skipped a part with {fields or 'nothing in it'}")

    def end_parts(self, error_text: str, *, closes_pending: bool = False, error: BaseException | None = None) -> None:
        """End all unfinished parts of the message, and then the tool calls without a result.

        ``closes_pending``: True to also end calls that wait for the user, the client or another system. ``error``: the
        exception of the run.
        """
        for speaker in self.authors:
            self.authors.end_stream(speaker)
            speaker.has_failed = False  # a node tries again only within its run
            self._end_speaker(speaker)
            self.steps.end_unfinished_calls(speaker)
        self.responses.end_calls(error_text, closes_pending=closes_pending, error=error)
