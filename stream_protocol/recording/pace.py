"""How fast a recorded response goes out."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """``speed``: how many times as fast as it was recorded; 0 holds every chunk until it is released, ``inf`` waits for
    nothing."""

    speed: float

    @property
    def holds(self) -> bool:
        """Whether nothing goes out by itself."""
        return self.speed == 0


def parse_pace(text: str) -> Pace:
    """The pace that ``instant``, ``recorded``, ``held`` or a number, the speed, stands for. Raises ``ValueError``."""
    match text:
        case "instant":
            return Pace(math.inf)
        case "recorded":
            return Pace(1)
        case "held":
            return Pace(0)
    speed = float(text)
    if not 0 < speed < math.inf:
        raise ValueError(text)
    return Pace(speed)
