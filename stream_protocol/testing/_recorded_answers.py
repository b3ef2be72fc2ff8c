"""Read the responses of a model from a recording, for ``ScriptedLlm``."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from google.adk.events import Event
from google.adk.models.llm_response import LlmResponse

from stream_protocol.adk import ABORTED, CallKind, EventFacts, SpeakerKey, is_relayed, read
from stream_protocol.recording import Recording
from stream_protocol.session import is_appended, shown_facts
from stream_protocol.wire import InvalidArgumentError, check_instance, check_text

_OUTPUT_TOOL: Final = "set_model_response"
"""ADK's tool for responses with an ``output_schema``. ADK itself repeats the tool's result as text."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A recorded response of a model. ``whole`` is ``None`` if the run was stopped during the response."""

    fragments: tuple[LlmResponse, ...]
    whole: LlmResponse | None

    def replay(self, *, stream: bool) -> Iterator[LlmResponse]:
        """Yield copies of the partial responses (fragments), and then a copy of the complete response. They are copies
        because ADK may change them.

        ``stream``: False to yield only the complete response, if there is one.
        """
        responses = self.fragments if stream else ()
        for response in responses if self.whole is None else (*responses, self.whole):
            yield response.model_copy(deep=True)


def recorded_answers(recording: Recording, author: str | None) -> list[RecordedAnswer]:
    """Return the model's responses, in the order in which they ended. ``author``: the agent whose responses are
    returned; ``None`` for all agents.

    Partial responses (fragments) belong to the next complete response of the same agent. If the turn has no such
    response, the run was stopped. Then the fragments alone are a response.
    """
    check_instance("recording", recording, Recording, "a Recording", hint='load_recording("FILE") gives one')
    check_text("author", author, or_none=True)
    answers = _Answers()
    authors: dict[str, None] = {}
    for turn in recording.turns():
        for event in turn.events:
            facts = shown_facts(read(event))
            if answers.holds(facts):
                authors[event.author] = None
                if author in (None, event.author):
                    answers.add(facts)
        answers.end_turn()
    if not answers.ended:
        others = f" of the agent {author!r}; it holds some of {', '.join(authors)}" if author and authors else ""
        raise InvalidArgumentError(f"{recording.path} holds no answer of a model{others}.")
    return answers.ended


class _Answers:
    """Collects the model responses of a recording."""

    def __init__(self) -> None:
        self.ended: list[RecordedAnswer] = []
        self._open = defaultdict[SpeakerKey, list[LlmResponse]](list)
        self._gave_output: set[SpeakerKey] = set()
        """The agents with a result of ``_OUTPUT_TOOL``. Their next text is ADK's copy of the result."""

    def holds(self, facts: EventFacts) -> bool:
        """Return True if the event is a response of the model."""
        if facts.by_user or facts.in_users_name or is_relayed(facts.event):
            return False
        if facts.results:
            self._gave_output |= {facts.speaker for result in facts.results if result.name == _OUTPUT_TOOL}
            return False
        if facts.speaker in self._gave_output:
            self._gave_output.discard(facts.speaker)
            return False
        if is_appended(facts.event) and not facts.is_fragment:
            return False
        if facts.failure is not None and facts.failure.code == ABORTED and not facts.parts:
            return False
        asks = any(call.kind not in (None, CallKind.CLIENT_TOOL) for call in facts.calls)
        return bool(facts.parts or facts.failure) and not asks

    def add(self, facts: EventFacts) -> None:
        response = _response(facts.event)
        if facts.is_fragment:
            self._open[facts.speaker].append(response)
        else:
            self.ended.append(RecordedAnswer(tuple(self._open.pop(facts.speaker, ())), response))

    def end_turn(self) -> None:
        self.ended += [RecordedAnswer(tuple(fragments), None) for fragments in self._open.values()]
        self._open.clear()
        self._gave_output.clear()


def _response(event: Event) -> LlmResponse:
    """Return the model response in an event. An error that this package added for a stopped run is removed."""
    no_answer = {"custom_metadata", "error_code", "error_message"} if is_appended(event) else {"custom_metadata"}
    kept = LlmResponse.model_fields.keys() - no_answer
    return LlmResponse.model_construct(**{name: value for name, value in event if name in kept})
