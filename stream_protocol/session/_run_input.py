"""Input for ADK for a planned turn: the content, the run config, and the events to append before the run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import CallKind, is_relayed
from stream_protocol.session._files import InlineFile, TextOrFile
from stream_protocol.session._request_plans import AnsweredCalls, CallAnswer, NewUserTurn
from stream_protocol.session._run_output import event_like
from stream_protocol.session._user_message import adk_part
from stream_protocol.session.transcript import HIDDEN_FROM_MODEL, EventMetadata, SentFile, Transcript, update_metadata

UNANSWERED: Final = "The user went on without an answer."
"""The error of a call which a new user message superseded, as the model reads it and history shows it."""

_READ_BY_MODEL: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


@dataclass(frozen=True, kw_only=True)
class RunInput:
    """Input of one run. ``before``: events to append to the session first; the client has already been shown their
    content.

    ``answers``: the answers in ``content`` and ``before``.
    """

    content: types.Content
    before: tuple[Event, ...] = ()
    answers: tuple[CallAnswer, ...] = ()


def run_inputs(request_plan: NewUserTurn | AnsweredCalls, idempotency_key: str | None = None) -> list[RunInput]:
    """The user's text and files, or the answers to the agent's calls: ADK does not take both at once.

    Answers are for one run, or for several, one after the other: ADK resumes one agent in a run. ``idempotency_key``:
    as for ``run_config_for_turn``.
    """
    match request_plan:
        case NewUserTurn():
            return [RunInput(content=_content(map(adk_part, request_plan.texts_and_files)))]
        case AnsweredCalls():
            runs: dict[str | None, list[CallAnswer]] = {}
            for answer in request_plan.answers:
                runs.setdefault(answer.resumes, []).append(answer)
            return [_answers_for_run(answers, idempotency_key) for answers in runs.values()]


def denial_events(answers: Iterable[CallAnswer], reasons: Mapping[str, str], idempotency_key: str) -> list[Event]:
    """The events that store the denials among these answers, for a run that was stopped: a denial needs no run.

    ``reasons``: approval id -> why the user denied. ``idempotency_key``: as for ``run_config_for_turn``.
    """
    events = []
    for answer in answers:
        if answer.is_denial and answer.event is not None:
            event = _answer_event(answer, answer.event)
            update_metadata(event, idempotency_key=idempotency_key, reasons=_reason(answer, reasons))
            events.append(event)
    return events


def _answers_for_run(answers: Sequence[CallAnswer], idempotency_key: str | None) -> RunInput:
    """ADK gives the content of a run to one branch. Answers for other branches go into events of their own, before the
    run.

    So do answers that the model must read, if approvals or credentials are among the answers. ADK hides an event with
    an approval or a credential from the model, with everything else in that event.
    """
    branch = _branch(answers[-1])
    hidden = any(_branch(answer) == branch and answer.name in HIDDEN_FROM_MODEL for answer in answers)
    before: list[Event] = []
    parts: list[types.Part] = []
    for answer in answers:
        together = _branch(answer) == branch and (answer.name in HIDDEN_FROM_MODEL or not hidden)
        if together or answer.event is None:
            parts.append(_answer_part(answer))
        else:
            event = _answer_event(answer, answer.event)
            update_metadata(event, idempotency_key=idempotency_key)
            before.append(event)
    return RunInput(content=_content(parts), before=tuple(before), answers=tuple(answers))


def _branch(answer: CallAnswer) -> str | None:
    return answer.event.branch if answer.event is not None else None


def _content(parts: Iterable[types.Part]) -> types.Content:
    return types.Content(role="user", parts=list(parts))


def responses_missing_for_model(transcript: Transcript) -> list[Event]:
    """The events to append before a new user message, so that the model reads a result of each call.

    Models refuse a call without one. Calls that the message leaves unanswered get an error. An answer that was given
    while an agent in task mode was talking is repeated. ADK keeps such an answer in that task's scope, where the caller
    does not read it. The events are hidden from the client: history closes every call that an earlier message leaves
    open.

    A call of an agent behind A2A stays open. ADK would send that agent our response beside the user's message, and an
    ADK agent refuses both together.
    """
    turn = transcript.current
    if turn is None:
        return []
    added = []
    for call in turn.external_calls:
        if call.kind not in _READ_BY_MODEL or is_relayed(call.event):
            continue
        if call.answered_index is None:
            response: dict[str, Any] = {"error": UNANSWERED}
        elif call.answer and turn.stored[call.answered_index].isolation_scope != call.event.isolation_scope:
            response = call.answer
        else:
            continue
        event = _answer_event(CallAnswer(id=call.reply_id, name=call.name, response=response), call.event)
        update_metadata(event, hidden_events=(event.id,))
        added.append(event)
    return added


def events_before_words(request_plan: NewUserTurn) -> list[Event]:
    """The events to append before the user's message: the answers that came with them, then the agent's rejections.

    They belong to the message of the calls, so the response to the message shows nothing of them.
    """
    answers = [_answer_event(answer, answer.event) for answer in request_plan.answers if answer.event is not None]
    for answer, event in zip(request_plan.answers, answers, strict=True):
        update_metadata(event, reasons=_reason(answer, request_plan.reasons))
    rejections = [
        event_like(rejection.event, types.Content(role="user", parts=[_answer_part(rejection)]))
        for rejection in request_plan.rejections
        if rejection.event is not None
    ]
    return [*answers, *rejections]


def _reason(answer: CallAnswer, reasons: Mapping[str, str]) -> dict[str, str]:
    reason = reasons.get(answer.id)
    return {answer.id: reason} if reason else {}


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


def run_config_for_turn(
    request_plan: NewUserTurn | AnsweredCalls, base: RunConfig, idempotency_key: str | None = None
) -> RunConfig:
    """``base`` with our metadata: what only the client knows of this turn, for the stored event to keep.

    ``idempotency_key``: of the request.
    """
    match request_plan:
        case NewUserTurn():
            has_files = any(isinstance(said, InlineFile) for said in request_plan.texts_and_files)
            files = tuple(map(_sent_file, request_plan.texts_and_files)) if has_files else ()
            metadata = EventMetadata(
                message_id=request_plan.client_message_id, idempotency_key=idempotency_key, files=files
            )
        case AnsweredCalls():
            metadata = EventMetadata(idempotency_key=idempotency_key, reasons=request_plan.reasons)
    return base.model_copy(update={"custom_metadata": metadata.to_custom(base.custom_metadata)})


def _sent_file(text_or_file: TextOrFile) -> SentFile | None:
    if not isinstance(text_or_file, InlineFile):
        return None
    return SentFile(media_type=text_or_file.media_type, filename=text_or_file.name)
