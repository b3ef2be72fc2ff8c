"""Facts: small values that say what is in an event, for all that reads events.

An event has a header (who, in which run), its parts in their order, and what it reports beside them. Both unions are
closed: a reader that matches on all their types has looked at everything.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from stream_protocol.adk._adk_requests import CallKind
from stream_protocol.adk._call_index import SpeakerKey

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai import types

USER: Final = "user"
"""The author of the user's events, and of the results that ADK stores in the user's name."""

CODE_EXECUTION: Final = "code_execution"
"""Name of the provider-executed tool that stands for code which the model's provider or ADK runs."""


class Text(NamedTuple):
    """A text or a thought. It may be empty."""

    text: str
    is_thought: bool
    signature: bytes | None = None
    """The model's thought signature, as on every part that has one."""


class Blob(NamedTuple):
    """The bytes of a file."""

    data: bytes
    media_type: str | None
    artifact: tuple[str, int] | None
    """The name and the version of the artifact that holds the same bytes, as far as the event shows."""
    name: str | None = None


class RelayedData(NamedTuple):
    """A data part of an agent behind A2A, which ADK makes a text file."""

    value: Any


class Reference(NamedTuple):
    """A link to a file."""

    uri: str
    media_type: str | None
    name: str | None


class File(NamedTuple):
    """Bytes, or a reference to a file."""

    content: Blob | RelayedData | None
    reference: Reference | None
    fields: str
    """The names of the fields that the part has, as of all parts that are neither text nor a call."""
    signature: bytes | None = None
    part: "types.Part | types.FunctionResponsePart | None" = None
    """The part itself: to be stored."""


class Call(NamedTuple):
    """A call of a tool, or one by which ADK asks somebody."""

    id: str | None
    name: str
    args: dict[str, Any]
    kind: CallKind | None
    """Somebody outside the agent who answers it; ``None`` if one of the agent's tools does."""
    signature: bytes | None = None


class CallPiece(NamedTuple):
    """A streamed piece of a call."""

    id: str | None
    name: str | None
    args: dict[str, Any] | None
    """All arguments so far, from adapters that do not stream them by paths."""
    partial_args: "Sequence[types.PartialArg]"
    """New pieces of arguments, each with its path."""
    will_continue: bool
    signature: bytes | None


class NestedEvents(NamedTuple):
    """The events of an agent that ran inside a tool call."""

    events: "Sequence[Any]"
    """The first events, as JSON."""
    omitted: int
    """The number of later events, which are not kept."""


class Result(NamedTuple):
    """A response to a call."""

    id: str | None
    name: str
    value: dict[str, Any] | None
    waits_for: CallKind | None
    """``APPROVAL`` or ``CREDENTIAL`` for a placeholder: it only says that its call waits for one."""
    hint: str | None = None
    """The question of a tool that asks for approval by itself."""
    payload: Any = None
    """A value that such a tool wants back with the approval."""
    files: tuple[File, ...] = ()
    will_continue: bool = False
    signature: bytes | None = None
    nested: NestedEvents | None = None
    """The work of the agent that ran inside the call; ``None`` if nothing of it is kept with the response."""


class ProviderCall(NamedTuple):
    """A call of a tool that the model's provider has run: code execution, and tools of Google's servers."""

    id: str | None
    name: str
    input: Any


class ProviderResult(NamedTuple):
    """The result of such a call."""

    id: str | None
    name: str
    output: Any


class ProviderPart(NamedTuple):
    """A call of a tool that the model's provider runs, or its result."""

    value: ProviderCall | ProviderResult
    fields: str
    signature: bytes | None = None
    part: "types.Part | None" = None
    """The part itself: to be stored."""


class OtherPart(NamedTuple):
    """A part that holds nothing of these: a signature alone, or something newer than this package."""

    fields: str
    signature: bytes | None = None


Part: TypeAlias = Text | File | Call | CallPiece | Result | ProviderPart | OtherPart


class Failure(NamedTuple):
    """The event reports a failure, or a finish reason that ADK counts as one."""

    code: str | None
    message: str | None
    finish_reason: str | None
    """The finish reason that it reports in place of an error; ``None`` for a failure."""


class Output(NamedTuple):
    """A workflow node's output."""

    value: Any


class AgentSpeech(NamedTuple):
    """Speech of the agent in a live run."""

    text: str
    finished: bool


class UserSpeechEnd(NamedTuple):
    """The user has finished speaking in a live run. The transcription came before."""


class LiveTurnEnd(NamedTuple):
    """The agent has ended its turn of a live run, or was interrupted."""

    interrupted: bool


