"""``ServiceTimes``: timeouts and intervals of a service that are not options of an app."""

from dataclasses import dataclass, fields

from stream_protocol.wire import check_seconds


@dataclass(frozen=True, kw_only=True)
class ServiceTimes:
    """Timeouts and intervals of a service, in seconds. The defaults suit every app; tests use shorter times.

    Raises ``StreamProtocolError`` for a value that is not a number, or is negative.
    """

    stop: float = 5.0
    """The time in which a stopped run can end by itself. After this time, its task is cancelled."""
    first_reader: float = 5.0
    """The minimum time that a run waits for its first reader: the HTTP response of the request that started it."""
    progress: float = 0.2
    """The minimum time between two sent progress reports of one call. Only the newest report in between is sent."""
    reader_check: float = 1.0
    """The minimum time between two checks for readers of a run on other workers."""
    completing: float = 0.5
    """The time between the first two attempts to store the end of a run, while the session store is unreachable."""
    max_completing: float = 4.0
    """The longest time between two later attempts to store the end of a run."""
    response_patience: float = 5.0
    """The time for which a history request waits for memory. Two tabs that open a large chat are served in turn."""
    shutdown: float = 10.0
    """The time for which ``aclose`` waits for stopped runs, longer than ``stop``.

    A stopped run that the engine does not record within this time frees its chat. A call of the engine that ends a run
    is repeated after this time.
    """
    answering: float = 3.0
    """The time for which ``aclose`` waits for open requests before it closes the run log."""
    closing: float = 3.0
    """The time for which ``aclose`` waits for the toolsets and plugins of the agent."""
    drain_check: float = 0.05
    """The time between two checks of ``drain`` for runs and requests."""
    engine: float = 1.0
    """The time for which a stop and a history request wait for the engine.

    After this time, they proceed without the engine.
    """
    look: float = 2.0
    """The time between two searches for orphaned runs."""
    forgetting: float = 0.2
    """The time between the first two attempts to delete the record of an ended run from the engine."""
    max_forgetting: float = 5.0
    """The longest time between two later attempts to delete the record."""
    recovery_check: float = 0.2
    """The time between two checks for the recovery of a run."""
    recovery: float = 30.0
    """The time for which a client that resumes waits for the recovery of a run. The run's lease must expire first."""
    suspect: float = 30.0
    """The time for which a worker with other runs leaves a suspect to idle workers. A suspect is a run that may have
    crashed its workers."""
    alone: float = 10.0
    """The time for which new runs wait for a suspect. They wait this time twice: until the worker is idle, and while
    the suspect runs. Most runs that crash their worker crash it at once.
    """

    readiness: float = 0.8
    """The time in which a store must respond to a readiness probe. Kubernetes allows one second for a probe."""
    readiness_cache: float = 1.0
    """The time for which the result of a readiness probe is cached, so that frequent probes do not load the stores."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_seconds(field.name, getattr(self, field.name), zero=True)


DEFAULT_TIMES = ServiceTimes()
