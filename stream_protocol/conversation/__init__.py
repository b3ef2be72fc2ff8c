"""A request and a stored session -> what to do next. Pure: no I/O, no clock, no random ids."""

from stream_protocol.conversation.importing import messages_to_events
from stream_protocol.conversation.signatures import repair_thought_signatures

__all__ = ["messages_to_events", "repair_thought_signatures"]
