"""When the events of a turn came, in seconds from its beginning."""

from stream_protocol.recording._responses import Moment


class Times:
    """The clock of one turn. ``told``: the recording has the turn's beginning and counts from there."""

    def __init__(self, *, told: bool) -> None:
        self._begin: float | None = 0.0 if told else None
        self._newest = 0.0

    def of(self, moment: Moment) -> float | None:
        """When the next event came; never before the one in front of it. ``None`` if nobody recorded that."""
        if moment.at is None:
            return None
        if self._begin is None:
            self._begin = moment.at
        self._newest = max(self._newest, moment.at - self._begin)
        return self._newest
