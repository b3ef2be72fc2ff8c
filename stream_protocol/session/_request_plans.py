"""The possible plans for a request: run the agent for a user message, run it for answers to calls, or run nothing."""

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
    """A function response for ADK to a stored call."""

    id: str
    name: str
    response: dict[str, Any]
    event: Event | None = field(default=None, compare=False, repr=False)
    """The stored event with the call; ``None`` if the client sent the history."""
    resumes: str | None = field(default=None, compare=False)
    """The name of the agent that ADK resumes with the response; ``None`` if the client sent the history."""
    decision: Decision | None = field(default=None, compare=False, repr=False)
    """The user's decision; ``None`` if the user did not give this response."""

    @property
    def is_denial(self) -> bool:
        """True if the user has denied the call."""
        return self.decision is not None and self.decision.kind == "deny"


@dataclass(frozen=True, kw_only=True)
class NewUserTurn:
    """Plan for a request with a user message: the agent starts a new assistant message."""

    texts_and_files: tuple[TextOrFile, ...]
    """The texts and files of the message in order; never empty."""
    client_message_id: str
    """The id of the user message in the client."""
    rewind_before: str | None = None
    """The first invocation to remove before the run. Set for an edited or regenerated message, and for a truncated
    history.
    """
    kept_steering: tuple[str, ...] = ()
    """The ids of steering messages that the rewind does not remove. The run reads these messages."""
    answers: tuple[CallAnswer, ...] = ()
    """The user's denials and outputs in the preceding assistant message. They do not start a run."""
    rejections: tuple[CallAnswer, ...] = ()
    """Function responses for the tools whose calls the user has denied."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> the user's reason for the denial."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client ids of calls in earlier messages."""


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """Plan for a request with the user's answers to pending calls: the agent continues the assistant message."""

    answers: tuple[CallAnswer, ...]
    message_id: str
    past: tuple[Event, ...]
    """The earlier events of the continued message, as the client was shown them."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> the user's reason for the decision. ADK's own response has no field for a reason."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client ids of calls in earlier messages."""


@dataclass(frozen=True, kw_only=True)
class NothingToRun:
    """Plan for a request that starts no run. The response consists of stored events."""

    message_id: str
    past: tuple[Event, ...]
    """Earlier events of the message that the client has received."""
    events: tuple[Event, ...] = ()
    """The stored events that followed the repeated message or answers. Empty if answers to other calls are missing."""
    is_interrupted: bool = False
    """True if no response is stored. Either the run failed, or a worker without a connection still executes it."""
    repeats: Literal["words", "answers", "steering"] | None = field(default=None, compare=False)
    """The part of the request that was sent before, so that no run starts. ``None`` if no run starts because answers to
    other calls are missing. ``steering``: a run has read the steering message.
    """
    is_superseded: bool = field(default=False, compare=False)
    """True if the user has sent another message after the repeated message or answers."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The client ids of calls in earlier messages."""


RequestPlan: TypeAlias = NewUserTurn | AnsweredCalls | NothingToRun
"""The decision about a request: what to run, or the reason why no run starts."""


def call_answer(call: StoredCall, response: dict[str, Any], *, resumes: str | None = None) -> CallAnswer:
    """Return the answer to a stored call. ``response``: the function response for ADK."""
    return CallAnswer(
        id=call.reply_id,
        name=call.name,
        response=response,
        event=call.event,
        resumes=resumes,
        decision=decision(call, response),
    )
