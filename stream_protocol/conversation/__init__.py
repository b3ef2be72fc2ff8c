"""A request and a stored session -> what to do next. Pure: no I/O, no clock, no random ids."""

from stream_protocol.conversation.canonical import canonical
from stream_protocol.conversation.history import session_to_messages
from stream_protocol.conversation.importing import messages_to_events
from stream_protocol.conversation.signatures import repair_thought_signatures

__all__ = ["canonical", "messages_to_events", "repair_thought_signatures", "session_to_messages"]
