"""The user's decisions about the agent's calls, as records for an audit trail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from stream_protocol.adk import CallKind, confirmed_call
from stream_protocol.session._submitted_answers import calls_by_client_id, is_stored_answer, submitted_answers
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.session._submitted_answers import SubmittedAnswer
    from stream_protocol.session.transcript import StoredCall, Transcript
    from stream_protocol.wire import ChatRequest

DecisionKind: TypeAlias = Literal["approve", "deny", "answer", "sign-in"]

MAX_ATTEMPTED: Final = 20
"""The maximum number of decisions that are listed for a refused request. A request can contain 100,000 answers."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A user's decision about one call of the agent."""

    kind: DecisionKind
    call_id: str | None = None
    """The ``toolCallId``. For an unknown call, this is the id that the client sent, or ``None``."""
    tool: str | None = None
    """The tool's name; ``None`` for an unknown call."""
    arguments: dict[str, Any] | None = field(default=None, repr=False)
    """The stored arguments; ``None`` for an unknown call."""


@dataclass(frozen=True, kw_only=True)
class AttemptedDecisions:
    """The decisions in a refused request."""

    decisions: tuple[Decision, ...] = ()
    """At most ``MAX_ATTEMPTED`` decisions."""
    omitted: int = 0
    """The number of decisions that are not listed."""


def decision(call: StoredCall, response: dict[str, Any]) -> Decision:
    """Return the user's decision about ``call``. ``response``: the function response for ADK with the user's answer."""
    match call.kind:
        case CallKind.APPROVAL:
            confirmed = confirmed_call(call.args)
            kind: DecisionKind = "approve" if response.get("confirmed") is True else "deny"
            return Decision(
                kind=kind, call_id=call.known.id, tool=confirmed.get("name", ""), arguments=confirmed.get("args", {})
            )
        case CallKind.CREDENTIAL:
            kind = "sign-in"
        case CallKind.INPUT | CallKind.CLIENT_TOOL:
            kind = "answer"
    return Decision(kind=kind, call_id=call.known.id, tool=call.name, arguments=call.args)


def attempted_decisions(request: ChatRequest, transcript: Transcript) -> AttemptedDecisions:
    """Return the decisions in a refused request. Answers that repeat a stored answer are left out.

    If no answer matches a call, the result is a single decision of kind ``answer`` without a call.
    """
    message = request.continued_message or request.message_before_words
    if message is None or request.trigger == "regenerate-message":
        return AttemptedDecisions()
    has_user_message = message is not request.target
    calls = calls_by_client_id(transcript.current)
    found: dict[tuple[str, DecisionKind], Decision] = {}
    omitted = 0
    for answer in submitted_answers(message, transcript.current):
        call = calls.get(answer.tool_call_id)
        if call is not None and answer.is_approval is not (call.kind is CallKind.APPROVAL):
            call = None
        if has_user_message and (call is None or not call.is_pending or answer.response.get("confirmed") is True):
            continue
        key = answer.tool_call_id, _claimed_kind(answer)
        if key in found or (call is not None and not call.is_pending and _is_repeated(answer, call)):
            continue
        if len(found) == MAX_ATTEMPTED:
            omitted += 1
        elif call is None:
            found[key] = Decision(kind=key[1], call_id=answer.tool_call_id)
        else:
            found[key] = decision(call, answer.response)
    if not found and not has_user_message:
        return AttemptedDecisions(decisions=(Decision(kind="answer"),))
    return AttemptedDecisions(decisions=tuple(found.values()), omitted=omitted)


def _claimed_kind(answer: SubmittedAnswer) -> DecisionKind:
    if not answer.is_approval:
        return "answer"
    return "approve" if answer.response["confirmed"] is True else "deny"


def _is_repeated(answer: SubmittedAnswer, call: StoredCall) -> bool:
    try:
        return is_stored_answer(answer, call)
    except ChatRequestError:  # invalid credentials
        return False
