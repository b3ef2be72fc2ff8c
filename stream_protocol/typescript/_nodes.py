"""The kinds of JSON types that TypeScript can express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Unknown:
    """The type of any JSON value."""


@dataclass(frozen=True)
class Never:
    """The type that no value has."""


@dataclass(frozen=True)
class Primitive:
    """One of the types ``boolean``, ``number``, ``string`` and ``null``."""

    kind: Literal["boolean", "null", "number", "string"]


@dataclass(frozen=True)
class Constant:
    """The type that only one value has, such as ``"done"``."""

    value: str | float | bool | None

    def __eq__(self, other: object) -> bool:
        """Compare the Python types of the values, too, because ``1 == True`` in Python."""
        return isinstance(other, Constant) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Array:
    """The type of lists of any length whose items all have the same type."""

    item: Node


@dataclass(frozen=True)
class Tuple:
    """The type of lists whose first items each have their own type, such as ``[string, number]``.

    ``rest``: the type of additional items; ``None`` to forbid additional items.
    """

    items: tuple[Node, ...]
    rest: Node | None


@dataclass(frozen=True)
class Field:
    """A key of an object type. ``text``: the description of the key."""

    name: str
    type: Node
    optional: bool = False
    text: str = ""


@dataclass(frozen=True)
class Object:
    """The type of objects, which may have more keys than ``fields``. If ``fields`` is empty, ``rest`` is the type of
    all values.
    """

    fields: tuple[Field, ...] = ()
    rest: Node = Unknown()


@dataclass(frozen=True)
class Union:
    """The type of values that have at least one of the member types. Use ``union`` to create a ``Union``."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Intersection:
    """The type of values that have all member types. Use ``intersection`` to create an ``Intersection``."""

    members: tuple[Node, ...]


@dataclass(frozen=True)
class Named:
    """A reference to a type that has a name in the generated file."""

    name: str


@dataclass(frozen=True)
class AgentMessage:
    """The type of the message of an agent that runs as a tool. ``result``: the type of the tool's result."""

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
