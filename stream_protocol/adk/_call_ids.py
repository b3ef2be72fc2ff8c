"""Client ids for the calls of a chat. A client id is the ``toolCallId`` of a call.

A client finds calls by id alone, so a client id is unique in its chat. ADK's ids are not unique. For example, a model
may number the calls of each response from zero.

The first call with an id keeps ADK's id as its client id. Later calls with this id get the first unused id of
``<id>.2``, ``<id>.3``, and so on. A call without an id in ADK gets ``call_0``, ``call_1``, and so on.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stream_protocol.adk._known_call import KnownCall


class CallIds(Collection[str]):
    """The client ids (``toolCallId``) of a chat's tool calls, in the order of the calls. ``taken``: the ids that are
    already used."""

    __slots__ = ("_begin", "_earlier", "_numbers", "_places")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._earlier: CallIds | None = None
        """The object from which this object was copied. Its first ``_begin`` ids count as ids of this object."""
        self._begin = 0
        self._places = {call_id: place for place, call_id in enumerate(dict.fromkeys(taken))}
        """Id -> its position among all ids of the chat. Does not contain the ids of ``_earlier``."""
        self._numbers: dict[str, list[tuple[int, int]]] | None = None
        """ADK's id (``""`` for ``call_0`` and so on) -> position and number of each numbered client id, in increasing
        order."""

    def __len__(self) -> int:
        return self._begin + len(self._places)

    def __iter__(self) -> Iterator[str]:
        yield from islice(self._earlier or (), self._begin)
        yield from self._places

    def __contains__(self, call_id: object) -> bool:
        return isinstance(call_id, str) and self.has_among(call_id, len(self))

    def copy(self) -> "CallIds":
        """Return an independent copy in constant time."""
        copied = CallIds()
        copied._earlier, copied._begin = (self if self._places else self._earlier), len(self)
        return copied

    def new(self, adk_id: str | None) -> str:
        """Add and return a new ``toolCallId`` for a call. ``adk_id``: the call's id in ADK."""
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
        """Return True if ``call_id`` is among the first ``count`` ids of the chat's calls."""
        if (place := self._places.get(call_id)) is not None:
            return place < count
        return self._earlier is not None and self._earlier.has_among(call_id, min(count, self._begin))

    def newest_number(self, adk_id: str, count: int) -> int:
        """Return the highest ``NUMBER`` of the ids ``<adk_id>.NUMBER`` among the first ``count`` ids of the chat's
        calls."""
        numbers = self._numbers.get(adk_id, []) if self._numbers is not None else []
        if (later := bisect_left(numbers, (count,))) > 0:
            return numbers[later - 1][1]
        if self._earlier is not None:
            return self._earlier.newest_number(adk_id, min(count, self._begin))
        return 1 if adk_id else -1


NO_IDS: Final = CallIds()
"""The empty ``CallIds`` of a chat without messages. Callers must copy it before they add ids."""


def match_client_ids(
    shown: Collection[tuple[str, str]], tools: Mapping[str, str], unanswered: "Iterable[KnownCall]"
) -> dict[str, str]:
    """Find the calls that have one id in the client's message and another id in the stored event. Return a dictionary
    from the client's id to the stored id.

    If a model sends no call ids, ADK generates two ids for a call. The client gets the id in the partial event. The
    stored complete event has the other id. For each tool, this function matches the client's unknown ids with the
    remaining calls in ``unanswered``, in order.

    ``unanswered``: the stored calls without a response. ``shown``: the id and the tool of each call in the client's
    message. ``tools``: a dictionary from the id of each stored call to its tool.
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
