"""The possible plans for a request, and the user's decisions about tool calls, which the audit trail records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from stream_protocol.adk import NO_IDS, CallIds, CallKind, confirmed_call
from stream_protocol.session._submitted_answers import calls_by_client_id, is_stored_answer, submitted_answers
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.session._submitted_answers import SubmittedAnswer
    from stream_protocol.session.transcript import StoredCall, Transcript
    from stream_protocol.wire import ChatRequest


DecisionKind: TypeAlias = Literal["approve", "deny", "answer", "sign-in"]

MAX_ATTEMPTED: Final = 20
"""The maximum number of listed decisions of a refused request, which can contain 100,000 answers."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A user's decision about one tool call of the agent, such as an approval."""

    kind: DecisionKind
    call_id: str | None = None
    """The ``toolCallId``. For an unknown call, the id that the client sent, or ``None``."""
    tool: str | None = None
    """The tool's name; ``None`` for an unknown call."""
    arguments: dict[str, Any] | None = field(default=None, repr=False)
    """The stored arguments; ``None`` for an unknown call."""


@dataclass(frozen=True, kw_only=True)
class AttemptedDecisions:
    """The decisions about tool calls that a refused request contained."""

    decisions: tuple[Decision, ...] = ()
    """At most ``MAX_ATTEMPTED`` decisions."""
    omitted: int = 0


@dataclass(frozen=True, kw_only=True)
class CallAnswer:
    """A user's answer to a stored tool call, in the form of ADK's function response."""

    id: str
    name: str
    response: dict[str, Any]
    event: Event | None = field(default=None, compare=False, repr=False)
    """The stored event with the call; ``None`` if the client sent the history."""
    resumes: str | None = field(default=None, compare=False)
    """The name of the agent that ADK resumes; ``None`` if the client sent the history."""
    decision: Decision | None = field(default=None, compare=False, repr=False)
    """``None`` if the response does not come from the user."""

    @property
    def is_approval(self) -> bool:
        """True if the user has approved or denied the call."""
        return self.decision is not None and self.decision.kind in ("approve", "deny")

    @property
    def is_denial(self) -> bool:
        return self.decision is not None and self.decision.kind == "deny"


@dataclass(frozen=True, kw_only=True)
class NewUserTurn:
    """Plan for a request with a user message: the agent starts a new assistant message."""

    texts_and_files: tuple[TextOrFile, ...]
    """The texts and files of the message in order; never empty."""
    client_message_id: str
    rewind_before: str | None = None
    """The first invocation to remove before the run, after an edit, a regeneration or a truncated history."""
    kept_steering: tuple[str, ...] = ()
    """The ids of steering messages that the rewind keeps. The run reads these messages."""
    answers: tuple[CallAnswer, ...] = ()
    """The user's denials and outputs in the preceding assistant message."""
    rejections: tuple[CallAnswer, ...] = ()
    """Function responses for the tools whose calls the user has denied."""
    reasons: dict[str, str] = field(default_factory=dict)
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client ids of calls in earlier messages."""


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """Plan for a request with answers to pending calls: the agent continues the assistant message."""

    answers: tuple[CallAnswer, ...]
    message_id: str
    past: tuple[Event, ...]
    """The earlier events of the continued message, as the client was shown them."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> the user's reason for the decision. ADK's own response has no field for a reason."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class NothingToRun:
    """Plan for a request that starts no run. The response consists of stored events."""

    message_id: str
    past: tuple[Event, ...]
    """The message's earlier events, which the client has received."""
    events: tuple[Event, ...] = ()
    """The stored events that followed the repeated message or answers; empty if answers to other calls are missing."""
    is_interrupted: bool = False
    """True if no response is stored. The run may have failed, or a worker without a connection may still execute the
    run."""
    repeats: Literal["words", "answers", "steering"] | None = field(default=None, compare=False)
    """The part of the request that the client has sent before; ``None`` if answers to other calls are missing.
    ``steering``: a run has read the steering message."""
    is_superseded: bool = field(default=False, compare=False)
    """True if the user has sent another message after the repeated message or answers."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)


RequestPlan: TypeAlias = NewUserTurn | AnsweredCalls | NothingToRun


def call_answer(call: StoredCall, response: dict[str, Any], *, resumes: str | None = None) -> CallAnswer:
    return CallAnswer(
        id=call.reply_id,
        name=call.name,
        response=response,
        event=call.event,
        resumes=resumes,
        decision=_decision(call, response),
    )


def _decision(call: StoredCall, response: dict[str, Any]) -> Decision:
    """Return the user's decision about ``call``. ``response``: ADK's function response with the user's answer."""
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
    """Return the user's decisions about tool calls in a refused request. Stored decisions are left out.

    If the request has no user message and no new decision, the result has one decision of the kind ``answer`` without a
    call.
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
            found[key] = _decision(call, answer.response)
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
