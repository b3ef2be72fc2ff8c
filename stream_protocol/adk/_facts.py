"""Types for the content of an event (facts), for all code that reads events.

An event has a header (author, run), its parts in their order, and reports from its other fields. The unions ``Part``
and ``Report`` are closed: a reader that matches all their types has handled everything.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from stream_protocol.adk._adk_requests import CallKind
from stream_protocol.adk._call_index import CallReference, SpeakerKey

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai import types


class Text(NamedTuple):
    """A text or a thought, which may be empty."""

    text: str
    is_thought: bool
    signature: bytes | None = None
    """The model's thought signature, which every kind of part can have."""


class Blob(NamedTuple):
    """The bytes of a file."""

    data: bytes
    media_type: str | None
    artifact: tuple[str, int] | None
    """The name and the version of the artifact that has these bytes, if the event shows the artifact."""
    name: str | None = None


class RelayedData(NamedTuple):
    """A data part of an agent behind A2A. ADK converts it to a text file."""

    value: Any


class Reference(NamedTuple):
    """A link to a file."""

    uri: str
    media_type: str | None
    name: str | None


class File(NamedTuple):
    """A file part: bytes or a reference."""

    content: Blob | RelayedData | None
    reference: Reference | None
    fields: str
    """The names of the part's fields that have a value, as one text. All parts except texts and calls have it."""
    signature: bytes | None = None
    part: "types.Part | types.FunctionResponsePart | None" = None
    """ADK's part, for storing it."""


class Call(NamedTuple):
    """A complete function call: a call of a tool, or a request from ADK to the user."""

    id: str | None
    name: str
    args: dict[str, Any]
    kind: CallKind | None
    """The kind of a call that waits for a user or a client; ``None`` if one of the agent's tools answers the call."""
    signature: bytes | None = None


class CallPiece(NamedTuple):
    """A streamed piece of a function call."""

    id: str | None
    name: str | None
    args: dict[str, Any] | None
    """All arguments so far, from adapters that do not send paths."""
    partial_args: "Sequence[types.PartialArg]"
    """The new pieces of arguments, each with its path."""
    will_continue: bool
    signature: bytes | None


class NestedEvents(NamedTuple):
    """The stored events of an agent that ran inside a tool call."""

    events: "Sequence[Any]"
    """The first events as JSON."""
    omitted: int
    """The number of later events, which are not stored."""


class Result(NamedTuple):
    """A function response."""

    id: str | None
    name: str
    value: dict[str, Any] | None
    waits_for: CallKind | None
    """``APPROVAL`` or ``CREDENTIAL`` if the response is only a placeholder. The call waits for this kind of answer.
    """
    hint: str | None = None
    """The text with which a tool itself asks for approval."""
    payload: Any = None
    """The value that the tool expects back with the approval."""
    files: tuple[File, ...] = ()
    will_continue: bool = False
    signature: bytes | None = None
    nested: NestedEvents | None = None
    """The events of the agent that ran inside the call; ``None`` if the response has none."""
    number: int | None = None
    """The number of the answered call, if the event has it. See ``CallReference``."""

    @property
    def answered(self) -> CallReference:
        """The answered call, as the response names it."""
        return CallReference(self.id, self.name, number=self.number)


class ProviderCall(NamedTuple):
    """A call of a tool that the model's provider has run: code execution, or a tool on Google's servers."""

    id: str | None
    name: str
    input: Any


class ProviderResult(NamedTuple):
    """The result of a tool that the model's provider has run."""

    id: str | None
    name: str
    output: Any


class ProviderPart(NamedTuple):
    """A part with a call of a tool that the model's provider runs, or with its result."""

    value: ProviderCall | ProviderResult
    fields: str
    signature: bytes | None = None
    part: "types.Part | None" = None
    """ADK's part, for storing it."""


class OtherPart(NamedTuple):
    """A part of no other kind: a signature alone, or content that this release does not support."""

    fields: str
    signature: bytes | None = None


Part: TypeAlias = Text | File | Call | CallPiece | Result | ProviderPart | OtherPart


class Failure(NamedTuple):
    """The failure that an event reports, or a finish reason that ADK reports as an error."""

    code: str | None
    message: str | None
    finish_reason: str | None
    """The finish reason that the event reports in place of an error; ``None`` for a failure."""


class Output(NamedTuple):
    """The output of a workflow node."""

    value: Any


class AgentSpeech(NamedTuple):
    """The transcribed speech of the agent in a live run."""

    text: str
    finished: bool


class UserSpeechEnd(NamedTuple):
    """The end of the user's speech in a live run. Its transcription came before."""


class LiveTurnEnd(NamedTuple):
    """The end of the agent's turn in a live run, or its interruption."""

    interrupted: bool


class Waiting(NamedTuple):
    """The event's calls, or some of them, wait for approvals or credentials."""


