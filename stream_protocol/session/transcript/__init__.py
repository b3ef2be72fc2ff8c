"""The one reading of a session's past: its exchanges, its calls, what is hidden, and what we keep on events."""

from stream_protocol.session.transcript._exchange_calls import CallReader, StoredCall, StoredResponse
from stream_protocol.session.transcript._external_calls import HIDDEN_FROM_MODEL, ExternalCall, external_calls
from stream_protocol.session.transcript._metadata import (
    EVENT_INTERVAL,
    METADATA_KEY,
    STATE_PREFIX,
    EventMetadata,
    SentFile,
    shown_event,
    update_metadata,
)
from stream_protocol.session.transcript._omissions import OmissionFinder, Omissions
from stream_protocol.session.transcript._transcript import Exchange, Transcript
from stream_protocol.session.transcript._transcript_reader import Place, TranscriptReader, is_user_message, message_id

__all__ = [
    "EVENT_INTERVAL",
    "HIDDEN_FROM_MODEL",
    "METADATA_KEY",
    "STATE_PREFIX",
    "CallReader",
    "EventMetadata",
    "Exchange",
    "ExternalCall",
    "OmissionFinder",
    "Omissions",
    "Place",
    "SentFile",
    "StoredCall",
    "StoredResponse",
    "Transcript",
    "TranscriptReader",
    "external_calls",
    "is_user_message",
    "message_id",
    "shown_event",
    "update_metadata",
]
