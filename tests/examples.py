"""Number of examples of each property test."""

from typing import Final

from hypothesis import settings

IN_A_HUNT: Final = 100
IN_EACH_RUN: Final = 40
"""Examples of a property in a normal run, if a hunt has 100. They are the same in each run."""


def examples(in_a_hunt: int) -> settings:
    """Return settings with this number of examples for a hunt, which is a run with new random examples.

    Other runs have a fixed fraction of this number.
    """
    return settings(max_examples=in_a_hunt * settings().max_examples // IN_A_HUNT)
