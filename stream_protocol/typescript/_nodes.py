"""The types of JSON values that TypeScript can express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Unknown:
    """Any JSON value."""


@dataclass(frozen=True)
class Never:
    """No value."""


@dataclass(frozen=True)
class Primitive:
    """A kind of scalar."""

    kind: Literal["boolean", "null", "number", "string"]


@dataclass(frozen=True)
class Constant:
    """One value."""

    value: str | float | bool | None

    def __eq__(self, other: object) -> bool:
        """Compare type and value: ``1`` is not ``True``."""
        return isinstance(other, Constant) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        """Equal values have equal hashes."""
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Array:
    """A list of any length."""

    item: Node


@dataclass(frozen=True)
class Tuple:
    """A list whose first members each have a type. ``rest``: the type of the further members; ``None`` if there are
    none.
    """

    items: tuple[Node, ...]
    rest: Node | None


@dataclass(frozen=True)
class Field:
    """A key of an object. ``text`` describes it."""

    name: str
    type: Node
    optional: bool = False
    text: str = ""


@dataclass(frozen=True)
class Object:
    """An object. It may have further keys. ``rest``: the type of the values of an object without fields."""

    fields: tuple[Field, ...] = ()
    rest: Node = Unknown()


@dataclass(frozen=True)
class Union:
    """A value of one of these types. Made by ``union``."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Intersection:
    """A value of all of these types. Made by ``intersection``."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Named:
    """A type that has a name in the file."""

    name: str


@dataclass(frozen=True)
class AgentMessage:
    """The message of an agent that runs as a tool. ``result``: the type of what the calling agent reads."""

    result: Node


Node: TypeAlias = (
    Unknown | Never | Primitive | Constant | Array | Tuple | Object | Union | Intersection | Named | AgentMessage
)

NULL = Primitive("null")


def union(members: Iterable[Node]) -> Node:
    """A value of any of the types, without duplicates."""
    flat = list(dict.fromkeys(_flat(members)))
    if Unknown() in flat:
        return Unknown()
    kept = [member for member in flat if not isinstance(member, Never)]
    return kept[0] if len(kept) == 1 else Union(tuple(kept)) if kept else Never()


def _flat(members: Iterable[Node]) -> Iterator[Node]:
    for member in members:
        if isinstance(member, Union):
            yield from member.members
        else:
            yield Primitive("null") if member == Constant(None) else member


def intersection(members: Iterable[Node]) -> Node:
    """A value of all of the types."""
    kept = [member for member in dict.fromkeys(members) if not isinstance(member, Unknown)]
    if Never() in kept:
        return Never()
    return kept[0] if len(kept) == 1 else Intersection(tuple(kept)) if kept else Unknown()
