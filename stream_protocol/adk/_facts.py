"""Types for the content of an ADK event.

``EventFacts`` is a parsed event. It has a ``Part`` for each part of the event, in order, and a ``Report`` for each
other field that is set. ``Part`` and ``Report`` are unions of the types below, so a ``match`` statement can handle all
of them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from stream_protocol.adk._adk_requests import CallKind
from stream_protocol.adk._known_call import CallReference, SpeakerKey

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai import types


class Text(NamedTuple):
    """A text of the agent or the user, or a thought of the agent. The text may be empty."""

    text: str
    is_thought: bool
    signature: bytes | None = None
    """The model's thought signature. All kinds of parts can have a signature."""


class Blob(NamedTuple):
    """The bytes of a file."""

    data: bytes
    media_type: str | None
    artifact: tuple[str, int] | None
    """The name and version of the artifact with these bytes; ``None`` if unknown."""
    name: str | None = None


class RelayedData(NamedTuple):
    """A data part from a remote agent (A2A). ADK converts such a part to a text file."""

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
    """The names of the fields that have a value in ADK's part, as one text."""
    signature: bytes | None = None
    part: "types.Part | types.FunctionResponsePart | None" = None
    """ADK's part, so that it can be stored."""


class Call(NamedTuple):
    """A complete function call: a call of a tool, or a request from ADK to the user."""

    id: str | None
    name: str
    args: dict[str, Any]
    kind: CallKind | None
    """The kind of a call that waits for a user or a client; ``None`` if one of the agent's tools answers the call."""
    signature: bytes | None = None


class CallPiece(NamedTuple):
    """A streamed fragment of a function call: the name, or a piece of the arguments."""

    id: str | None
    name: str | None
    args: dict[str, Any] | None
    """All arguments so far. Only model adapters that do not send ``partial_args`` set this field."""
    partial_args: "Sequence[types.PartialArg]"
    """The new pieces of the arguments, each with its JSON path."""
    will_continue: bool
    signature: bytes | None


class NestedEvents(NamedTuple):
    """The stored events of an agent that ran inside a tool call."""

    events: "Sequence[Any]"
    """The stored events, as JSON. Only the agent's first events are stored."""
    omitted: int
    """The number of later events that were not stored."""


class Result(NamedTuple):
    """A function response: the result of a tool, or the user's answer to a call."""

    id: str | None
    name: str
    value: dict[str, Any] | None
    waits_for: CallKind | None
    """``APPROVAL`` or ``CREDENTIAL`` if the call waits for one; ``None`` if the response is a result."""
    hint: str | None = None
    """The text that a tool shows the user when it requests an approval itself."""
    payload: Any = None
    """An example of the value that the tool expects with the approval."""
    files: tuple[File, ...] = ()
    will_continue: bool = False
    signature: bytes | None = None
    nested: NestedEvents | None = None
    """The events of the agent that ran inside the call; ``None`` if none are stored."""
    number: int | None = None
    """The number of the answered call, if the event stores it (see ``CallReference``)."""

    @property
    def answered(self) -> CallReference:
        return CallReference(self.id, self.name, number=self.number)


class ProviderCall(NamedTuple):
    """A call of a tool that the model's provider runs, for example code execution."""

    id: str | None
    name: str
    input: Any


class ProviderResult(NamedTuple):
    """The result of a ``ProviderCall``."""

    id: str | None
    name: str
    output: Any


class ProviderPart(NamedTuple):
    """A part with a ``ProviderCall`` or a ``ProviderResult``."""

    value: ProviderCall | ProviderResult
    fields: str
    signature: bytes | None = None
    part: "types.Part | None" = None
    """ADK's part, so that it can be stored."""


class OtherPart(NamedTuple):
    """A part with only a signature, or with content that this release does not support."""

    fields: str
    signature: bytes | None = None


Part: TypeAlias = Text | File | Call | CallPiece | Result | ProviderPart | OtherPart


class Failure(NamedTuple):
    """An error that an event reports. ADK also reports some finish reasons, such as ``MAX_TOKENS``, as errors."""

    code: str | None
    message: str | None
    finish_reason: str | None
    """The finish reason, if it is reported as an error; ``None`` for a real error."""


class Output(NamedTuple):
    """The output of a workflow node."""

    value: Any


class AgentSpeech(NamedTuple):
    """The transcribed speech of the agent in a live run."""

    text: str
    finished: bool


