"""Client ids for the calls of a chat.

Each id is used once. The client finds a call by its id alone, and takes the first call in the chat with that id. ADK's
ids are not unique: a model may count from zero in every response, and a workflow may use one fixed id for all its
questions. So a call gets ADK's id if no earlier call of the chat has it, or else ``<id>.2``, ``<id>.3``, and so on. A
call without an id gets ``call_0``, ``call_1``, and so on. Ids that are taken are skipped.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stream_protocol.adk._call_index import KnownCall


class CallIds(Collection[str]):
    """The used client ids of a chat, in their order. ``taken``: ids that no call may get."""

    __slots__ = ("_begin", "_earlier", "_numbers", "_places")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._earlier: CallIds | None = None
        """The object that has the first ``_begin`` ids; ``None`` without such ids."""
        self._begin = 0
        self._places = {call_id: place for place, call_id in enumerate(dict.fromkeys(taken))}
        """Id -> its position among all ids. The ids of ``_earlier`` are not in it."""
        self._numbers: dict[str, list[tuple[int, int]]] | None = None
        """ADK's id, or ``""`` -> position and number of each client id that ``_numbered`` has made for it, in
        increasing order. ``None`` without such ids.
        """

    def __len__(self) -> int:
        return self._begin + len(self._places)

    def __iter__(self) -> Iterator[str]:
        yield from islice(self._earlier or (), self._begin)
        yield from self._places

    def __contains__(self, call_id: object) -> bool:
        return isinstance(call_id, str) and self.has_among(call_id, len(self))

    def copy(self) -> "CallIds":
        """Return a copy in constant time.

        Later changes of one object do not change the other.
        """
        copied = CallIds()
        copied._earlier, copied._begin = (self if self._places else self._earlier), len(self)
        return copied

    def new(self, adk_id: str | None) -> str:
        """Return a new client id for a call. ``adk_id``: the call's id in ADK, if it has one."""
        call_id = adk_id if adk_id and adk_id not in self else self._numbered(adk_id or "")
        self._places[call_id] = len(self)
        return call_id

    def _numbered(self, adk_id: str) -> str:
        number = self.newest_number(adk_id, len(self))
        call_id = adk_id
        while call_id == adk_id or call_id in self:
            number += 1
            call_id = f"{adk_id}.{number}" if adk_id else f"call_{number}"
        self._numbers = self._numbers or {}
        self._numbers.setdefault(adk_id, []).append((len(self), number))
        return call_id

    def has_among(self, call_id: str, count: int) -> bool:
        """Return True if the id is among the first ``count`` ids."""
        if (place := self._places.get(call_id)) is not None:
            return place < count
        return self._earlier is not None and self._earlier.has_among(call_id, min(count, self._begin))

    def newest_number(self, adk_id: str, count: int) -> int:
        """Return the highest number of this ADK id among the first ``count`` ids.

        A search for a free number begins after this number, so no number is tried twice.
        """
        numbers = self._numbers.get(adk_id, []) if self._numbers is not None else []
        if (later := bisect_left(numbers, (count,))) > 0:
            return numbers[later - 1][1]
        if self._earlier is not None:
            return self._earlier.newest_number(adk_id, min(count, self._begin))
        return 1 if adk_id else -1


NO_IDS: Final = CallIds()
"""No ids, for the first message of a chat. This object never changes: callers copy it before they add ids."""


def match_client_ids(
    shown: Collection[tuple[str, str]], tools: Mapping[str, str], unanswered: "Iterable[KnownCall]"
) -> dict[str, str]:
    """Return the stored calls' ids for ids that only the client knows: id in the client's message -> stored id.

    If a model adapter gives no call ids, ADK generates two ids for a call. The client received the id of the partial
    event, and the session has the id of the complete event. Parallel agents can also use one id twice. Their calls are
    stored in a different order than they were shown. So calls with unknown ids are matched with the calls of the same
    tool in order. ``shown``: id and tool of each call in the client's message. ``tools``: id -> tool, for all stored
    calls. ``unanswered``: the stored calls to match.
    """
    known = {call_id for call_id, tool in shown if tools.get(call_id) == tool}
    unmatched = [call for call in unanswered if call.id not in known]
    matched: dict[str, str] = {}
    for call_id, tool in shown:
        call = next((call for call in unmatched if call.name == tool), None) if tools.get(call_id) != tool else None
        if call is not None:
            matched[call_id] = call.id
            unmatched.remove(call)
    return matched
