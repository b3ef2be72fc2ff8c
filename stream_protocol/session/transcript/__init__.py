"""The one reading of a session's past: its turns, its calls, what is hidden, and what we keep on events.

Where to change what:

- ``_transcript``: the past of a chat: turns, responses, removed parts.
- ``_transcript_reader``: where messages and responses begin; message ids; rewinds.
- ``_turn_calls``: calls of a session with their ids, and whether they have an answer.
- ``_first_reading``: events that are hidden, shown earlier than stored, or foreign.
- ``_version_tree``: versions of the user's turns that rewinds took back.
- ``_metadata``: our metadata on stored events.
"""

from stream_protocol.session.transcript._first_reading import DisplayOrder, FirstReading, HiddenEvents
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
from stream_protocol.session.transcript._transcript import Transcript, Turn
from stream_protocol.session.transcript._transcript_reader import EventRole, TranscriptReader, message_id
from stream_protocol.session.transcript._turn_calls import (
    HIDDEN_FROM_MODEL,
    CallReader,
    StoredCall,
    StoredResponse,
    external_calls,
    shown_facts,
)
from stream_protocol.session.transcript._version_tree import VersionTree
