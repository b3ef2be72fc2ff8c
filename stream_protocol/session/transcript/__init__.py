"""The one reading of a session's past: its exchanges, its calls, what is hidden, and what we keep on events.

Where to change what:

- ``_transcript``: the past of a chat: turns, responses, removed parts.
- ``_transcript_reader``: where messages and responses begin; message ids; rewinds.
- ``_exchange_calls``: calls of a session with their ids, and whether they have an answer.
- ``_first_reading``: events that are hidden, shown earlier than stored, or foreign.
- ``_metadata``: our metadata on stored events.
"""

from stream_protocol.session.transcript._exchange_calls import (
    HIDDEN_FROM_MODEL,
    CallReader,
    StoredCall,
    StoredResponse,
    external_calls,
    shown_facts,
)
from stream_protocol.session.transcript._first_reading import FirstReading, Omissions, PageOrder
from stream_protocol.session.transcript._metadata import (
    DETAILS_PREFIX,
    EVENT_INTERVAL,
    STATE_PREFIX,
    AcceptedMessage,
    EventMetadata,
    SentFile,
    TakenInMessage,
    is_appended,
    is_repeated_fragment,
    update_metadata,
)
from stream_protocol.session.transcript._transcript import Exchange, Transcript
from stream_protocol.session.transcript._transcript_reader import Place, TranscriptReader, message_id