class Waiting(NamedTuple):
    """Some calls wait for approvals or credentials."""


class Compaction(NamedTuple):
    """A summary of earlier events, for the model alone."""

    start: float
    """Time of the first event in it, in seconds since 1970."""
    end: float
    """Time of the last event in it."""


class Rewind(NamedTuple):
    """Everything from the first event of an invocation on is taken back."""

    invocation_id: str


class TokenUsage(NamedTuple):
    """The tokens of one model response."""

    prompt: int
    output: int
    total: int
    reasoning: int
    cached: int


class Source(NamedTuple):
    """A page or a document that an answer rests on."""

    uri: str
    title: str | None
    filename: str | None = None
    is_map: bool = False
    """True for a place on Google Maps."""


class Citation(NamedTuple):
    """A place in the text of the event that rests on a source."""

    source: Source
    start: int
    """The first character, counted in ``EventFacts.text``."""
    end: int
    """The character after the last one."""
    quote: str | None = None
    """The words of the source."""


class SearchSuggestions(NamedTuple):
    """Google's searches behind an answer."""

    rendered_content: str | None
    """The HTML that Google gives for display."""
    queries: tuple[str, ...]


class Artifacts(NamedTuple):
    """Artifacts that were saved: name -> version."""

    saved: Mapping[str, int]


class Transfer(NamedTuple):
    """The conversation goes on with another agent."""

    agent: str


class Widget(NamedTuple):
    """Something that an app shows."""

    id: str
    provider: str
    payload: dict[str, Any]


class Posted(NamedTuple):
    """The event was posted: a tool sends it while it runs. See ``_posted_events``."""

    kind: str


class Steering(NamedTuple):
    """The event is a steering message: see ``_steering_events``."""

    id: str
    """The id that the client gave the message."""


class StateChange(NamedTuple):
    """Changed values of the session's state."""

    delta: Mapping[str, Any]


class NestedEvent(NamedTuple):
    """An event of an agent that runs inside a tool call. It is in no session."""

    call_id: str
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
    """An event as facts: its header, its parts and its reports."""

    event: "Event"
    """The event itself: to be stored, copied, or given to ADK."""
    id: str
    invocation_id: str
    speaker: SpeakerKey
    scope: str | None
    """The id of the call in whose place a task-mode agent speaks."""
    by_user: bool
    """True for the user's own events, except steering messages: these neither begin a message nor answer a call. A task
    agent's result is in the user's name, too, but comes from a node."""
    in_users_name: bool
    """True if its author is the user, or ADK in the user's name."""
    is_fragment: bool
    role: str | None
    """The role of its content; ``None`` without content."""
    model: str | None
    """The model that answered."""
    finish_reason: str | None
    """google-genai's reason for the end of the model's response."""
    is_streams_end: bool
    """True if ADK says that the event ends a stream, as its aggregates do."""
    parts: tuple[Part, ...]
    reports: tuple[Report, ...]

    @property
    def calls(self) -> list[Call]:
        """The function calls among its parts."""
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def text(self) -> str:
        """Its texts as one, without the thoughts."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and not part.is_thought)

    @property
    def results(self) -> list[Result]:
        """The function responses among its parts."""
        return [part for part in self.parts if isinstance(part, Result)]

    @property
    def is_user_message(self) -> bool:
        """True for a text or files of the user, and not only an answer to one of the agent's calls. Up to ADK 1.x one
        event could be both."""
        if not self.by_user or not self.parts:
            return False
        return any(isinstance(part, File) or (isinstance(part, Text) and part.text) for part in self.parts) or not any(
            isinstance(part, Result) for part in self.parts
        )

    @property
    def shows_something(self) -> bool:
        """True if it says, does or reports something, and does not only keep state, artifacts or usage."""
        return bool(self.parts) or any(isinstance(report, Failure | Output | AgentSpeech) for report in self.reports)

    @property
    def is_final(self) -> bool:
        """True for what ADK calls a final response: its agent does nothing more by itself."""
        return self.event.is_final_response()

    def reports_a(self, *kinds: type[Report]) -> bool:
        """Returns True if it reports something of these kinds."""
        return bool(self.reports) and any(isinstance(report, kinds) for report in self.reports)

    def report(self, kind: type[R]) -> R | None:
        """The first of its reports of this kind."""
        for report in self.reports:
            if isinstance(report, kind):
                return report
        return None

    @property
    def failure(self) -> Failure | None:
        """The failure that it reports."""
        return self.report(Failure)
