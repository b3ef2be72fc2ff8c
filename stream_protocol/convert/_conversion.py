"""ADK events -> a sink: the dispatch, and the life of one response.

A response is fed event by event and ends exactly once: ``finish``, ``fail`` or ``abort``. Everything here is plain
computation over what was fed before, so the same events give the same chunks.

An ADK event is a fragment (``partial``) or complete. Fragments are shown as they come. A complete event repeats what
its speaker's fragments said, so only the difference is shown; an event that differs from what was streamed (a callback
redacted it) is not shown on top of it.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from stream_protocol.convert._data_parts import write_actions, write_artifacts, write_output
from stream_protocol.convert._endings import (
    ABORTED,
    DEFAULT_ERROR_TEXT,
    FINISH_REASONS,
    NO_CONTENT,
    AgentRunError,
    Usage,
)
from stream_protocol.convert._function_responses import Answers
from stream_protocol.convert._options import Settings
from stream_protocol.convert._sources import Sources
from stream_protocol.convert._speakers import NOBODY, Kind, Ordinals, Speaker, SpeakerKey
from stream_protocol.convert._steps import Steps
from stream_protocol.convert._tool_chunks import NO_RESULT, ToolCalls
from stream_protocol.convert._warnings import WarnOnce
from stream_protocol.convert._whole_parts import WholeParts, is_media, other_kind
from stream_protocol.convert.calls import PERSON_ASKED, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, CallRegistry, ToolCall
from stream_protocol.wire import FinishReason, Sink, StreamProtocolError, json_value, to_well_formed

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import FunctionCall, Part

logger = logging.getLogger(__name__)

KINDS = TEXT, REASONING = tuple(Kind)

RUN_FAILED = "The run failed before the tool finished."
RUN_STOPPED = "The run was stopped before the tool finished."

Ending = Literal["finish", "error", "timeout", "abort"]
"""How a response ended: its terminal. A ``timeout`` is an ``error`` that also ended what waited for a person."""

T = TypeVar("T")


class Conversion(Generic[T]):
    """One response of an agent, written to a sink."""

    def __init__(self, sink: Sink[T], settings: Settings, message_id: str | None = None) -> None:
        self.written = sink.written
        """What the response has written and nobody has sent. Always the same list: whoever sends it clears it."""
        self._sink = sink
        self._settings = settings
        self.message_id = message_id
        """The message that the response is of; ``None`` until an event has told it."""
        self._speaker = Speaker(NOBODY, sink)
        """The speaker of the newest event; at first that of events which do not say who speaks."""
        self._speakers: dict[SpeakerKey, Speaker] = {NOBODY: self._speaker}
        self._ordinals = Ordinals()
        self._registry = CallRegistry()
        self._steps = Steps(sink, self._registry)
        self._tools = ToolCalls(sink, settings, self._registry, self._steps)
        self._warn = WarnOnce()
        self._answers = Answers(sink, settings, registry=self._registry, tools=self._tools, warn=self._warn)
        self._whole = WholeParts(sink, settings, registry=self._registry, tools=self._tools, warn=self._warn)
        self._sources = Sources(sink)
        self._usage = Usage()
        self._model_id: str | None = None
        self._reason: str | None = None
        """google-genai's finish reason of the newest model response."""
        self._failures: list[tuple[str | None, AgentRunError]] = []
        """What events reported and nobody has mended since, with the branch where it happened."""
        self._aborted = False
        self._running = False
        """Between ``start`` and the end."""
        self.outcome: Ending | None = None
        """How the response ended; ``None`` before."""

    # The life of a response

    def replay(self, past: Iterable["Event"]) -> None:
        """Takes in the earlier events of the same message: their calls, counters and totals; nothing is written."""
        for event in past:
            # What the user says begins another response. A task agent's result is authored "user", too, but by a node.
            if self._running and event.author == "user" and not event.node_info.path:
                self._end_replayed()
            self.message_id = self.message_id or event.invocation_id or None
            self._running = True
            self.feed(event)
        if self._running:
            self._end_replayed()
        self._running = False

    def _end_replayed(self) -> None:
        """Leaves the state that the end of an earlier response left."""
        self._end_parts(NO_RESULT)
        self._steps.finish_last()
        self.written.clear()
        self._failures.clear()
        self._reason = None
        self._aborted = self._steps.shown = False

    def feed(self, event: "Event") -> None:
        """Writes what this event adds to the stream."""
        if not self._running:
            self._start(event.invocation_id)
        # Fragments are nearly all events, so what one text fragment takes is all in this function. Pydantic keeps
        # fields in the instance's dict; reading them there costs a fourth of its attribute access.
        fields = event.__dict__
        author = fields["author"]
        if author == "user":
            self._answers.take_user_event(event)
            return
        speaker = self._speaker
        branch, path = fields["branch"], fields["node_info"].path
        if author != speaker.author or branch != speaker.branch or path != speaker.path:
            speaker = self._turn_to((author, branch, path), event)
        if (reason := fields["finish_reason"]) is not None:
            self._reason = reason.value
            self._model_id = fields["model_version"] or self._model_id  # up to ADK 2.0 only fragments name the model
        if not fields["partial"]:
            self._take_complete(event, speaker)
        elif (content := fields["content"]) is not None:
            touched: list[ToolCall] | None = None
            for part in content.parts or ():
                if speaker.held:
                    speaker.held.append(part)
                    continue
                said = part.__dict__
                if text := said["text"]:
                    thought = said["thought"]
                    kind = REASONING if thought else TEXT
                    if speaker.kind is kind or self._open(speaker, kind):
                        speaker.write(text)
                        speaker.keep(text)
                    if thought and part.thought_signature:
                        speaker.sign(part.thought_signature)
                else:
                    touched = self._take_fragment(speaker, part, touched)

    def _turn_to(self, key: SpeakerKey, event: "Event") -> Speaker:
        """The speaker that is spoken in from now on."""
        self._answers.take_delegation(event)
        speaker = self._speakers.get(key)
        if speaker is None:
            speaker = self._speakers[key] = Speaker(key, self._sink)
        self._speaker = speaker
        return speaker

    def finish(self) -> None:
        """The events are over: ends the response by what they told."""
        if self._failures:
            self.fail(self._failures[0][1])
        elif self._aborted:
            self.abort()
        else:
            self._finish()

    def _finish(self) -> None:
        self._check_running()
        metadata = self._metadata()
        self._end_parts(NO_RESULT)
        self._tools.free_questions()
        bare_step = self._steps.finish_last()
        self._sink.finish(self._finish_reason(), {} if metadata is None and bare_step else metadata)
        self._end("finish")

    def fail(self, error: BaseException, *, stopped: bool = False) -> None:
        """The run failed: ends what is open, then the one ``error`` chunk, in the words of ``on_error``.

        What waits for a person can still be answered, unless the run did not end by itself but was ``stopped``.
        """
        closes_pending = stopped and self._running  # before its first event a run has touched nothing
        self._check_running()
        self._end_parts(RUN_FAILED, closes_pending=closes_pending)
        self._steps.finish()  # no helper sends after an error
        self._sink.error(self._error_text(error))
        self._end("timeout" if stopped else "error")

    def abort(self, reason: str | None = None) -> None:
        """The run was stopped: ends what is open, also what waits for a person (ADK closes it, too), then ``abort``."""
        closes_pending = self._running  # before its first event a run has touched nothing
        self._check_running()
        metadata = self._metadata()
        self._end_parts(RUN_STOPPED, closes_pending=closes_pending)
        bare_step = self._steps.finish_last()
        if metadata is not None or bare_step:
            self._sink.message_metadata(metadata or {})
        self._sink.abort(reason)
        self._end("abort")

    def _start(self, invocation_id: str | None) -> None:
        if self.outcome is not None:
            raise StreamProtocolError("the response has ended; nothing can follow")
        self._running = True
        self.message_id = self.message_id or invocation_id or None
        self._sink.start(self.message_id)

    def _check_running(self) -> None:
        if not self._running:
            self._start(None)

    def _end(self, outcome: Ending) -> None:
        # Last of all: if a hook raises on the way here, the response can still be failed.
        self.outcome = outcome
        self._running = False

    def _error_text(self, error: BaseException) -> str:
        try:
            return to_well_formed(str.__str__(self._settings.on_error(error)))  # which refuses whatever is no text
        except Exception:
            logger.exception("`on_error` raised")
            return DEFAULT_ERROR_TEXT

    def _end_parts(self, text: str, *, closes_pending: bool = False) -> None:
        for speaker in self._speakers.values():
            self._end_speaker(speaker)
            self._tools.cut(speaker)
        self._tools.end(text, closes_pending=closes_pending)

    def _finish_reason(self) -> FinishReason:
        if any(call.awaiting is not None for call in self._registry.waiting()):
            return "tool-calls"
        if self._reason is None:
            return "stop" if self._steps.shown else "other"
        return FINISH_REASONS.get(self._reason, "other")

    def _metadata(self) -> dict[str, Any] | None:
        usage = self._usage.as_metadata()
        metadata: dict[str, Any] = {} if usage is None else {"usage": usage}
        if self._model_id is not None:
            metadata["modelId"] = self._model_id
        return json_value(self._settings.message_metadata(metadata), lossy=True) or None

    # Events

    def _take_fragment(self, speaker: Speaker, part: "Part", touched: list[ToolCall] | None) -> list[ToolCall] | None:
        """A fragment without text. ``touched`` are the calls that this event has spoken of already."""
        if (function_call := part.function_call) is not None:
            touched = [] if touched is None else touched
            self._tools.add_fragment(speaker, part, function_call, touched)
            return touched
        if self._settings.artifact_url is not None and is_media(part):
            speaker.held.append(part)  # only the complete event tells whether it was saved, or what stands in its place
            return touched
        if part.text is None:
            self._whole.take(speaker, part, None)
            speaker.shown[other_kind(part)] = speaker.shown.get(other_kind(part), 0) + 1
        if part.thought_signature:
            speaker.sign(part.thought_signature)
        return touched

    def _open(self, speaker: Speaker, kind: Kind) -> bool:
        """Opens a part of this kind in the speaker; ``False`` if it is not to be shown."""
        speaker.close()
        if kind is REASONING and not self._settings.send_reasoning:
            return False
        self._tools.enter(speaker)
        speaker.open(kind, self._ordinals.next(kind))
        return True

    def _take_complete(self, event: "Event", speaker: Speaker) -> None:
        if self._answers.take_progress(event):
            return
        content = event.content
        parts = content.parts if content is not None and content.parts else []
        if parts:
            self._take_parts(event, speaker, parts)
        elif event.output is not None:
            write_output(self._sink, event)
            self._steps.shown = True
        if event.actions.artifact_delta:
            speaker.saved.append(event)
        if parts:
            self._tell_saved(speaker)
        write_actions(self._sink, event, self._settings)
        self._take_sources(event)
        self._take_outcome(event, has_content=bool(parts))
        if parts:
            speaker.end_response()
        elif event.finish_reason is not None or event.error_code:
            self._end_speaker(speaker)

    def _tell_saved(self, speaker: Speaker) -> None:
        for event in speaker.saved:
            write_artifacts(self._sink, event, self._settings)
        speaker.saved.clear()

    def _end_speaker(self, speaker: Speaker) -> None:
        """The speaker has ended without a complete event that repeats it: what waited for that is shown as it is."""
        for part in speaker.held:
            if part.text:
                kind = REASONING if part.thought else TEXT
                if speaker.kind is kind or self._open(speaker, kind):
                    speaker.write(part.text)
                if part.thought and part.thought_signature:
                    speaker.sign(part.thought_signature)
            elif part.text is None and part.function_call is None:
                self._whole.take(speaker, part, None)
        self._tell_saved(speaker)
        speaker.end_response()

    def _take_parts(self, event: "Event", speaker: Speaker, parts: list["Part"]) -> None:
        repeated = [_repeated(speaker, kind, parts) for kind in KINDS]
        others = dict(speaker.shown)
        ids = {part.function_call.id for part in parts if part.function_call is not None}
        for part in parts:
            if part.text:
                kind = REASONING if part.thought else TEXT
                text = part.text[repeated[kind] :]
                repeated[kind] = max(0, repeated[kind] - len(part.text))
                if text and (speaker.kind is kind or self._open(speaker, kind)):
                    speaker.write(text)
                if repeated[kind] or speaker.kind is not kind:
                    continue  # streamed, and over: a signature here is not the open part's
            elif part.function_call is not None:
                self._take_call(event, speaker, part, part.function_call, ids)
                continue
            elif part.function_response is not None:
                self._answers.take_response(event, part.function_response, speaker.known)
            elif part.text is None and others.get(kind_name := other_kind(part), 0) > 0:
                others[kind_name] -= 1
            elif part.text is None:
                self._whole.take(speaker, part, event)
            if part.thought_signature:
                speaker.sign(part.thought_signature)

    def _take_call(
        self, event: "Event", speaker: Speaker, part: "Part", function_call: "FunctionCall", ids: set[str | None]
    ) -> None:
        if function_call.name == REQUEST_CONFIRMATION:
            self._tools.request_approval(speaker, function_call)
            return
        if function_call.name == REQUEST_CREDENTIAL:
            self._answers.await_credential(function_call)
        call = self._tools.complete(speaker, part, function_call, ids)
        if call is not None and (
            function_call.id in (event.long_running_tool_ids or ()) or function_call.name in PERSON_ASKED
        ):
            call.awaiting = "client"
            call.long_running = True

    # What an event says besides its content

    def _take_sources(self, event: "Event") -> None:
        if not self._settings.send_sources:
            return
        if event.grounding_metadata is not None:
            self._sources.add_grounding(event.grounding_metadata)
        if event.citation_metadata is not None:
            self._sources.add_citations(event.citation_metadata)

    def _take_outcome(self, event: "Event", *, has_content: bool) -> None:
        if event.usage_metadata is not None:
            self._usage.add(event.usage_metadata)
        if event.model_version:
            self._model_id = event.model_version
        if event.error_code:
            self._take_error(event, event.error_code)
        elif has_content and self._failures:
            self._failures = [failure for failure in self._failures if not _goes_on(event.branch, failure[0])]
        if event.interrupted:
            self._reason = "OTHER"

    def _take_error(self, event: "Event", code: str) -> None:
        if code == ABORTED:
            self._aborted = True
            self._failures.clear()  # the last word counts: tools may fail because they are stopped
        elif self._steps.shown and (code in FINISH_REASONS or code == NO_CONTENT):
            self._reason = code
        else:
            self._aborted = False
            self._failures.append((event.branch, AgentRunError(code, event.error_message)))


def _goes_on(branch: str | None, failed: str | None) -> bool:
    """Whether content in a branch shows that a failure was mended: it is the same branch or one above, no sibling."""
    return branch is None or failed == branch or (failed or "").startswith(f"{branch}.")


def _repeated(speaker: Speaker, kind: Kind, parts: list["Part"]) -> int:
    """How much of the complete event's text of this kind, from its beginning, is not to be shown again."""
    streamed = "".join(speaker.streamed[kind])
    if not streamed:
        return 0
    whole = "".join(part.text or "" for part in parts if bool(part.thought) is (kind is REASONING))
    return len(streamed) if whole.startswith(streamed) else len(whole)
