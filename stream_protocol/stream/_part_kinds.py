"""The kinds of parts that grow."""

from enum import IntEnum


class PartKind(IntEnum):
    """The kinds of parts that grow; indices, since a member's hash is slow."""

    TEXT = 0
    REASONING = 1
