"""A request and a stored session -> what to do next. Pure: no I/O, no clock, no random ids, no ADK import."""

from stream_protocol.conversation.canonical import canonical
from stream_protocol.conversation.history import session_to_messages

__all__ = ["canonical", "session_to_messages"]
