"""What ADK is given for a planned turn: the content, the run config, and the events to append before the run."""

from typing import Final

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.genai import types

from stream_protocol.convert import is_relayed
from stream_protocol.convert.calls import CallKind
from stream_protocol.session._files import InlineFile, TextOrFile
from stream_protocol.session._planning import AnsweredCalls, CallAnswer, NewUserTurn
from stream_protocol.session._user_message import adk_part
from stream_protocol.session.transcript import HIDDEN_FROM_MODEL, EventMetadata, SentFile, Transcript, update_metadata

UNANSWERED: Final = "The user went on without an answer."
"""The error that the model reads as the result of a call which a new user message superseded."""

_READ_BY_MODEL: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


def user_content(turn: NewUserTurn | AnsweredCalls) -> types.Content:
    """The user's words and files, or the answers to the agent's calls: ADK does not take both at once.

    Answers that ``answers_before_run`` returns are not in it.
    """
    match turn:
        case NewUserTurn():
            parts = [adk_part(text_or_file) for text_or_file in turn.texts_and_files]
        case AnsweredCalls():
            separate = _separate_answers(turn)
            parts = [_answer_part(answer) for answer in turn.answers if answer not in separate]
    return types.Content(role="user", parts=parts)


def answers_before_run(turn: NewUserTurn | AnsweredCalls, request: str | None = None) -> list[Event]:
    """The answers to append to the session in events of their own, before the run begins with ``user_content``.

    ADK hides an event with an approval or a credential from the model, with whatever else is in it. The output of a
    client tool in the same event would be lost. ``request``: as for ``run_config_for_turn``.
    """
    if isinstance(turn, NewUserTurn):
        return []
    events = [_answer_event(answer, answer.event) for answer in _separate_answers(turn) if answer.event is not None]
    for event in events:
        update_metadata(event, request=request)
    return events


def responses_to_superseded_calls(transcript: Transcript) -> list[Event]:
    """The events to append before a new user message, which close the calls that the message leaves unanswered.

    The model reads these calls, and models refuse a call without a result. The events are hidden from the page, where
    the question stays as it was. A call of an agent behind A2A stays open: ADK would send that agent our response
    beside the user's message, and an ADK agent refuses both together.
    """
    exchange = transcript.current
    if exchange is None:
        return []
    closing = []
    for call in exchange.external_calls:
        relayed = is_relayed(call.event)
        if call.is_pending and call.kind in _READ_BY_MODEL and not relayed:
            answer = CallAnswer(id=call.answer_id, name=call.answer_name, response={"error": UNANSWERED})
            event = _answer_event(answer, call.event)
            update_metadata(event, hidden_events=(event.id,))
            closing.append(event)
    return closing


def _separate_answers(turn: AnsweredCalls) -> list[CallAnswer]:
    """The answers that the model must read, if ADK would hide them together with another one."""
    for_model = [answer for answer in turn.answers if answer.name not in HIDDEN_FROM_MODEL]
    return for_model if len(for_model) < len(turn.answers) else []


def _answer_event(answer: CallAnswer, call: Event) -> Event:
    """An event in the call's invocation, branch and scope, where the agent that made the call finds it."""
    return Event(
        author="user",
        invocation_id=call.invocation_id,
        branch=call.branch,
        isolation_scope=call.isolation_scope,
        content=types.Content(role="user", parts=[_answer_part(answer)]),
    )


def _answer_part(answer: CallAnswer) -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(id=answer.id, name=answer.name, response=answer.response)
    )


def run_config_for_turn(turn: NewUserTurn | AnsweredCalls, base: RunConfig, request: str | None = None) -> RunConfig:
    """``base`` with our metadata: what only the client knows of this turn, for the stored event to keep.

    ``request``: the fingerprint of the request.
    """
    match turn:
        case NewUserTurn():
            has_files = any(isinstance(said, InlineFile) for said in turn.texts_and_files)
            files = tuple(map(_sent_file, turn.texts_and_files)) if has_files else ()
            metadata = EventMetadata(message_id=turn.client_message_id, request=request, files=files)
        case AnsweredCalls():
            metadata = EventMetadata(request=request, reasons=turn.reasons)
    return base.model_copy(update={"custom_metadata": metadata.to_custom(base.custom_metadata)})


def _sent_file(text_or_file: TextOrFile) -> SentFile | None:
    if not isinstance(text_or_file, InlineFile):
        return None
    return SentFile(media_type=text_or_file.media_type, filename=text_or_file.name)
