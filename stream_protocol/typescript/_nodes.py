"""Types of JSON values that TypeScript can express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Unknown:
    """The type of any JSON value."""


@dataclass(frozen=True)
class Never:
    """The type without values."""


@dataclass(frozen=True)
class Primitive:
    """The type of all booleans, numbers or strings, or of ``null``."""

    kind: Literal["boolean", "null", "number", "string"]


@dataclass(frozen=True)
class Constant:
    """The type of a single value."""

    value: str | float | bool | None

    def __eq__(self, other: object) -> bool:
        """Compare the Python type, too, because ``1 == True`` in Python."""
        return isinstance(other, Constant) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Array:
    """The type of lists of any length."""

    item: Node


@dataclass(frozen=True)
class Tuple:
    """The type of lists whose first items each have a type. ``rest``: the type of additional items; ``None`` to forbid
    additional items.
    """

    items: tuple[Node, ...]
    rest: Node | None


@dataclass(frozen=True)
class Field:
    """A key of an object type. ``text``: its description."""

    name: str
    type: Node
    optional: bool = False
    text: str = ""


@dataclass(frozen=True)
class Object:
    """The type of objects, which may have additional keys. ``rest``: the type of all values, if there are no
    ``fields``."""

    fields: tuple[Field, ...] = ()
    rest: Node = Unknown()


@dataclass(frozen=True)
class Union:
    """The type of values that have at least one of the types. Use ``union`` to create a ``Union``."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Intersection:
    """The type of values that have all types. Use ``intersection`` to create an ``Intersection``."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Named:
    """A reference to a type that has a name in the file."""

    name: str


@dataclass(frozen=True)
class AgentMessage:
    """The message of an agent that runs as a tool. ``result``: the type of the tool's result."""

    result: Node


Node: TypeAlias = (
    Unknown | Never | Primitive | Constant | Array | Tuple | Object | Union | Intersection | Named | AgentMessage
)

NULL = Primitive("null")


def union(members: Iterable[Node]) -> Node:
    """Return the union of the types, without duplicates."""
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
    """Return the intersection of the types, without duplicates."""
    kept = [member for member in dict.fromkeys(members) if not isinstance(member, Unknown)]
    if Never() in kept:
        return Never()
    return kept[0] if len(kept) == 1 else Intersection(tuple(kept)) if kept else Unknown()
