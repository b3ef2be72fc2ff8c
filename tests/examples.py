"""The number of examples that a property is tried with."""

from typing import Final

from hypothesis import settings

IN_A_HUNT: Final = 100
IN_EACH_RUN: Final = 40
"""The same ones each time: what fails is what a change broke. To find new ones is for hunts."""


def examples(in_a_hunt: int) -> settings:
    """Tries a property with this many examples in a hunt, and with as large a part of them as all properties else."""
    return settings(max_examples=in_a_hunt * settings().max_examples // IN_A_HUNT)
