"""The number of examples that a property is tried with."""

from typing import Final

from hypothesis import settings

IN_A_HUNT: Final = 100
IN_EACH_RUN: Final = 40
"""The same examples in each run, so that a failure is a regression. Hunts find new examples."""


def examples(in_a_hunt: int) -> settings:
    """Tries a property with this many examples in a hunt, and otherwise with the same fraction of them as all
    properties.
    """
    return settings(max_examples=in_a_hunt * settings().max_examples // IN_A_HUNT)
