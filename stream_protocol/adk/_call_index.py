"""Index of tool calls by id and by tool. With the index, a search takes the same time for few and for many calls.

Several calls can have the same id. A search chooses between them by the properties in ``CallRank``, such as the author
and the number of responses. So these calls are also indexed by ``CallRank``.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from stream_protocol.adk._facts import EventFacts, Result

T = TypeVar("T")

SpeakerKey = tuple[str, str | None, str]
"""Author, branch and node path of an event. Together they identify an agent within a run."""

USER: Final = "user"
"""The author's name in the user's events. ADK also stores some results with this author."""

MAX_ANSWERED: Final = 8
"""The number of newest calls with the same id that stay after their response."""

_MAX_DEPTH: Final = 32
"""The nesting level below which arguments are compared by ``repr``, and not by value."""


class CallReference(NamedTuple):
    """Data with which an event, or the code of a running tool, refers to a call."""

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
    """Return the reference to a call by this author and branch. ``stored``: a dictionary with the items of
    ``CallReference.stored_number``."""
    return CallReference(call_id, "", author, branch, stored.get("number", 0))


def outer_calls(branch: str | None) -> Iterator[CallReference]:
    """Yield the tool calls inside which an agent runs, the outermost first. ``branch``: the agent's branch.

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
    opened: int | None = None
    """The number of the call in ``OpenCalls``; ``None`` while the call has a response."""
    placeholders: int = 0
    approval_id: str = ""
    is_undecided: bool = False
    """True while the user has not answered an approval request for the call, and the call has no response."""
    decided: bool = False
    """True between the user's decision and the response to the call."""
    mentioned: bool = False
    """True if the newest event contains the call. A second call with the same id there is a different call."""
    same_id: "list[CallsUnderId]" = field(default_factory=list, repr=False)
    """For each id of this call, the group of all calls with this id."""

    entry: Any = None
    """An object that code outside this module stores for the call."""

    @property
    def content(self) -> Hashable:
        """A hashable key that is equal for two calls of the same tool with equal arguments."""
        return _content(self.name, self.args)

    @property
    def rank(self) -> "CallRank":
        """The properties by which a search chooses between several calls with the same id."""
        return CallRank(
            self.mentioned,
            self.name,
            self.speaker,
            self.run,
            self.responses,
            self.placeholders,
            self.approvals,
            self.decided,
        )


class CallRank(NamedTuple):
    mentioned: bool
    name: str
    speaker: SpeakerKey
    run: int
    responses: int
    placeholders: int
    approvals: int
    decided: bool


RankKey = Callable[[CallRank], tuple[int, ...] | None]
"""Function that returns the sort key of a ``CallRank``. A search takes the smallest key, and skips calls with the key
``None``."""


