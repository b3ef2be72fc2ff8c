"""The answers to the agent's calls that a client's assistant message holds, matched with the stored calls.

The client's message has a part for each call. An answer is an approval that was decided, or the output of a call that
only a client can answer. All other outputs in it are our own and come back with the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk import RESULT, CallKind, is_confirmed, is_relayed
from stream_protocol.session._answer_checks import CREDENTIAL_PROVIDED, check_input, complete_credential
from stream_protocol.session._schema_costs import Budget
from stream_protocol.session._storable_events import MAX_STORED_DEPTH, is_too_deep
from stream_protocol.wire import ChatRequestError, is_tool_part, tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream_protocol.session.transcript import StoredCall, Turn
    from stream_protocol.wire import ChatRequest, ToolPart, UIMessage

CONFLICT: Final = 409
"""HTTP status of a request that does not fit the chat as it is stored."""

REJECTED: Final = "This tool call is rejected."
"""The text that ADK gives the model about a call that was denied."""

_ANSWERED_BY_PAGE: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


@dataclass(frozen=True, kw_only=True)
class SubmittedAnswer:
    """An answer to a call, from a part of the client's message."""

    tool_call_id: str
    """The ``StoredCall.tool_call_id`` that the part names."""
    response: dict[str, Any]
    """The answer as ADK stores a function response."""
    output: Any = None
    """The output of the part, as it came."""
    is_approval: bool = False
    reason: str | None = None
    """Why the user approved or denied, as the user wrote it."""
    awaits_response: bool
    """True if the client has received nothing yet of the response to the answer."""


def calls_by_page_id(turn: Turn | None) -> dict[str, StoredCall]:
    """The calls of the turn that need, or needed, an answer from outside."""
    return {call.tool_call_id: call for call in turn.external_calls} if turn is not None else {}


def submitted_answers(message: UIMessage, turn: Turn | None) -> Iterator[SubmittedAnswer]:
    """The answers among the message's parts. ``turn``: the one in which calls can be answered."""
    calls = calls_by_page_id(turn)
    tools = {call.known.id: call.known.name for call in turn.calls} if turn is not None else {}
    parts = message["parts"]
    last_step = max((index for index, part in enumerate(parts) if part["type"] == "step-start"), default=-1)
    tool_parts = [(index, part) for index, part in enumerate(parts) if is_tool_part(part)]
    renamed = _renamed_calls([part for _, part in tool_parts], calls, tools)
    for index, part in tool_parts:
        tool_call_id = renamed.get(part["toolCallId"], part["toolCallId"])
        approval = part.get("approval")
        if part["state"] == "approval-responded" and approval is not None and "approved" in approval:
            yield SubmittedAnswer(
                tool_call_id=approval["id"],
                response={"confirmed": approval["approved"]},
                is_approval=True,
                reason=approval.get("reason"),
                awaits_response=True,
            )
        elif part["state"] in ("output-available", "output-error") and _takes_output(calls.get(tool_call_id)):
            yield SubmittedAnswer(
                tool_call_id=tool_call_id,
                response=_output_response(part),
                output=part.get("output"),
                awaits_response=index > last_step,
            )


def _renamed_calls(parts: list[ToolPart], calls: Mapping[str, StoredCall], tools: Mapping[str, str]) -> dict[str, str]:
    """Call ids that only the client knows -> the ids by which we know these calls.

    If a model adapter gives no call ids, ADK makes up two. The client saw the id of the fragment, and the id of the
    complete call was stored. Such parts and calls of one tool belong together in their order. So do those of agents in
    parallel that used one id: they are stored in another order than they were shown.
    """
    strange = [part for part in parts if tools.get(part["toolCallId"]) != tool_name(part)]
    known = {part["toolCallId"] for part in parts if tools.get(part["toolCallId"]) == tool_name(part)}
    unmatched = [call for call in calls.values() if call.kind in _ANSWERED_BY_PAGE and call.tool_call_id not in known]
    renamed: dict[str, str] = {}
    for part in strange:
        call = next((call for call in unmatched if call.name == tool_name(part)), None)
        if call is not None:
            renamed[part["toolCallId"]] = call.tool_call_id
            unmatched.remove(call)
    return renamed


