"""The possible results of planning a request: a user message, answers to calls, or no run."""

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
    """A function response for ADK, with the id and name from the stored call."""

    id: str
    name: str
    response: dict[str, Any]
    event: Event | None = field(default=None, compare=False, repr=False)
    """The stored event with the call; ``None`` in a history that the client sends."""
    resumes: str | None = field(default=None, compare=False)
    """The name of the agent that ADK resumes with the response; ``None`` in a history that the client sends."""
    decision: Decision | None = field(default=None, compare=False, repr=False)
    """The user's decision; ``None`` if the response is not the user's answer."""

    @property
    def is_denial(self) -> bool:
        """True if the user denied the call."""
        return self.decision is not None and self.decision.kind == "deny"


@dataclass(frozen=True, kw_only=True)
class NewUserTurn:
    """The request has a new user message: the agent starts a new assistant message."""

    texts_and_files: tuple[TextOrFile, ...]
    """The message's texts and files in order; never empty."""
    client_message_id: str
    """The client's id of the user message."""
    rewind_before: str | None = None
    """The invocation to rewind first, together with all later invocations. Set for an edited or regenerated message,
    and for a history that the client truncated."""
    kept_steering: tuple[str, ...] = ()
    """The ids of the steering messages that the rewind does not remove. The run reads them."""
    answers: tuple[CallAnswer, ...] = ()
    """The user's answers in the preceding assistant message: denials, and outputs. They start no run."""
    rejections: tuple[CallAnswer, ...] = ()
    """The tools' responses to the denied calls."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> the user's reason for the denial."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client's ids of calls in earlier messages."""


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """The request has the user's answers to pending calls: the agent continues the assistant message of these calls."""

    answers: tuple[CallAnswer, ...]
    message_id: str
    past: tuple[Event, ...]
    """The earlier events of the message, as the client was shown them."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> the user's reason for the decision. ADK's own payload has no place for a reason."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client's ids of calls in earlier messages."""


@dataclass(frozen=True, kw_only=True)
class NothingToRun:
    """The request starts no run. The response has only the stored events that come after ``past``."""

    message_id: str
    past: tuple[Event, ...]
    """The events of the message that the client has received."""
    events: tuple[Event, ...] = ()
    """The stored events that followed the repeated message or answers; empty while answers to other calls are
    missing."""
    is_interrupted: bool = False
    """True if no response is stored: the run failed, or a worker that lost its connection is still running it."""
    repeats: Literal["words", "answers", "steering"] | None = field(default=None, compare=False)
    """The part of the request that was sent before, so that no run starts. ``None`` while answers to other calls are
    missing. ``steering``: a run has read the steering message.
    """
    is_superseded: bool = field(default=False, compare=False)
    """True if the user has sent another message after the repeated message or answers."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client's ids of calls in earlier messages."""


RequestPlan: TypeAlias = NewUserTurn | AnsweredCalls | NothingToRun
"""The input of the run that a request needs, or the reason why no run starts."""


def call_answer(call: StoredCall, response: dict[str, Any], *, resumes: str | None = None) -> CallAnswer:
    """Return the answer to a stored call. ``response``: the function response, in ADK's form."""
    return CallAnswer(
        id=call.reply_id,
        name=call.name,
        response=response,
        event=call.event,
        resumes=resumes,
        decision=decision(call, response),
    )
