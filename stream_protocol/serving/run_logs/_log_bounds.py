"""``LogBounds``: how large the log of one response may become, and how many may read it."""

from dataclasses import dataclass

from stream_protocol.wire import check_count, check_instance


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """The bounds of one response's log: its size, and its readers. Sizes are bytes.

    Raises ``StreamProtocolError`` for other values than whole numbers: from 0, and for ``max_readers`` from 1.
    """

    coalesce_above: int = 2**20
    """In a larger log, text deltas that every reader has received are joined. Nothing is lost."""
    max_size: int = 64 * 2**20
    """A response that is larger after joining ends in an error."""
    max_backlog: int = 16 * 2**20
    """A reader with more unread data is disconnected. A late reader may have the existing log unread, plus this size.
    An event counts with at most 64 KiB. The events of the last ``append`` do not count."""
    max_readers: int = 32
    """Readers of a run in one worker. A further reader replaces the reader with the most unread data, or else the
    oldest, so a reloaded page can always read."""

    def __post_init__(self) -> None:
        check_count("coalesce_above", self.coalesce_above, minimum=0)
        check_count("max_size", self.max_size, minimum=0)
        check_count("max_backlog", self.max_backlog, minimum=0)
        check_count("max_readers", self.max_readers)


def check_bounds(bounds: object) -> None:
    """Raises ``InvalidArgumentError`` unless these are the bounds of a log, or ``None``."""
    check_instance("bounds", bounds, LogBounds, "a LogBounds", or_none=True)
