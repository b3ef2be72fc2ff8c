"""Tool calls, and the data with which events refer to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from stream_protocol.adk._facts import EventFacts, Result

T = TypeVar("T")

SpeakerKey = tuple[str, str | None, str]
"""Author, branch and node path of an event. Together they identify an agent within a run."""

USER: Final = "user"
"""The author's name in the user's events. ADK also stores some results with this author."""


class CallReference(NamedTuple):
    """The data with which an event or a running tool refers to a call."""

    id: str | None
    """The call's id in ADK. Several calls may have this id."""
    name: str = ""
    """The name of the tool; empty if unknown."""
    author: str = ""
    """The agent that made the call; empty if unknown."""
    branch: str | None = ""
    """The branch of this agent; empty if unknown."""
    number: int | None = None
    """The position of the call among the calls with the same id in one event, from 0; ``None`` if unknown."""

    @property
    def stored_number(self) -> dict[str, int]:
        """The JSON form of ``number``, such as ``{"number": 1}``. Empty if the number is 0 or unknown."""
        return {"number": self.number} if self.number else {}


def stored_reference(call_id: str, stored: Mapping[str, Any], author: str, branch: str | None) -> CallReference:
    """Return the reference to a call that this author has made in this branch. ``stored``: a dictionary that contains
    ``CallReference.stored_number``.
    """
    return CallReference(call_id, "", author, branch, stored.get("number", 0))


def outer_calls(branch: str | None) -> Iterator[CallReference]:
    """If an agent runs inside tool calls, yield these calls, the outermost first. ``branch``: the agent's branch.

    ADK appends ``<tool>@<call id>`` to the branch of an agent that runs inside a tool call.
    """
    links = (branch or "").split(".")
    for place, link in enumerate(links):
        name, _, call_id = link.rpartition("@")
        if call_id:
            yield CallReference(call_id, name, branch=".".join(links[:place]) or None)


@dataclass(slots=True, eq=False)
class KnownCall:
    """A tool call of the chat. A call may have several ids in ADK."""

    id: str
    """The ``toolCallId`` in the client; empty if the client did not receive the call."""
    speaker: SpeakerKey
    name: str = ""
    """The name of the tool; empty while unknown."""
    args: dict[str, Any] | None = None
    """The arguments; ``None`` until they are complete."""
    run: int = -1
    """The number of the run with the complete call; -1 before it."""
    number: int = 0
    """See ``CallReference.number``."""
    responses: int = 0
    """The number of function responses, without placeholders."""
    approvals: int = 0
    has_id: bool = True
    """False if ADK has given the call no id so far."""
    is_open: bool = False
    """True while the call waits for a response."""
    placeholders: int = 0
    approval_id: str = ""
    is_undecided: bool = False
    """True while the user has not answered an approval request for the call, and the call has no response."""
    decided: bool = False
    """True between the user's decision and the response to the call."""
    adk_ids: tuple[str, ...] = ()
    """The ids of the call in ADK."""
    entry: Any = None
    """An object that code outside this module stores for the call."""


class CallMessages(Generic[T]):
    """Index of a chat's messages by their tool calls. If a tool result comes later than the message with the call,
    finds this message. It is the newest message with a call that has the result's id and tool.
    """

    __slots__ = ("_by_call",)

    def __init__(self) -> None:
        self._by_call: dict[tuple[str | None, str], T] = {}

    def add(self, facts: "EventFacts", message: T) -> None:
        """Add the tool calls of an event. ``message``: the message that contains the calls."""
        self._by_call.update(dict.fromkeys(((call.id, call.name) for call in facts.calls), message))

    def find(self, result: "Result") -> T | None:
        return self._by_call.get((result.id, result.name))