class UserSpeechEnd(NamedTuple):
    """The end of the user's speech in a live run. The events before it contain the transcribed speech."""


class LiveTurnEnd(NamedTuple):
    """The end of the agent's turn in a live run: the agent has finished, or the user has interrupted it."""

    interrupted: bool


class Waiting(NamedTuple):
    """A marker on an event. It means that a call of the event waits for an approval or a credential."""


class Compaction(NamedTuple):
    """A summary of older events, which only the model reads. ``start`` and ``end``: the times of the first and the last
    summarized event, in seconds since 1970."""

    start: float
    end: float


class Rewind(NamedTuple):
    """A rewind of the session. It removes the events of an invocation, and all events between this invocation and the
    rewind.
    """

    invocation_id: str


class TokenUsage(NamedTuple):
    """Token counts of one model response."""

    prompt: int
    output: int
    total: int
    reasoning: int
    cached: int


class Source(NamedTuple):
    """A web page or document on which the model's text is based."""

    uri: str
    title: str | None
    filename: str | None = None
    is_map: bool = False
    """True for a place on Google Maps."""


class Citation(NamedTuple):
    """A source, and the text that cites it: the characters ``start`` to ``end`` of ``EventFacts.text``."""

    source: Source
    start: int
    end: int
    quote: str | None = None
    """The cited text of the source; ``None`` if unknown."""


class SearchSuggestions(NamedTuple):
    """Google's suggested searches for the model's text."""

    rendered_content: str | None
    """The HTML with which Google wants the searches to be shown."""
    queries: tuple[str, ...]


class Artifacts(NamedTuple):
    """The names and versions of the artifacts that the event has saved."""

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
    """A marker on an event. It means that a running tool has sent the event to the client."""

    kind: str


class Steering(NamedTuple):
    """A marker on an event that contains a steering message: a user message that was sent while the agent worked."""

    id: str
    """The id that the client gave the message."""


class StateChange(NamedTuple):
    """The changed values of the session's state."""

    delta: Mapping[str, Any]


class NestedEvent(NamedTuple):
    """An event of an agent that runs inside a tool call. The session of the outer agent does not contain this event."""

    call: CallReference
    event: Any
    """The event object or its JSON."""


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
    """The content of an ADK event in this library's types."""

    event: "Event"
    """ADK's event, so that it can be stored, copied or passed to ADK."""
    id: str
    invocation_id: str
    speaker: SpeakerKey
    scope: str | None
    """The id of the call that started the event's task-mode agent; ``None`` for other agents."""
    by_user: bool
    """True for events of the user, except steering messages. False for a task-mode agent's result, which has the author
    ``user``."""
    in_users_name: bool
    """True if the author is ``user``, also for results that ADK stores with this author."""
    is_fragment: bool
    role: str | None
    model: str | None
    finish_reason: str | None
    """The finish reason of the model's response, as google-genai names it."""
    is_streams_end: bool
    """True for a complete event that repeats the streamed text."""
    parts: tuple[Part, ...]
    reports: tuple[Report, ...]

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def text(self) -> str:
        """The texts of the parts, concatenated. Thoughts are left out."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and not part.is_thought)

    @property
    def results(self) -> list[Result]:
        return [part for part in self.parts if isinstance(part, Result)]

    @property
    def is_user_message(self) -> bool:
        """True if the event contains a text or files of the user. In ADK 1.x, such an event can also contain answers to
        calls.
        """
        return self.by_user and bool(self.parts) and (self.has_text_or_file or not self.results)

    @property
    def has_text_or_file(self) -> bool:
        """True if a part is a file or a text that is not empty."""
        return any(isinstance(part, File) or (isinstance(part, Text) and part.text) for part in self.parts)

    @property
    def shows_something(self) -> bool:
        """True if the event has content, a failure, an output or speech."""
        return bool(self.parts) or any(isinstance(report, Failure | Output | AgentSpeech) for report in self.reports)

    @property
    def is_final(self) -> bool:
        """True for ADK's final response: the agent then waits for new input."""
        return self.event.is_final_response()

    def reports_a(self, *kinds: type[Report]) -> bool:
        return bool(self.reports) and any(isinstance(report, kinds) for report in self.reports)

    def report(self, kind: type[R]) -> R | None:
        for report in self.reports:
            if isinstance(report, kind):
                return report
        return None

    @property
    def failure(self) -> Failure | None:
        return self.report(Failure)
