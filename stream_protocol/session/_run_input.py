"""What ``plan`` decided -> the content and the run config that ADK is given."""

from collections.abc import Sequence
from typing import Final

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.genai import types

from stream_protocol.session._exchanges import conversation_events, current_exchange
from stream_protocol.session._files import InlineFile, TextOrFile
from stream_protocol.session._metadata import METADATA_KEY, UNTOLD
from stream_protocol.session._parts import said_part
from stream_protocol.session._pending_calls import KEPT_FROM_THE_MODEL, CallKind, outside_calls
from stream_protocol.session._planning import AnsweredCalls, CallAnswer, NewUserTurn

UNANSWERED: Final = "The user went on without an answer."

_READ_BY_THE_MODEL: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


def user_content(turn: NewUserTurn | AnsweredCalls) -> types.Content:
    """The user's words and files, or the answers to the agent's calls; ADK takes no mixture of the two."""
    match turn:
        case NewUserTurn():
            parts = [said_part(said) for said in turn.texts_and_files]
        case AnsweredCalls():
            ahead = _ahead(turn)
            parts = [_answer_part(answer) for answer in turn.answers if answer not in ahead]
    return types.Content(role="user", parts=parts)


def answers_before_run(turn: NewUserTurn | AnsweredCalls) -> list[Event]:
    """The answers that go into the session in events of their own, before the run begins with ``user_content``.

    ADK keeps an event that holds an approval or a credential from the model, with whatever else is in it: the output of
    a client tool would be lost.
    """
    if isinstance(turn, NewUserTurn):
        return []
    made_in = {call.id: event for event in turn.past for call in event.get_function_calls()}
    return [_answer_event(answer, made_in[answer.id]) for answer in _ahead(turn)]


def responses_to_superseded_calls(stored: Sequence[Event]) -> list[Event]:
    """What closes the questions to the page that new words leave unanswered; it goes into the session before them.

    Models take no call without a result, and these are calls that they read. The page is not told: there the question
    stays as it was.
    """
    exchange = current_exchange(conversation_events(stored))
    closing = []
    for call in outside_calls(exchange):
        if call.waits and call.kind in _READ_BY_THE_MODEL:
            answer = CallAnswer(id=call.answer_id, name=call.answer_name, response={"error": UNANSWERED})
            event = _answer_event(answer, exchange[call.response_index])
            event.custom_metadata = {METADATA_KEY: {UNTOLD: [event.id]}}
            closing.append(event)
    return closing


def _ahead(turn: AnsweredCalls) -> list[CallAnswer]:
    shown = [answer for answer in turn.answers if answer.name not in KEPT_FROM_THE_MODEL]
    return shown if len(shown) < len(turn.answers) else []


def _answer_event(answer: CallAnswer, call: Event) -> Event:
    """Where the agent that made the call finds it."""
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


def run_config_for_turn(turn: NewUserTurn | AnsweredCalls, base: RunConfig) -> RunConfig:
    """``base`` with what only the client knows of this turn, for the stored event to remember."""
    match turn:
        case NewUserTurn():
            known: dict[str, object] = {"message_id": turn.client_message_id}
            if any(isinstance(said, InlineFile) for said in turn.texts_and_files):
                known["files"] = [_sent_file(said) for said in turn.texts_and_files]
        case AnsweredCalls():
            known = {"reasons": turn.reasons} if turn.reasons else {}
    if not known:
        return base
    return base.model_copy(update={"custom_metadata": {**(base.custom_metadata or {}), METADATA_KEY: known}})


def _sent_file(said: TextOrFile) -> dict[str, str] | None:
    if not isinstance(said, InlineFile):
        return None
    return {"mediaType": said.media_type, **({"filename": said.name} if said.name else {})}
