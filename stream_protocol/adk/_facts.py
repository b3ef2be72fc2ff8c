"""What an event says, as small values: the language between ADK's events and all that reads them.

An event has a header (who, in which run), its parts in their order, and what it reports beside them. Both unions are
closed: a reader that matches on all their types has looked at everything.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_protocol.adk._adk_requests import CallKind
from stream_protocol.adk._call_index import SpeakerKey
from stream_protocol.adk._provider_tools import ProviderCall, ProviderResult

if TYPE_CHECKING:
    from google.adk.events import Event


@dataclass(frozen=True, slots=True)
class Text:
    """A text or a thought. It may be empty."""

    text: str
    is_thought: bool


@dataclass(frozen=True, slots=True)
class File:
    """Bytes, or a reference to a file."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, or one by which ADK asks somebody."""

    id: str | None
    name: str
    args: dict[str, Any]
    kind: CallKind | None
    """Who outside the agent answers it, if not one of the agent's tools."""


@dataclass(frozen=True, slots=True)
class Result:
    """A response to a call."""

    id: str | None
    name: str
    value: dict[str, Any] | None
    waits_for: CallKind | None
    """``APPROVAL`` or ``CREDENTIAL`` for a placeholder: it only says that its call waits for one."""


@dataclass(frozen=True, slots=True)
class OtherPart:
    """A part that holds nothing of these: a signature alone, or something newer than this package."""


Part: TypeAlias = Text | File | Call | Result | ProviderCall | ProviderResult | OtherPart


@dataclass(frozen=True, slots=True)
class Failure:
    """The event reports a failure, or a finish reason that ADK counts as one."""

    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Output:
    """A workflow node's output."""


@dataclass(frozen=True, slots=True)
class AgentSpeech:
    """What the agent says in a live run."""


@dataclass(frozen=True, slots=True)
class UserSpeechEnd:
    """The user has finished speaking in a live run. The words came before."""


@dataclass(frozen=True, slots=True)
class LiveTurnEnd:
    """The agent has ended its turn of a live run, or was interrupted."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Some calls wait for approvals or credentials."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary of earlier events, for the model alone."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Everything from the first event of an invocation on is taken back."""

    invocation_id: str


Report: TypeAlias = Failure | Output | AgentSpeech | UserSpeechEnd | LiveTurnEnd | Waiting | Compaction | Rewind


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFacts:
    """What an event says."""

    event: "Event"
    """The event itself: to be stored, copied, or given to ADK."""
    id: str
    invocation_id: str
    speaker: SpeakerKey
    scope: str | None
    """The id of the call in whose place a task-mode agent speaks."""
    by_user: bool
    """Whether the user made the event. A task agent's result is in the user's name, too, but comes from a node."""
    in_users_name: bool
    """Whether its author is the user, or ADK in the user's name."""
    is_fragment: bool
    parts: tuple[Part, ...]
    reports: tuple[Report, ...]

    @property
    def calls(self) -> list[Call]:
        """The function calls among its parts."""
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def results(self) -> list[Result]:
        """The function responses among its parts."""
        return [part for part in self.parts if isinstance(part, Result)]

    @property
    def is_user_message(self) -> bool:
        """Whether it is what the user said, and not only an answer to one of the agent's calls. Up to ADK 1.x one event
        could be both."""
        if not self.by_user or not self.parts:
            return False
        return any(isinstance(part, File) or (isinstance(part, Text) and part.text) for part in self.parts) or not any(
            isinstance(part, Result) for part in self.parts
        )

    @property
    def shows_something(self) -> bool:
        """Whether it says, does or reports something, and does not only keep state, artifacts or usage."""
        return bool(self.parts) or any(isinstance(report, Failure | Output | AgentSpeech) for report in self.reports)

    @property
    def is_final(self) -> bool:
        """Whether ADK calls it a final response: its agent does nothing more by itself."""
        return self.event.is_final_response()

    def reports_a(self, *kinds: type[Report]) -> bool:
        """Whether it reports something of these kinds."""
        return any(isinstance(report, kinds) for report in self.reports)

    @property
    def failure(self) -> Failure | None:
        """The failure that it reports."""
        return next((report for report in self.reports if isinstance(report, Failure)), None)

    @property
    def rewind(self) -> Rewind | None:
        """What it takes back."""
        return next((report for report in self.reports if isinstance(report, Rewind)), None)
