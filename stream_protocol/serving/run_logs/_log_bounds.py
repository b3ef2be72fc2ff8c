"""``LogBounds``: how large the log of one response may become, and how many may read it."""

from dataclasses import dataclass

from stream_protocol.wire import check_count, check_instance


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """The bounds of one response's log: its size, and its readers. Sizes are bytes.

    Raises ``StreamProtocolError`` for other values than whole numbers: from 0, and for ``max_readers`` from 1.
    """

    coalesce_above: int = 2**20
    """Above this size, text deltas that every reader has read are joined. Nothing is dropped."""
    max_size: int = 64 * 2**20
    """A response that is larger than this even after joining ends in an error."""
    max_backlog: int = 16 * 2**20
    """A reader that has more than this left to read is cut off. One that comes late may have as much left as there was
    when it came, and that much again. An event counts with at most 64 KiB: a large image is kept once for all readers.
    The events of the last ``append`` do not count."""
    max_readers: int = 32
    """The most readers at once, in one worker. One more takes the place of the one that has most left to read, or else
    of the oldest: a page that reloads gets in. A user has several tabs and devices, and a browser opens six connections
    to a server."""

    def __post_init__(self) -> None:
        check_count("coalesce_above", self.coalesce_above, minimum=0)
        check_count("max_size", self.max_size, minimum=0)
        check_count("max_backlog", self.max_backlog, minimum=0)
        check_count("max_readers", self.max_readers)


def check_bounds(bounds: object) -> None:
    """Raises ``InvalidArgumentError`` unless these are the bounds of a log, or ``None``."""
    check_instance("bounds", bounds, LogBounds, "a LogBounds", or_none=True)
