"""The one reading of a session's past: its exchanges, its calls, what is hidden, and what we keep on events."""

from stream_protocol.session.transcript._beginnings import BeginningFinder, shows_something
from stream_protocol.session.transcript._exchange_calls import CallReader, StoredCall, StoredResponse
from stream_protocol.session.transcript._external_calls import HIDDEN_FROM_MODEL, ExternalCall, external_calls
from stream_protocol.session.transcript._metadata import (
    DETAILS_PREFIX,
    EVENT_INTERVAL,
    METADATA_KEY,
    STATE_PREFIX,
    EventMetadata,
    SentFile,
    is_repeated_fragment,
    shown_event,
    update_metadata,
)
from stream_protocol.session.transcript._omissions import OmissionFinder, Omissions, PageOrder
from stream_protocol.session.transcript._transcript import Exchange, Transcript
from stream_protocol.session.transcript._transcript_reader import Place, TranscriptReader, is_user_message, message_id
from stream_protocol.session.transcript._user_speech import readable_event

__all__ = [
    "DETAILS_PREFIX",
    "EVENT_INTERVAL",
    "HIDDEN_FROM_MODEL",
    "METADATA_KEY",
    "STATE_PREFIX",
    "BeginningFinder",
    "CallReader",
    "EventMetadata",
    "Exchange",
    "ExternalCall",
    "OmissionFinder",
    "Omissions",
    "PageOrder",
    "Place",
    "SentFile",
    "StoredCall",
    "StoredResponse",
    "Transcript",
    "TranscriptReader",
    "external_calls",
    "is_repeated_fragment",
    "is_user_message",
    "message_id",
    "readable_event",
    "shown_event",
    "shows_something",
    "update_metadata",
]
