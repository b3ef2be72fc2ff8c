"""``--pace``: how fast a replay is, as a ``float``: how many times as fast as it was recorded."""

import math
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    FloatParam = click.ParamType[float]
else:
    FloatParam = click.ParamType  # generic for type checkers alone, before click 8.4

_NAMED: Final = {"instant": math.inf, "recorded": 1.0}


class Pace(FloatParam):
    """``instant``, ``recorded`` or a factor: 4, 4x, 0.5."""

    name = "pace"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """How much faster than recorded; infinite for ``instant``."""
        if isinstance(value, float):
            return value
        try:
            speed = _NAMED[value] if value in _NAMED else float(str(value).removesuffix("x"))
        except ValueError:
            speed = math.nan
        if not speed > 0 or (speed == math.inf and value != "instant"):
            self.fail(f"{value!r} is neither instant, nor recorded, nor a factor such as 4 or 0.5", param, ctx)
        return speed


class ServerPace(Pace):
    """A pace of ``replay``, or ``held``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """How much faster than recorded; 0 for ``held``."""
        if value in ("held", 0.0):
            return 0.0
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(
                f"{value!r} is neither instant, nor recorded, nor held, nor a factor such as 4 or 0.5", param, ctx
            )
