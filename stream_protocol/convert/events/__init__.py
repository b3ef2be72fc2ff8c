"""The events that come in: who made one, and how a dictionary is read as one."""

from stream_protocol.convert.events._authors import USER, is_user_event
from stream_protocol.convert.events._event_dicts import EventOrDict, NotAnEventError, read_event, read_events
from stream_protocol.convert.events._live_events import is_live_sound, without_sound
from stream_protocol.convert.events._warnings import WarnOnce

__all__ = [
    "USER",
    "EventOrDict",
    "NotAnEventError",
    "WarnOnce",
    "is_live_sound",
    "is_user_event",
    "read_event",
    "read_events",
    "without_sound",
]
