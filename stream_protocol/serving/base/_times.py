"""Provides ``ServiceTimes``: timeouts and intervals that apps cannot set."""

from dataclasses import dataclass, fields

from stream_protocol.wire import check_seconds


@dataclass(frozen=True, kw_only=True)
class ServiceTimes:
    """Timeouts and intervals of a service, in seconds. Apps cannot set them; tests use shorter times.

    Raises ``StreamProtocolError`` for a value that is not a number, or is negative.
    """

    stop: float = 5.0
    """The time that a stopped run has to end by itself. After this time, the run's task is cancelled."""
    first_reader: float = 5.0
    """The minimum time that a run waits for its first reader, the HTTP response to the request that started the run."""
    progress: float = 0.2
    """The minimum time between two progress reports of one tool call. Of the reports within this time, only the newest
    is sent."""
    reader_check: float = 1.0
    """The minimum time between two checks for clients that read the run at other workers."""
    completing: float = 0.5
    """The time between the first two attempts to store the end of a run. The attempts continue while the session store
    is unreachable."""
    max_completing: float = 4.0
    """The maximum time between two attempts to store the end of a run."""
    response_patience: float = 5.0
    """The time that a history request waits for free memory. So two tabs can load a large chat one after the other."""
    shutdown: float = 10.0
    """The time that ``aclose`` waits for stopped runs; must be longer than ``stop``. If the engine has not stored a
    stopped run by then, the run is cancelled, so that the chat can have another run.

    The engine also has this time to store a run's end. After this time, the attempt is repeated.
    """
    answering: float = 3.0
    """The time that ``aclose`` waits for unfinished requests before it closes the run log."""
    closing: float = 3.0
    """The time that ``aclose`` waits until the toolsets and plugins of the agent are closed."""
    drain_check: float = 0.05
    """The time between two checks while ``drain`` waits for runs and requests."""
    engine: float = 1.0
    """The time that a stop or a history request waits for the engine. After this time, the request proceeds without the
    engine."""
    look: float = 2.0
    """The time between two searches for orphaned runs, which are runs of dead workers."""
    forgetting: float = 0.2
    """The time between the first two attempts to delete an ended run from the engine's store."""
    max_forgetting: float = 5.0
    """The maximum time between two attempts to delete an ended run from the engine's store."""
    recovery_check: float = 0.2
    """The time between two checks while a client waits for the recovery of a run."""
    recovery: float = 30.0
    """The time that a reconnecting client waits until another worker recovers the run. The dead worker's lease, which
    is its right to execute the run, must expire first."""
    suspect: float = 30.0
    """The time that a busy worker waits before it recovers a run that may have crashed its workers. Idle workers can
    recover the run first."""
    alone: float = 10.0
    """The maximum time of each of two waits for a run that may crash its worker. First, new runs wait until the
    worker's other runs have ended. Then they wait while this run executes alone, because most such runs crash
    immediately."""

    readiness: float = 0.8
    """The time in which a store must respond to a readiness probe. Kubernetes allows one second for a probe."""
    readiness_cache: float = 1.0
    """The time that the result of a readiness probe is cached, which protects the stores from frequent probes."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_seconds(field.name, getattr(self, field.name), zero=True)


DEFAULT_TIMES = ServiceTimes()