class Compaction(NamedTuple):
    """A summary of earlier events, which only the model reads. Times are in seconds since 1970."""

    start: float
    """Time of the first summarized event."""
    end: float
    """Time of the last summarized event."""


class Rewind(NamedTuple):
    """A rewind of the session: the events of an invocation, and all later events, no longer count."""

    invocation_id: str


class TokenUsage(NamedTuple):
    """Token counts of one model response."""

    prompt: int
    output: int
    total: int
    reasoning: int
    cached: int


class Source(NamedTuple):
    """A page or document on which the model's text is based."""

    uri: str
    title: str | None
    filename: str | None = None
    is_map: bool = False
    """True for a place on Google Maps."""


class Citation(NamedTuple):
    """The range from ``start`` to ``end`` of ``EventFacts.text``, with its source."""

    source: Source
    start: int
    end: int
    quote: str | None = None
    """The text in the source."""


class SearchSuggestions(NamedTuple):
    """Google's searches for the model's text."""

    rendered_content: str | None
    """The HTML that Google gives for display."""
    queries: tuple[str, ...]


class Artifacts(NamedTuple):
    """Saved artifacts: name -> version."""

    saved: Mapping[str, int]


class Transfer(NamedTuple):
    """A transfer of the conversation to another agent."""

    agent: str


class Widget(NamedTuple):
    """A UI widget for the app."""

    id: str
    provider: str
    payload: dict[str, Any]


class Posted(NamedTuple):
    """The mark of a posted event, which a tool sends while it runs. See ``_marks``."""

    kind: str


class Steering(NamedTuple):
    """The mark of a steering message. See ``_marks``."""

    id: str
    """The client's id of the message."""


class StateChange(NamedTuple):
    """The changed values of the session's state."""

    delta: Mapping[str, Any]


class NestedEvent(NamedTuple):
    """An event of an agent that runs inside a tool call. The outer session does not store it."""

    call: CallReference
    event: Any
    """The event, or its JSON."""


Report: TypeAlias = (
    Failure
    | Output
    | AgentSpeech
    | UserSpeechEnd
    | LiveTurnEnd
    | Waiting
    | Compaction
    | Rewind
    | TokenUsage
    | Source
    | Citation
    | SearchSuggestions
    | Artifacts
    | Transfer
    | Widget
    | Posted
    | Steering
    | StateChange
    | NestedEvent
)

R = TypeVar("R")


class EventFacts(NamedTuple):
    """The fields of an ADK event in our own types: header, parts, and reports of other fields."""

    event: "Event"
    """ADK's event, for storing, copying, or passing it to ADK."""
    id: str
    invocation_id: str
    speaker: SpeakerKey
    scope: str | None
    """The id of the call for which a task-mode agent works."""
    by_user: bool
    """True for events of the user, except steering messages: these neither begin a message nor answer a call.

    The result of a task agent also has the user as author, but comes from a node.
    """
    in_users_name: bool
    """True if the author is ``user``: for the user's events, and for results that ADK stores."""
    is_fragment: bool
    role: str | None
    """The role of the content; ``None`` without content."""
    model: str | None
    """The model of the response."""
    finish_reason: str | None
    """google-genai's finish reason of the model's response."""
    is_streams_end: bool
    """True if ADK marks the event as the end of a stream, as it marks aggregates."""
    parts: tuple[Part, ...]
    reports: tuple[Report, ...]

    @property
    def calls(self) -> list[Call]:
        """The function calls among the parts."""
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def text(self) -> str:
        """The texts of the parts, joined, without thoughts."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and not part.is_thought)

    @property
    def results(self) -> list[Result]:
        """The function responses among the parts."""
        return [part for part in self.parts if isinstance(part, Result)]

    @property
    def is_user_message(self) -> bool:
        """True if the user sends a text or files, and not only an answer to one of the agent's calls.

        Up to ADK 1.x, one event could have a text and an answer.
        """
        if not self.by_user or not self.parts:
            return False
        return any(isinstance(part, File) or (isinstance(part, Text) and part.text) for part in self.parts) or not any(
            isinstance(part, Result) for part in self.parts
        )

    @property
    def shows_something(self) -> bool:
        """True if the event has content, a failure, an output or speech, and not only state, artifacts or usage."""
        return bool(self.parts) or any(isinstance(report, Failure | Output | AgentSpeech) for report in self.reports)

    @property
    def is_final(self) -> bool:
        """True for a final response in the sense of ADK: the agent continues only after new input."""
        return self.event.is_final_response()

    def reports_a(self, *kinds: type[Report]) -> bool:
        """Return True if the event has a report of one of these kinds."""
        return bool(self.reports) and any(isinstance(report, kinds) for report in self.reports)

    def report(self, kind: type[R]) -> R | None:
        """Return the first report of this kind; ``None`` if there is none."""
        for report in self.reports:
            if isinstance(report, kind):
                return report
        return None

    @property
    def failure(self) -> Failure | None:
        """The failure in the event; ``None`` if there is none."""
        return self.report(Failure)
