"""The calls under one id, and those without an id, so arranged that finding one takes the same time among many.

An id is nearly always that of one call. Only if it comes again, its calls are indexed by their rank.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

SpeakerKey = tuple[str, str | None, str]
"""Author, branch, node path."""

MAX_ANSWERED: Final = 8
"""The number of calls remembered under one id although they have a response: the newest ones."""

_MAX_DEPTH: Final = 32
"""Levels of arguments that are compared as Python compares them."""


@dataclass(slots=True, eq=False)
class KnownCall:
    """A call, under every id that ADK has used for it."""

    id: str
    """The ``toolCallId`` by which the client knows it; empty if the client was not shown it."""
    speaker: SpeakerKey
    name: str = ""
    """The tool; empty until that is known."""
    args: dict[str, Any] | None = None
    """The arguments; ``None`` until they are complete."""
    run: int = -1
    """The run whose complete event has it."""
    responses: int = 0
    """The number of its responses, without placeholders."""
    approvals: int = 0
    """The number of times that a person was asked to approve it."""
    has_id: bool = True
    """False until ADK has used an id for it."""
    opened: int | None = None
    """Its number in ``OpenCalls``; ``None`` from when it has a response until a person is asked to approve it again."""
    placeholders: int = 0
    """The number of its placeholders."""
    approval_id: str = ""
    """The id of the newest request to approve it."""
    decided: bool = False
    """True from when a person answers that request until a response comes."""
    mentioned: bool = False
    """True if the newest event has mentioned it: the next call under the same id in that event is another."""
    same_id: "list[CallsUnderId]" = field(default_factory=list, repr=False)
    """For each of its ids, the calls under it."""

    @property
    def content(self) -> Hashable:
        """Equal for calls of one tool with equal arguments."""
        return _content(self.name, self.args)

    @property
    def rank(self) -> "CallRank":
        """The rank of the call among those under its id."""
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
"""Puts ranks in order: the smallest is the first."""


class CallsUnderId:
    """The calls under one id. If they are several, an index finds the first call of each rank."""

    __slots__ = ("_count", "_index", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[KnownCall, int] = {}
        """The calls that are remembered, numbered in their order."""
        self._count = 0
        """The number of calls added."""
        self._index: _Index | None = None
        """``None`` until there is a second call."""

    def add(self, known: KnownCall) -> None:
        """Adds a call. Forgets calls that were answered long ago."""
        if self._index is not None:
            self._index.forget(self.numbers, before=self._count - MAX_ANSWERED)
        self.numbers[known] = self._count
        self._count += 1

    def update(self, known: KnownCall) -> None:
        """Notes that the rank of a call may have changed."""
        if known not in self.numbers:
            return
        if self._index is not None:
            self._index.add(known, self.numbers[known])
        elif self._count > 1:
            self._index = _Index()
            for each, number in self.numbers.items():
                self._index.add(each, number)

    def first(self, key: RankKey, speaker: SpeakerKey | None = None) -> KnownCall | None:
        """The first call by this key, and of those that are equal the oldest. ``speaker``: of this one alone."""
        if self._index is None:
            return next((one for one in self.numbers if speaker in (None, one.speaker)), None)
        by_speaker = self._index.by_speaker
        return self._first(by_speaker.values() if speaker is None else [by_speaker.get(speaker, _NONE)], key)

    def first_equal(self, name: str, args: dict[str, Any], key: RankKey) -> KnownCall | None:
        """The first of the calls of this tool that have these arguments. A ``None`` from ``key`` refuses a rank."""
        if self._index is None:
            calls = (one for one in self.numbers if (one.name, one.args) == (name, args))
            return next((one for one in calls if key(one.rank) is not None), None)
        return self._first([self._index.by_content.get(_content(name, args), _NONE)], key)

    def any(self, condition: Callable[[CallRank], bool]) -> bool:
        """Return True if the rank of one of the calls meets the condition."""
        if self._index is None:
            return any(condition(one.rank) for one in self.numbers)
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
    """The calls under one id by who made them, and by what they are."""

    def __init__(self) -> None:
        self._answered: dict[KnownCall, None] = {}
        """The calls with a response."""
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
        """Forgets the calls that have a response and a smaller number."""
        for old in [one for one in self._answered if numbers[one] < before]:
            del self._answered[old], numbers[old]
            self._remove_empty(old, numbers)

    def _remove_empty(self, known: KnownCall, numbers: dict[KnownCall, int]) -> None:
        """Removes what was kept for this call alone, which is forgotten."""
        if (ranks := self.by_speaker.get(known.speaker)) is not None and not any(ranks.firsts(numbers)):
            del self.by_speaker[known.speaker]
        if (ranks := self.by_content.get(known.content)) is not None and not any(ranks.firsts(numbers)):
            del self.by_content[known.content]


class _Ranks:
    """Calls by their rank. A call whose rank has changed stays under its old rank until that is noticed."""

    def __init__(self) -> None:
        self._heaps: dict[CallRank, list[tuple[int, KnownCall]]] = {}
        self._added: set[tuple[CallRank, int]] = set()

    def add(self, rank: CallRank, number: int, known: KnownCall) -> None:
        if (rank, number) not in self._added:
            self._added.add((rank, number))
            heappush(self._heaps.setdefault(rank, []), (number, known))

    def firsts(self, numbers: dict[KnownCall, int]) -> Iterator[tuple[CallRank, tuple[int, KnownCall]]]:
        """Each rank that a call has, with the first of these calls and its number."""
        for rank, heap in [*self._heaps.items()]:
            while heap and (numbers.get(heap[0][1]) != heap[0][0] or heap[0][1].rank != rank):
                self._added.discard((rank, heappop(heap)[0]))
            if heap:
                yield rank, heap[0]
            else:
                del self._heaps[rank]


_NONE: Final = _Ranks()


class OpenCalls:
    """Calls of which a response is expected, by their tools."""

    __slots__ = ("_by_tool", "_count")

    def __init__(self) -> None:
        self._count = 0
        """The number of calls added."""
        self._by_tool: dict[tuple[str, SpeakerKey | None, bool], list[tuple[int, KnownCall]]] = {}
        """Heaps, by tool and speaker, and by the tool alone; True: of those without an id. A call is there from when
        its tool is known."""

    def add(self, known: KnownCall) -> None:
        """Adds a call as the newest. Its tool may be still unknown."""
        known.opened = self._count
        self._count += 1
        if known.name:
            self.name(known)

    def name(self, known: KnownCall) -> None:
        """The tool of the call is known."""
        if known.opened is None:
            return
        for lacks_id in (False,) if known.has_id else (False, True):
            for speaker in (known.speaker, None):
                heap = self._by_tool.setdefault((known.name, speaker, lacks_id), [])
                heappush(heap, (known.opened, known))

    def close(self, known: KnownCall) -> None:
        """The call has its response."""
        known.opened = None
        for lacks_id in (False, True):
            for speaker in (known.speaker, None):
                self._first(known.name, speaker, lacks_id=lacks_id)

    def oldest(self, speaker: SpeakerKey | None, name: str, *, lacks_id: bool = False) -> KnownCall | None:
        """The oldest open call of the tool: the speaker's own, or else anybody's. ``lacks_id``: without an id."""
        own = self._first(name, speaker, lacks_id=lacks_id)
        return own or self._first(name, None, lacks_id=lacks_id)

    def _first(self, name: str, speaker: SpeakerKey | None, *, lacks_id: bool) -> KnownCall | None:
        heap = self._by_tool.get((name, speaker, lacks_id))
        while heap:
            number, known = heap[0]
            if known.opened == number and not (lacks_id and known.has_id):
                return known
            heappop(heap)
        if heap is not None:
            del self._by_tool[name, speaker, lacks_id]
            if not self._by_tool:
                self._by_tool = {}  # an emptied one keeps its memory
        return None


def _content(name: str, args: Any) -> Hashable:
    """Equal for calls of one tool with equal arguments."""
    return name, _hashable(args, _MAX_DEPTH)


def _hashable(value: Any, depth: int) -> Hashable:
    if depth == 0:
        return repr(value)
    if isinstance(value, dict):
        return frozenset((key, _hashable(item, depth - 1)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_hashable(item, depth - 1) for item in value)
    return value if isinstance(value, Hashable) else repr(value)
