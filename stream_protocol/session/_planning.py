"""Decides what the server must run for a request, from the request and the stored events.

Only the client's newest message decides what runs. A user message starts a new turn. The assistant message before the
user message may contain answers to tool calls. Of these answers, the server uses denials and outputs, but no approvals:
an approval would start a tool.

If the newest message is an assistant message, the request contains answers to calls of this message. An answer is used
only if its call is pending in the *stored* events of the current turn. The server never reads arguments and earlier
outputs from the client's message.

A client may repeat a request after it lost the response, so a repeated request is not an error. The client gets the
stored response to the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.adk import CallKind
from stream_protocol.session._edited_messages import plan_user_message
from stream_protocol.session._request_plans import AnsweredCalls, NothingToRun, call_answer
from stream_protocol.session._schema_costs import Budget
from stream_protocol.session._stored_responses import response_to_equal_answers, response_to_superseded_answers
from stream_protocol.session._submitted_answers import (
    adk_response,
    answered_call,
    approval_payloads,
    calls_by_client_id,
    submitted_answers,
)
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stream_protocol.session._edited_messages import TruncatedHistory
    from stream_protocol.session._files import TextOrFile
    from stream_protocol.session._request_plans import RequestPlan
    from stream_protocol.session.transcript import StoredCall, Transcript, Turn
    from stream_protocol.wire import ChatRequest, UIMessage


def plan(
    request: ChatRequest,
    transcript: Transcript,
    *,
    resumed_agent: Callable[[str], str] | None = None,
    chat_was_busy: bool = False,
    truncated_history: TruncatedHistory = "append",
    known_key: str | None = None,
    texts_and_files: Sequence[TextOrFile] | None = None,
) -> RequestPlan:
    """Decide what the server must run for a request. ``transcript``: the stored chat; empty for a new chat.

    ``resumed_agent``: function that takes the name of the agent that made a call. It returns the name of the agent that
    ADK resumes after the call is answered. By default, this is the same agent.

    ``chat_was_busy``: True if a run of the chat was active when the request came. If the request equals a stored
    request, it then counts as a retry. If no run was active, an equal request counts as a retry only if two conditions
    are true:

    1. The client marks the user message as new.
    2. The stored response is complete, or more messages follow it.

    ``truncated_history``: see ``TruncatedHistory``. ``known_key``: the request's idempotency key, if the caller has
    calculated it. ``texts_and_files``: the content of a new user message, if an earlier call of ``plan`` returned it.

    Raises ``ChatRequestError`` for a refused request.
    """
    target = request.target
    match target["role"]:
        case "user":
            return plan_user_message(
                request,
                transcript,
                chat_was_busy=chat_was_busy,
                truncated_history=truncated_history,
                known_key=known_key,
                content=texts_and_files,
            )
        case "assistant" if request.trigger == "regenerate-message":
            raise ChatRequestError("There is no message of yours to answer again.", status=409)
        case "assistant":
            superseded = response_to_superseded_answers(request, target, transcript, known_key)
            return superseded or _plan_continuation(request, target, transcript.current, resumed_agent or _caller)
    raise ChatRequestError("The last message must be the user's or the assistant's.", status=422)


def _caller(author: str) -> str:
    return author


def _plan_continuation(
    request: ChatRequest, message: UIMessage, turn: Turn | None, resumed_agent: Callable[[str], str]
) -> RequestPlan:
    calls = calls_by_client_id(turn)
    payloads = approval_payloads(request)
    matched = [(answer, answered_call(answer, calls)) for answer in submitted_answers(message, turn)]
    if not matched or turn is None:
        raise ChatRequestError("There is nothing to answer: the last message is the assistant's.", status=409)
    target_id = message["id"] or turn.message_id
    answers = {call.tool_call_id: answer for answer, call in matched if call.is_pending}
    if not answers:
        return response_to_equal_answers(target_id, matched, turn)
    # ADK needs the answers in the order of the calls.
    new = [call for tool_call_id, call in calls.items() if tool_call_id in answers]
    budget = Budget()
    responses = [adk_response(answers[call.tool_call_id], call, payloads, budget) for call in new]
    resumed = {call.tool_call_id: resumed_agent(call.event.author) for call in calls.values()}
    if any(_agent_waits_for(call, new, resumed) for tool_call_id, call in calls.items() if tool_call_id not in answers):
        return NothingToRun(message_id=target_id, past=turn.events, call_ids=turn.call_ids)
    return AnsweredCalls(
        answers=tuple(
            call_answer(call, response, resumes=resumed[call.tool_call_id])
            for call, response in zip(new, responses, strict=True)
        ),
        message_id=target_id,
        past=turn.events,
        reasons={call.reply_id: reason for call in new if (reason := answers[call.tool_call_id].reason)},
        call_ids=turn.call_ids,
    )


def _agent_waits_for(call: StoredCall, answered: Iterable[StoredCall], resumed: Mapping[str, str]) -> bool:
    """Return True if the agent cannot continue before ``call`` has an answer. ``answered``: the calls for which the
    request has answers.

    The agent waits if ``call`` is pending, is not a credential request, and belongs to a call in ``answered``. Two
    calls belong together in these cases:

    - One model response has made both calls.
    - Both calls have the same id, so ADK cannot distinguish the calls.
    - ADK resumes the same agent for both calls, and this agent did not make ``call``.

    ``resumed``: maps ``StoredCall.tool_call_id`` to the name of the agent that ADK resumes.
    """
    if not call.is_pending or call.kind is CallKind.CREDENTIAL:
        return False
    through = resumed[call.tool_call_id]
    return any(
        call.response_index == other.response_index
        or call.reply_id == other.reply_id
        or (through != call.event.author and through == resumed[other.tool_call_id])
        for other in answered
    )
