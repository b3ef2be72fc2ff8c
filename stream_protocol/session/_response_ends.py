"""Whether a stored response ended by itself, so that a retry of its request can be given it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.adk import is_user_event
from stream_protocol.convert import Settings, chunk_conversion
from stream_protocol.session.transcript import shows_something

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.session.transcript import Exchange, StoredCall


def ended_by_itself(exchange: Exchange) -> bool:
    """Whether the exchange's first response came to its end: no error, no stop, and its worker did not die.

    No event says that a run is over. So the newest event must be one after which an agent waits for the user, and no
    call may lack a result that its agent waits for.
    """
    first = exchange.first_response
    said = [event for event in first if not is_user_event(event) and shows_something(event)]
    of_agent = {event.id for event in first}
    calls = [call for call in exchange.calls if call.event.id in of_agent]
    delegated = {event.isolation_scope for event in first}
    if not said or not _waits_for_user(said[-1]) or any(_lacks_result(call, delegated) for call in calls):
        return False
    conversion = chunk_conversion((), exchange.message_id, Settings(), exchange.call_ids)
    with conversion.warn.silenced():
        for event in first:
            conversion.feed(event)
        conversion.finish()
    return conversion.outcome == "finish"


def _waits_for_user(event: Event) -> bool:
    asked = event.actions.requested_tool_confirmations or event.actions.requested_auth_configs
    only_streamed = event.partial  # stored at the end of its run
    return bool(asked or only_streamed) or event.is_final_response()


def _lacks_result(call: StoredCall, delegated: set[str | None]) -> bool:
    """``delegated``: the ids of calls that an agent in task mode works on: its result can come in a later message."""
    waits = call.kind is not None or call.has_placeholder or call.call.id in delegated
    return not (waits or call.responses)
