"""Builds the input of ADK's runs from a ``RequestPlan``: the content, the run config, and the events to append before
the run.
"""

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
from stream_protocol.session.transcript import (
    HIDDEN_FROM_MODEL,
    EventMetadata,
    RunMark,
    SentFile,
    Transcript,
    update_metadata,
)
from stream_protocol.stream import UNANSWERED_TEXT

_READ_BY_MODEL: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


NO_MARK: Final[RunMark] = {"idempotency_key": None, "record": None}
"""The ``RunMark`` for callers without a run of their own."""


@dataclass(frozen=True, kw_only=True)
class RunInput:
    """The input for one run of ADK.

    ``before``: events to append to the session before the run. The client already shows the content of these events.
    ``answers``: the user's answers in ``content`` and in ``before``.
    """

    content: types.Content
    before: tuple[Event, ...] = ()
    answers: tuple[CallAnswer, ...] = ()


def run_inputs(request_plan: NewUserTurn | AnsweredCalls, mark: RunMark = NO_MARK) -> list[RunInput]:
    """Return the inputs for the ADK runs of a plan. ADK resumes only one agent in a run. So answers to several agents
    need several runs, one after the other.

    ``mark``: the identity of the run, to be stored with the answers.
    """
    match request_plan:
        case NewUserTurn():
            return [RunInput(content=_content(map(adk_part, request_plan.texts_and_files)))]
        case AnsweredCalls():
            runs: dict[str | None, list[CallAnswer]] = {}
            for answer in request_plan.answers:
                runs.setdefault(answer.resumes, []).append(answer)
            return [_answers_for_run(answers, request_plan.reasons, mark) for answers in runs.values()]


def denial_events(answers: Iterable[CallAnswer], reasons: Mapping[str, str], mark: RunMark) -> list[Event]:
    """Return one event for each denial in the user's answers. The caller appends these events if a run was stopped
    before it read the answers.

    ``reasons``: maps an approval id to the user's reason for the denial. ``mark``: the identity of the stopped run, to
    be stored on the events.
    """
    events = []
    for answer in answers:
        if answer.is_denial and answer.event is not None:
            event = _answer_event(answer, answer.event)
            update_metadata(event, **mark, reasons=_reason(answer, reasons))
            events.append(event)
    return events


def _answers_for_run(answers: Sequence[CallAnswer], reasons: Mapping[str, str], mark: RunMark) -> RunInput:
    """Return the input for a run with these answers. Most answers become the content of the run. Two kinds become
    events that are appended before the run:

    - Answers to calls in another branch than the call of the last answer. ADK adds the content of a run to one branch
      only.
    - Outputs for the model, if another answer is an approval or a credential. ADK hides a content with an approval or a
      credential from the model.
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
            update_metadata(event, **mark, reasons=_reason(answer, reasons))
            before.append(event)
    return RunInput(content=_content(parts), before=tuple(before), answers=tuple(answers))


def _branch(answer: CallAnswer) -> str | None:
    return answer.event.branch if answer.event is not None else None


def _content(parts: Iterable[types.Part]) -> types.Content:
    return types.Content(role="user", parts=list(parts))


def responses_missing_for_model(transcript: Transcript) -> list[Event]:
    """Return function responses, as events, for calls without a result, because models refuse a call without a result.
    The caller first appends these events to the session, and then the new user message.

    - A call that the user has not answered gets an error.
    - In task mode, an answer may be stored where only the task's agent reads it. Then a returned event repeats the
      answer for the agent that made the call.
    - A call of a remote agent (A2A) gets no event. Remote agents refuse a function response together with a user
      message.

    The client does not get these events. The messages of ``GET /api/chat/{id}`` already show an error for each
    unanswered call.
    """
    turn = transcript.current
    if turn is None:
        return []
    added = []
    for call in turn.external_calls:
        if call.kind not in _READ_BY_MODEL or is_relayed(call.event):
            continue
        if call.answered_index is None:
            response: dict[str, Any] = {"error": UNANSWERED_TEXT}
        elif call.answer and turn.stored[call.answered_index].isolation_scope != call.event.isolation_scope:
            response = call.answer
        else:
            continue
        event = _answer_event(CallAnswer(id=call.reply_id, name=call.name, response=response), call.event)
        update_metadata(event, hidden_events=(event.id,))
        added.append(event)
    return added


def events_before_message(request_plan: NewUserTurn) -> list[Event]:
    """Return the events to append before the user's message. They contain the request's answers to pending calls, and
    responses to denied calls.

    The response to the request does not show these events, because they belong to the previous assistant message.
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
    """Return an event with the user's answer to a call. The event has the invocation, branch and isolation scope of the
    event ``call``. So the agent that made the call reads the answer.
    """
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
    request_plan: NewUserTurn | AnsweredCalls, base: RunConfig, mark: RunMark = NO_MARK
) -> RunConfig:
    """Return a copy of the run config ``base`` with metadata about the request, such as the id of the user message.
    ``mark``: the identity of the run. ADK stores the metadata and ``mark`` on the user's event.
    """
    match request_plan:
        case NewUserTurn():
            has_files = any(isinstance(part, InlineFile) for part in request_plan.texts_and_files)
            files = tuple(map(_sent_file, request_plan.texts_and_files)) if has_files else ()
            metadata = EventMetadata(message_id=request_plan.client_message_id, files=files, **mark)
        case AnsweredCalls():
            metadata = EventMetadata(reasons=request_plan.reasons, **mark)
    return base.model_copy(update={"custom_metadata": metadata.to_custom(base.custom_metadata)})


def _sent_file(text_or_file: TextOrFile) -> SentFile | None:
    if not isinstance(text_or_file, InlineFile):
        return None
    return SentFile(media_type=text_or_file.media_type, filename=text_or_file.name)
