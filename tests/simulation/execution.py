"""Executes a schedule with ``simulate``, in the same way each time."""

from __future__ import annotations

import gc
import logging
import uuid
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

from stream_protocol.serving.run_logs import _shared_run_log
from tests.simulation.deployment import Deployment
from tests.simulation.virtual_time import PROCESS, EndlessError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulation.schedule import Schedule
    from tests.simulation.seen import Seen


@contextmanager
def numbered_ids() -> Iterator[None]:
    """Replace random ids by numbers, so that each execution of a schedule has the same ids."""
    rng = Random("ids")

    def new() -> uuid.UUID:
        return uuid.UUID(int=rng.getrandbits(128), version=4)

    with patch("uuid.uuid4", new), patch.object(_shared_run_log, "uuid4", new):
        yield


class _StoryHandler(logging.Handler):
    """Log handler that adds the workers' log to the story."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__()
        self._deployment = deployment

    def emit(self, record: logging.LogRecord) -> None:
        process = PROCESS.get()
        text = record.getMessage()
        if record.exc_info:
            text += f" {record.exc_info[1]!r}"
        self._deployment.tell("?" if process is None else process.name, f"{record.levelname}: {text}")


@contextmanager
def _no_log() -> Iterator[None]:
    if (disabled := logging.root.manager.disable) >= logging.CRITICAL:
        yield
        return
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)


@contextmanager
def _told_log(deployment: Deployment) -> Iterator[None]:
    logger, handler, disabled = (
        logging.getLogger("stream_protocol"),
        _StoryHandler(deployment),
        logging.root.manager.disable,
    )
    level, propagates = logger.level, logger.propagate
    logging.disable(logging.NOTSET)
    logger.setLevel(logging.WARNING)  # the lines below have true times in them
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logging.disable(disabled)
        logger.setLevel(level)
        logger.propagate = propagates
        logger.removeHandler(handler)


def simulate(schedule: Schedule, *, tells: bool = False) -> Seen:
    """Execute a schedule, and return the observations. ``tells``: record the story, too."""
    deployment = Deployment(schedule, tells=tells)
    gc_was_enabled = gc.isenabled()
    gc.disable()  # a collection would end generators at a random moment
    try:
        with numbered_ids(), _told_log(deployment) if tells else _no_log():
            run(deployment.loop, deployment.execute(), deployment.bury())
    except EndlessError as endless:
        deployment.seen.problems.append(f"endless: {endless}")
    finally:
        if gc_was_enabled:
            gc.enable()
    deployment.seen.has_joined_events = deployment.server.has_joined_events
    return deployment.seen
