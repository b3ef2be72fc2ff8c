"""The events that come in: who made one, how a dictionary is read as one, and what a relayed one says."""

from stream_protocol.convert.events._authors import USER, is_user_event
from stream_protocol.convert.events._event_dicts import (
    EventOrDict,
    NotAnEventError,
    UnexpectedItemError,
    read_event,
    read_events,
)
from stream_protocol.convert.events._live_events import is_live_sound, without_sound
from stream_protocol.convert.events._relayed_events import DATA_TAGS, as_said, is_relayed, relay_marks
from stream_protocol.convert.events._warnings import WarnOnce

__all__ = [
    "DATA_TAGS",
    "USER",
    "EventOrDict",
    "NotAnEventError",
    "UnexpectedItemError",
    "WarnOnce",
    "as_said",
    "is_live_sound",
    "is_relayed",
    "is_user_event",
    "read_event",
    "read_events",
    "relay_marks",
    "without_sound",
]
