"""How much work a request may cause. Work is counted in steps, not in seconds: an answer is always judged alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from stream_protocol.session.schemas._patterns import MAX_PATTERN_TEXT

STEPS: Final = 20_000
"""Steps that the answers of one request may take together, of up to 3 µs each: they hold the event loop."""

SCHEMA_VALUES: Final = 1_000
"""The most values, keys among them, of the schemas that one request is held against. An answer takes at most about as
many steps as its own values times these: a short one is judged whatever the schema."""

ANSWER_VALUES: Final = 20_000
"""The most values, keys among them, of the answers of one request."""

MAX_DEPTH: Final = 100
"""Levels of nesting, in a schema and in an answer."""

MAX_BITS: Final = 1_023
"""The size of an integer: one of no more bits is a finite float, too."""


class TooMuchWorkError(Exception):
    """The answers are too large to be held against their schemas."""


@dataclass(slots=True)
class Budget:
    """What is left of a request's work. All of its answers share it."""

    steps: int = STEPS
    schema_values: int = SCHEMA_VALUES
    answer_values: int = ANSWER_VALUES
    pattern_text: int = MAX_PATTERN_TEXT
    """Characters of patterns that may still be read and compiled."""
    patterns: dict[str, Any] = field(default_factory=dict)
    """Pattern -> the compiled pattern; ``None`` for one that is not run."""

    def spend(self, steps: int) -> None:
        """Takes the steps. Raises ``TooMuchWorkError`` if fewer are left."""
        self.steps -= steps
        if self.steps < 0:
            raise TooMuchWorkError

    def take_schema(self, schema: Any) -> bool:
        """Counts the values of a schema. Returns whether it is small enough to be used."""
        count = count_values(schema, self.schema_values)
        self.schema_values -= count or 0
        return count is not None

    def take_answer(self, answer: Any) -> None:
        """Counts the values of an answer. Raises ``TooMuchWorkError`` if it is too large."""
        count = count_values(answer, self.answer_values)
        if count is None:
            raise TooMuchWorkError
        self.answer_values -= count


def count_values(value: Any, most: int) -> int | None:
    """The number of values and keys in a JSON value.

    ``None`` if there are more than ``most``, if it is nested too deeply, or if it has a number that is too long.
    """
    count = 1
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for one in level:
            match one:
                case dict():
                    count += 2 * len(one)
                    below.append(one.values())
                case list():
                    count += len(one)
                    below.append(one)
                case int() if one.bit_length() > MAX_BITS:
                    return None
            if count > most:
                return None
        if not below:
            return count
        level = [item for items in below for item in items]
    return None
