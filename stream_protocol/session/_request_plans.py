"""The possible results of planning: a message of the user, answers to calls, or nothing that must be run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stream_protocol.adk import NO_IDS, CallIds
from stream_protocol.session._decisions import Decision, decision

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.session.transcript import StoredCall


@dataclass(frozen=True, kw_only=True)
class CallAnswer:
    """One function response for ADK, by the ids and names of its own stored call."""

    id: str
    name: str
    response: dict[str, Any]
    event: Event | None = field(default=None, compare=False, repr=False)
    """The stored event with the call; ``None`` in a history that the client brings."""
    resumes: str | None = field(default=None, compare=False)
    """The name of the agent that ADK resumes with it; ``None`` in a history that the client brings."""
    decision: Decision | None = field(default=None, compare=False, repr=False)
    """The user's decision in this answer; ``None`` if the answer is not the user's."""

    @property
    def is_denial(self) -> bool:
        """True if the answer denies an approval."""
        return self.decision is not None and self.decision.kind == "deny"


@dataclass(frozen=True, kw_only=True)
class NewUserTurn:
    """The user said something: start a new assistant message."""

    texts_and_files: tuple[TextOrFile, ...]
    """In the order of the message's parts; never empty."""
    client_message_id: str
    """The id that the client gave the user's message."""
    rewind_before: str | None = None
    """The invocation to rewind first, with everything after it. Either the message was sent before and is answered
    anew, or the client has cut its history there."""
    answers: tuple[CallAnswer, ...] = ()
    """Answers that came with the message, from the message before them: denials, and outputs. Nothing runs on them."""
    rejections: tuple[CallAnswer, ...] = ()
    """The agent's answers to the calls that were denied."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> why the user denied."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The ids under which the page knows the calls of earlier messages."""


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """Every pending call of a model response is answered: run on, in the same assistant message."""

    answers: tuple[CallAnswer, ...]
    message_id: str
    past: tuple[Event, ...]
    """The events of the message so far, as the page was shown them."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> why the user decided so. ADK's own payload has no place for it."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The ids under which the page knows the calls of earlier messages."""


@dataclass(frozen=True, kw_only=True)
class NothingToRun:
    """Nothing to run: the response is what the server has of this message that the client may not have seen."""

    message_id: str
    past: tuple[Event, ...]
    """The events of the message that the client has seen."""
    events: tuple[Event, ...] = ()
    """The stored events that followed the repeated message or answers; empty while answers are still missing."""
    is_interrupted: bool = False
    """True if no response followed: the run broke off, or a worker that was cut off still runs it."""
    repeats: Literal["words", "answers", "steering"] | None = field(default=None, compare=False)
    """The part of the request that was sent before; ``None`` while answers are still missing. It tells why there is
    nothing to run, not what the response is. ``steering``: a run has taken in the message."""
    is_superseded: bool = field(default=False, compare=False)
    """True if the user has said something else since."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The ids under which the page knows the calls of earlier messages."""


RequestPlan: TypeAlias = NewUserTurn | AnsweredCalls | NothingToRun


def call_answer(call: StoredCall, response: dict[str, Any], *, resumes: str | None = None) -> CallAnswer:
    """Returns the answer to a stored call. ``response``: as ADK stores it."""
    return CallAnswer(
        id=call.reply_id,
        name=call.name,
        response=response,
        event=call.event,
        resumes=resumes,
        decision=decision(call, response),
    )