def _output_response(part: ToolPart) -> dict[str, Any]:
    """A client tool's outcome as ADK stores a function response: an object."""
    if part["state"] == "output-error":
        return {"error": part.get("errorText", "")}
    output = part.get("output")
    return output if isinstance(output, dict) and output.keys() != {RESULT} else {RESULT: output}


def _takes_output(call: StoredCall | None) -> bool:
    return call is not None and call.kind is not CallKind.APPROVAL and (call.is_pending or call.answer is not None)


def answered_call(answer: SubmittedAnswer, calls: Mapping[str, StoredCall]) -> StoredCall:
    """The stored call that is answered. Raises ``ChatRequestError`` (409) unless it takes, or took, such an answer."""
    call = calls.get(answer.tool_call_id)
    if call is None or answer.is_approval is not (call.kind is CallKind.APPROVAL):
        raise ChatRequestError("There is no such request to answer any more.", status=CONFLICT)
    if not call.is_pending and call.answer is None:
        raise ChatRequestError("That request was closed before it was answered.", status=CONFLICT)
    return call


def answers_with_words(message: UIMessage, turn: Turn | None) -> Iterator[tuple[SubmittedAnswer, StoredCall]]:
    """The answers in an assistant message that count though the user said something new after them: those that only
    tell the agent something. Denials count, and so do results of client tools and inputs. Approvals and credentials do
    not: the call would run, and the user has gone on without it. Answers to calls that are not pending are left out.

    An agent behind A2A cannot take an answer together with a message.
    """
    calls, budget = calls_by_page_id(turn), Budget()
    for answer in submitted_answers(message, turn):
        call = calls.get(answer.tool_call_id)
        if call is None or not call.is_pending or is_relayed(call.event):
            continue
        if answer.is_approval:
            counts = call.kind is CallKind.APPROVAL and not answer.response["confirmed"]
        else:
            counts = call.kind in _ANSWERED_BY_PAGE and _is_usable(answer, call, budget)
        if counts:
            yield answer, call


def _is_usable(answer: SubmittedAnswer, call: StoredCall, budget: Budget) -> bool:
    try:
        adk_response(answer, call, {}, budget)
    except ChatRequestError:
        return False
    return True


def approval_payloads(request: ChatRequest) -> Mapping[str, Any]:
    """Approval id -> the payload that goes with it. A message has no place for it, so it is a key of the body."""
    payloads = request.body.get("approvalPayloads") or {}
    if not isinstance(payloads, dict):
        raise ChatRequestError("approvalPayloads must be an object: approval id to payload.", status=422)
    return payloads


def adk_response(
    answer: SubmittedAnswer, call: StoredCall, payloads: Mapping[str, Any], budget: Budget
) -> dict[str, Any]:
    """The function response for ADK. ``budget``: what checking the answers of the request may take.

    Raises ``ChatRequestError`` (422) for an answer that ADK could not use, or no store could keep.
    """
    response = _checked_response(answer, call, payloads, budget)
    if is_too_deep(response):
        raise ChatRequestError(f"The answer is nested deeper than {MAX_STORED_DEPTH} levels.", status=422)
    return response


def _checked_response(
    answer: SubmittedAnswer, call: StoredCall, payloads: Mapping[str, Any], budget: Budget
) -> dict[str, Any]:
    match call.kind:
        case CallKind.APPROVAL if call.reply_id in payloads:
            return {**answer.response, "payload": payloads[call.reply_id]}
        case CallKind.INPUT if "error" not in answer.response:
            check_input(call.args, answer.output, answer.response, budget)
        case CallKind.CREDENTIAL:
            return complete_credential(call.args, answer.output)
    return answer.response


def is_stored_answer(answer: SubmittedAnswer, call: StoredCall) -> bool:
    """Return True if the answer is the same as the stored one."""
    stored = call.answer or {}
    if call.kind is CallKind.APPROVAL:  # the stored payload may hold more than a page can say
        return answer.response["confirmed"] is is_confirmed(stored)
    if call.kind is CallKind.CREDENTIAL:  # the page never gets back what it gave
        return answer.output == CREDENTIAL_PROVIDED or complete_credential(call.args, answer.output) == stored
    return answer.response == stored
