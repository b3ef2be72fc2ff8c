"""Types of JSON values, as far as TypeScript can express them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Unknown:
    """Type of any JSON value."""


@dataclass(frozen=True)
class Never:
    """Type without values."""


@dataclass(frozen=True)
class Primitive:
    """Type of all booleans, numbers or strings, or of ``null``."""

    kind: Literal["boolean", "null", "number", "string"]


@dataclass(frozen=True)
class Constant:
    """Type of a single value."""

    value: str | float | bool | None

    def __eq__(self, other: object) -> bool:
        """Compare type and value: ``1`` is not ``True``."""
        return isinstance(other, Constant) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        """Return the hash of type and value."""
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Array:
    """Type of lists of any length."""

    item: Node


@dataclass(frozen=True)
class Tuple:
    """Type of lists with a type for each of the first items.

    ``rest``: type of additional items; ``None`` allows none.
    """

    items: tuple[Node, ...]
    rest: Node | None


@dataclass(frozen=True)
class Field:
    """Key of an object type, with a description in ``text``."""

    name: str
    type: Node
    optional: bool = False
    text: str = ""


@dataclass(frozen=True)
class Object:
    """Type of objects, which may have additional keys. ``rest``: type of all values, if there are no ``fields``."""

    fields: tuple[Field, ...] = ()
    rest: Node = Unknown()


@dataclass(frozen=True)
class Union:
    """Type of the values of any of its members. ``union`` creates it."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Intersection:
    """Type of the values of all of its members. ``intersection`` creates it."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Named:
    """Reference to a type that has a name in the file."""

    name: str


@dataclass(frozen=True)
class AgentMessage:
    """Type of the message of an agent that runs as a tool. ``result``: type of the result for the calling agent."""

    result: Node


Node: TypeAlias = (
    Unknown | Never | Primitive | Constant | Array | Tuple | Object | Union | Intersection | Named | AgentMessage
)

NULL = Primitive("null")


def union(members: Iterable[Node]) -> Node:
    """Return the type of the values of any of the members, without duplicate members."""
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
    """Return the type of the values of all of the members."""
    kept = [member for member in dict.fromkeys(members) if not isinstance(member, Unknown)]
    if Never() in kept:
        return Never()
    return kept[0] if len(kept) == 1 else Intersection(tuple(kept)) if kept else Unknown()
