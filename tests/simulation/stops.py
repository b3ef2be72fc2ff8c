"""Rules for the effect of a stop: the runs that it ends, and the time when a worker must know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.simulation.network import Outage
from tests.simulation.schedule import LEASE, FailOver, Pause

if TYPE_CHECKING:
    from tests.simulation.seen import StopRequest
    from tests.simulation.views import Case

AT_ONCE: Final = 0.1
"""Seconds in which a stop reaches another worker while all is well."""


def is_meant(case: Case, stop: StopRequest, message: str, at: float) -> bool:
    """True if the stop applies to the tool or model call that began at the time ``at``.

    ``message``: the user message to which the call belongs. A stop applies to requests that were accepted before it.
    Without a fault, it also applies to requests that wait for the chat. It does not apply to a message that was sent
    again after the stop. It does not apply to an approval that was accepted only after the stop.
    """
    accepted = case.accepted(message) or case.delivered(message)
    sent = min((each.begun for each in case.seen.responses if each.words == message), default=at)
    waits = case.is_calm and sent < stop.begun - AT_ONCE
    if not waits and (accepted is None or accepted >= stop.begun):
        return False
    return not any(
        response.words == message
        and response.begun <= at
        and (response.begun if response.kind == "words" else response.answered or at) >= stop.begun
        for response in case.seen.responses
    )


def known_at(case: Case, stop: StopRequest, worker: int) -> float:
    """Return when this worker must know of a stop: at once, or a lease after the faults that hide the stop."""
    assert stop.acknowledged is not None
    if case.is_calm:
        return stop.acknowledged + AT_ONCE
    known = stop.acknowledged
    for fault in case.faults:
        if isinstance(fault, (Pause, Outage)) and fault.worker in {None, worker} and fault.at <= known + LEASE:
            known = max(known, fault.at + fault.seconds)
    return known + LEASE


def is_forgotten(case: Case, stop: StopRequest) -> bool:
    """True if a fail-over may have forgotten the stop.

    It came early after the stop, and the worker that repeats the stop for one lease had a fault, too.
    """
    until = (stop.acknowledged or 0) + LEASE
    fail_overs = [fault for fault in case.faults if isinstance(fault, FailOver) and stop.begun <= fault.at <= until]
    return bool(fail_overs) and any(
        fault not in fail_overs[:1] and getattr(fault, "worker", None) in {None, stop.worker} for fault in case.faults
    )
