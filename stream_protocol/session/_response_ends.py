"""Whether a stored response ended by itself, so that a retry of its request can be given it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.adk import Waiting, read
from stream_protocol.stream import Settings, chunk_conversion

if TYPE_CHECKING:
    from stream_protocol.adk import EventFacts
    from stream_protocol.session.transcript import Exchange, StoredCall


def ended_by_itself(exchange: Exchange) -> bool:
    """Whether the exchange's first response came to its end: no error, no stop, and its worker did not die.

    No event says that a run is over. So the newest event must be one after which an agent waits for the user, and no
    call may lack a result that its agent waits for.
    """
    first = [*map(read, exchange.first_response)]
    by_agent = [said for said in first if not said.by_user and said.shows_something]
    of_agent = {said.id for said in first}
    calls = [call for call in exchange.calls if call.event.id in of_agent]
    delegated = {said.scope for said in first}
    if not by_agent or not _waits_for_user(by_agent[-1]) or any(_lacks_result(call, delegated) for call in calls):
        return False
    conversion = chunk_conversion((), exchange.message_id, Settings(), exchange.call_ids)
    with conversion.warn.silenced():
        for said in first:
            conversion.feed(said.event)
        conversion.finish()
    return conversion.outcome == "finish"


def _waits_for_user(said: EventFacts) -> bool:
    only_streamed = said.is_fragment  # stored at the end of its run
    return only_streamed or said.is_final or said.reports_a(Waiting)


def _lacks_result(call: StoredCall, delegated: set[str | None]) -> bool:
    """``delegated``: the ids of calls that an agent in task mode works on: its result can come in a later message."""
    waits = call.call.kind is not None or call.has_placeholder or call.call.id in delegated
    return not (waits or call.responses)