class CallsUnderId:
    """All calls that have the same id in ADK. If there are several, an index groups them by ``CallRank``, and finds the
    oldest call of each group."""

    __slots__ = ("_count", "_index", "_only", "_several")

    def __init__(self) -> None:
        self._only: KnownCall | None = None
        self._several: dict[KnownCall, int] | None = None
        """The value of ``numbers`` if several calls were added."""
        self._count = 0
        self._index: _Index | None = None

    @property
    def numbers(self) -> dict[KnownCall, int]:
        """The calls in the order in which they were added: call -> its number, from 0. Calls that ``add`` has removed
        are missing."""
        if self._several is not None:
            return self._several
        return {} if self._only is None else {self._only: 0}

    @property
    def has_several(self) -> bool:
        return self._several is not None

    def add(self, known: KnownCall) -> None:
        """Add a call. Also remove calls that have a response and are not among the newest ``MAX_ANSWERED`` calls."""
        if self._index is not None:
            self._index.forget(self.numbers, before=self._count - MAX_ANSWERED)
        if self._count == 0:
            self._only = known
        else:
            self._several = self.numbers
            self._several[known] = self._count
            self._only = None
        self._count += 1

    def update(self, known: KnownCall) -> None:
        """Update the index after the property ``rank`` of the call ``known`` has changed."""
        if known not in self.numbers:
            return
        if self._index is not None:
            self._index.add(known, self.numbers[known])
        elif self._count > 1:
            self._index = _Index()
            for each, number in self.numbers.items():
                self._index.add(each, number)

    def first(self, key: RankKey, speaker: SpeakerKey | None = None) -> KnownCall | None:
        """Return the call with the smallest sort key. If several calls have this key, return the oldest.

        ``key``: a function that returns the sort key for a ``CallRank``, or ``None`` to skip the call. ``speaker``: the
        agent whose calls are searched; ``None`` for all agents.
        """
        if self._index is None:
            return next((known for known in self.numbers if speaker in (None, known.speaker)), None)
        by_speaker = self._index.by_speaker
        return self._first(by_speaker.values() if speaker is None else [by_speaker.get(speaker, _NONE)], key)

    def newest(self, speaker: SpeakerKey) -> KnownCall | None:
        if (only := self._only) is not None:
            return only if only.speaker == speaker else None
        return next((known for known in reversed(self.numbers) if known.speaker == speaker), None)

    def first_equal(self, name: str, args: dict[str, Any], key: RankKey) -> KnownCall | None:
        """Return the call with the smallest sort key among the calls of this tool with these arguments. ``key``: see
        ``first``."""
        if self._index is None:
            calls = (known for known in self.numbers if (known.name, known.args) == (name, args))
            return next((known for known in calls if key(known.rank) is not None), None)
        return self._first([self._index.by_content.get(_content(name, args), _NONE)], key)

    def any(self, condition: Callable[[CallRank], bool]) -> bool:
        """Return True if at least one call meets ``condition``, which is a function of the call's ``rank``."""
        if self._index is None:
            return any(condition(known.rank) for known in self.numbers)
        found = self._index.by_speaker.values()
        return any(condition(rank) for ranks in found for rank, _ in ranks.firsts(self.numbers))

    def _first(self, found: Iterable["_Ranks"], key: RankKey) -> KnownCall | None:
        firsts = (
            (order, first)
            for ranks in found
            for rank, first in ranks.firsts(self.numbers)
            if (order := key(rank)) is not None
        )
        best = min(firsts, key=lambda pair: (pair[0], pair[1][0]), default=None)
        return None if best is None else best[1][1]


class _Index:
    """Two indexes of the calls with one id: by agent, and by tool and arguments."""

    def __init__(self) -> None:
        self._answered: dict[KnownCall, None] = {}
        """The calls that have a response."""
        self.by_speaker: dict[SpeakerKey, _Ranks] = {}
        self.by_content: dict[Hashable, _Ranks] = {}

    def add(self, known: KnownCall, number: int) -> None:
        rank = known.rank
        if known.responses:
            self._answered[known] = None
        self.by_speaker.setdefault(known.speaker, _Ranks()).add(rank, number, known)
        if known.args is not None:
            self.by_content.setdefault(known.content, _Ranks()).add(rank, number, known)

    def forget(self, numbers: dict[KnownCall, int], *, before: int) -> None:
        """Remove the calls that have a response and a number below ``before``. ``numbers``: call -> its number."""
        for old in [known for known in self._answered if numbers[known] < before]:
            del self._answered[old], numbers[old]
            self._remove_empty(old, numbers)

    def _remove_empty(self, known: KnownCall, numbers: dict[KnownCall, int]) -> None:
        """Remove index entries that have become empty because the call ``known`` was removed."""
        if (ranks := self.by_speaker.get(known.speaker)) is not None and not any(ranks.firsts(numbers)):
            del self.by_speaker[known.speaker]
        if (ranks := self.by_content.get(known.content)) is not None and not any(ranks.firsts(numbers)):
            del self.by_content[known.content]


