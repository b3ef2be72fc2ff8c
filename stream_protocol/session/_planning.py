"""Plans the answer to a request, from the request and the stored events alone.

Of a client's messages, only the newest message or answers count. If the last message is the user's, it begins a new
turn. Then the answers in the message before it count only if they just inform the agent. Otherwise the request
carries answers to calls of the assistant message that it continues. An answer counts only for a call that is pending in
the *stored* events of the current turn. Arguments and earlier outputs are never read from a client.

A request that was answered before is not an error: the client may have lost the response. The response then repeats the
stored events that followed, even if the user has sent a message since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.adk import CallKind
from stream_protocol.session._idempotency_key import idempotency_key
from stream_protocol.session._request_plans import AnsweredCalls, NothingToRun, call_answer
from stream_protocol.session._schema_costs import Budget
from stream_protocol.session._stored_responses import (
    answered_before,
    repeated_words,
    superseded_answers,
    taken_in_before,
    wants_stored_response,
)
from stream_protocol.session._submitted_answers import (
    CONFLICT,
    adk_response,
    answered_call,
    approval_payloads,
    calls_by_page_id,
    submitted_answers,
)
from stream_protocol.session._taken_back import plan_again, plan_new_words
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.session._request_plans import RequestPlan
    from stream_protocol.session._taken_back import HistoryCut
    from stream_protocol.session.transcript import StoredCall, Transcript, Turn
    from stream_protocol.wire import ChatRequest, UIMessage


def plan(
    request: ChatRequest,
    transcript: Transcript,
    *,
    resumed_agent: Callable[[str], str] | None = None,
    chat_was_busy: bool = False,
    history_cut: HistoryCut = "append",
    known_key: str | None = None,
    said: Sequence[TextOrFile] | None = None,
) -> RequestPlan:
    """Plan a request in a chat with this transcript (empty for a new chat).

    ``resumed_agent``: maps the name of the agent that made a call to the agent that ADK resumes with the answer.
    Default: the same agent. ``chat_was_busy``: another run of the chat was active when the request came. An equal
    stored request then makes this one a retry. In an idle chat, two more conditions apply. The client says that the
    message is new, and the stored response is useful: it is complete, or more was said after it. A client that does not
    say so may send the same bytes because the user wants another answer. ``history_cut``: what to do when the client
    sends fewer messages than are stored. ``known_key``: the idempotency key of the request, if it is known. ``said``:
    the texts and files of a message that is not stored, if an earlier plan has found them. The links in the message may
    lead to files of a message that was taken back since.

    Raises ``ChatRequestError`` for a request that a client may not make. Nothing has changed then.
    """
    target = request.target
    match target["role"]:
        case "user":
            turn = transcript.find_user_message(target["id"])
            if turn is None and (steered := transcript.find_steering(target["id"])) is not None:
                return taken_in_before(steered, is_superseded=steered is not transcript.turns[-1])
            if turn is None:
                return plan_new_words(request, target, transcript, history_cut, said)
            repeated = repeated_words(known_key or idempotency_key(request), turn)
            if repeated is None or not (chat_was_busy or wants_stored_response(request, turn, transcript)):
                return plan_again(request, target, transcript, turn)
            return repeated
        case "assistant" if request.trigger == "regenerate-message":
            raise ChatRequestError("There is no message of yours to answer again.", status=CONFLICT)
        case "assistant":
            superseded = superseded_answers(request, target, transcript, known_key)
            return superseded or _plan_continuation(request, target, transcript.current, resumed_agent or _caller)
    raise ChatRequestError("The last message must be the user's or the assistant's.", status=422)


def _caller(author: str) -> str:
    return author


def _plan_continuation(
    request: ChatRequest, message: UIMessage, turn: Turn | None, resumed_agent: Callable[[str], str]
) -> RequestPlan:
    calls = calls_by_page_id(turn)
    payloads = approval_payloads(request)
    matched = [(answer, answered_call(answer, calls)) for answer in submitted_answers(message, turn)]
    if not matched or turn is None:
        raise ChatRequestError("There is nothing to answer: the last message is the assistant's.", status=CONFLICT)
    target_id = message["id"] or turn.message_id
    answers = {call.tool_call_id: answer for answer, call in matched if call.is_pending}
    if not answers:
        return answered_before(target_id, matched, turn)
    new = [
        call for tool_call_id, call in calls.items() if tool_call_id in answers
    ]  # ADK takes them in the order of the calls
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
    """Return True if the agent goes on from these answers only after this call is answered, too.

    An agent waits for all calls of one model response, but a credential may come by another way. ADK cannot tell apart
    two calls under one id: they are answered together. So are calls of agents that ADK resumes through another agent,
    which goes on as if all calls had their answers. ``resumed``: by ``tool_call_id``, the agent that ADK resumes.
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
