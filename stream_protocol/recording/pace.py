"""How fast a replay server lets its responses out: a ``float``, how many times as fast as they were recorded."""

from typing import Any, Final

import click

from stream_protocol.recording.replay_command import Pace

HELD: Final = 0.0
"""Each chunk waits until somebody releases it."""


class ServerPace(Pace):
    """A pace of ``replay``, or ``held``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """How much faster than recorded; 0 for ``held``."""
        if value in ("held", HELD):
            return HELD
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(
                f"{value!r} is neither instant, nor recorded, nor held, nor a factor such as 4 or 0.5", param, ctx
            )