class _Ranks:
    """Index of calls by ``CallRank``, the properties by which a search chooses a call. When the ``CallRank`` of a call
    changes, its old entry stays until the next search."""

    def __init__(self) -> None:
        self._heaps: dict[CallRank, list[tuple[int, KnownCall]]] = {}
        self._added: set[tuple[CallRank, int]] = set()

    def add(self, rank: CallRank, number: int, known: KnownCall) -> None:
        if (rank, number) not in self._added:
            self._added.add((rank, number))
            heappush(self._heaps.setdefault(rank, []), (number, known))

    def firsts(self, numbers: dict[KnownCall, int]) -> Iterator[tuple[CallRank, tuple[int, KnownCall]]]:
        """Yield each ``CallRank`` with a pair: the number of the oldest call that has this rank, and the call.

        ``numbers``: call -> its number. An older call has a lower number.
        """
        for rank, heap in [*self._heaps.items()]:
            while heap and (numbers.get(heap[0][1]) != heap[0][0] or heap[0][1].rank != rank):
                self._added.discard((rank, heappop(heap)[0]))
            if heap:
                yield rank, heap[0]
            else:
                del self._heaps[rank]


_NONE: Final = _Ranks()


class OpenCalls:
    """Tool calls that wait for a function response, indexed by tool."""

    __slots__ = ("_by_tool", "_count")

    def __init__(self) -> None:
        self._count = 0
        self._by_tool: dict[tuple[str, SpeakerKey | None, bool], list[tuple[int, KnownCall]]] | None = None
        """(tool, speaker, True for calls without an id) -> heap of open calls.

        The speaker ``None`` stands for all speakers. The attribute is ``None`` without calls, because an emptied
        dictionary keeps its memory.
        """

    def add(self, known: KnownCall) -> None:
        """Add a call that waits for a function response. The name of its tool may be unknown."""
        known.opened = self._count
        self._count += 1
        if known.name:
            self.name(known)

    def name(self, known: KnownCall) -> None:
        """Add the call to the index by tool, now that the name of its tool is known."""
        if known.opened is None:
            return
        self._by_tool = self._by_tool or {}
        for lacks_id in (False,) if known.has_id else (False, True):
            for speaker in (known.speaker, None):
                heap = self._by_tool.setdefault((known.name, speaker, lacks_id), [])
                heappush(heap, (known.opened, known))

    def close(self, known: KnownCall) -> None:
        known.opened = None
        for lacks_id in (False, True):
            for speaker in (known.speaker, None):
                self._first(known.name, speaker, lacks_id=lacks_id)

    def oldest(self, speaker: SpeakerKey | None, name: str, *, lacks_id: bool = False) -> KnownCall | None:
        """Return the oldest unanswered call of this tool. Calls by the agent ``speaker`` come before calls by other
        agents.

        ``lacks_id``: True to search only calls to which ADK has given no id.
        """
        own = self._first(name, speaker, lacks_id=lacks_id)
        return own or self._first(name, None, lacks_id=lacks_id)

    def _first(self, name: str, speaker: SpeakerKey | None, *, lacks_id: bool) -> KnownCall | None:
        if self._by_tool is None:
            return None
        heap = self._by_tool.get((name, speaker, lacks_id))
        while heap:
            number, known = heap[0]
            if known.opened == number and not (lacks_id and known.has_id):
                return known
            heappop(heap)
        if heap is not None:
            del self._by_tool[name, speaker, lacks_id]
            self._by_tool = self._by_tool or None
        return None


class CallMessages(Generic[T]):
    """Index of a chat's messages by their tool calls. Finds the message for a later tool result: the newest message
    that has a call with the result's id and tool."""

    __slots__ = ("_by_call",)

    def __init__(self) -> None:
        self._by_call: dict[tuple[str | None, str], T] = {}

    def add(self, facts: "EventFacts", message: T) -> None:
        """Add the tool calls of an event. ``message``: the message that contains the calls."""
        self._by_call.update(dict.fromkeys(((call.id, call.name) for call in facts.calls), message))

    def find(self, result: "Result") -> T | None:
        return self._by_call.get((result.id, result.name))


def _content(name: str, args: Any) -> Hashable:
    return name, _hashable(args, _MAX_DEPTH)


def _hashable(value: Any, depth: int) -> Hashable:
    if depth == 0:
        return repr(value)
    if isinstance(value, dict):
        return frozenset((key, _hashable(item, depth - 1)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_hashable(item, depth - 1) for item in value)
    return value if isinstance(value, Hashable) else repr(value)
