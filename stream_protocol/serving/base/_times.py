"""``ServiceTimes``: the seconds for which a service waits where its app has no option."""

from dataclasses import dataclass, fields

from stream_protocol.wire import check_seconds


@dataclass(frozen=True, kw_only=True)
class ServiceTimes:
    """Seconds. The defaults suit every app; a test takes shorter ones.

    Raises ``StreamProtocolError`` for a value that is not a number from 0.
    """

    stop: float = 5.0
    """A stopped run may take so long to end by itself before its task is cancelled."""
    first_reader: float = 5.0
    """The least time that a run waits for its first reader: the HTTP response of the request that started it."""
    progress: float = 0.2
    """Between two reports of one call's progress that are sent. The newest one waits."""
    reader_check: float = 1.0
    """The least time between two checks whether somebody reads a run through another worker."""
    completing: float = 0.5
    """Between the first two attempts to store the end of a run, while the session store is away."""
    max_completing: float = 4.0
    """Between two later attempts, at most."""
    response_patience: float = 5.0
    """A history waits so long for the memory of others: two tabs that open the same large chat get it in turn."""
    shutdown: float = 10.0
    """``aclose`` waits so long for stopped runs: longer than a stopped run may take before it is cancelled."""
    answering: float = 3.0
    """``aclose`` waits so long for requests that are being answered, before it closes the run log."""
    drain_check: float = 0.05
    """Between two looks of ``drain`` whether anything goes on."""
    engine: float = 1.0
    """A stop waits so long for the engine before it stops the run, and a history before it is read without."""
    look: float = 2.0
    """Between two looks for orphaned runs."""
    forgetting: float = 0.2
    """Between the first two attempts to have the engine forget a run."""
    max_forgetting: float = 5.0
    """Between two later attempts, at most."""
    recovery_check: float = 0.2
    """Between two looks whether a run has been recovered."""
    recovery: float = 30.0
    """A page that resumes waits so long for a run to be recovered: its lease must expire first."""
    suspect: float = 30.0
    """A worker that executes other runs leaves a suspect so long to workers that execute none."""
    alone: float = 10.0
    """New runs wait so long for a suspect: until the worker is empty, and as long again while the suspect is executed.
    Most runs that crash their worker do so at once."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_seconds(field.name, getattr(self, field.name), zero=True)


DEFAULT_TIMES = ServiceTimes()
