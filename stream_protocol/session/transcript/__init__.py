"""Reads a session from its stored events: turns, calls, hidden events, and this library's metadata.

Where to change what:

- ``_transcript``: the turns, responses and steering messages of a chat.
- ``_transcript_reader``: orders the events, finds hidden and removed events, and assigns events to messages and
  responses.
- ``_turn_calls``: the tool calls of a turn, with their ids and answers.
- ``_version_tree``: lists all versions of each message, and finds the rewind that restores a version.
- ``_metadata``: this library's metadata on stored events.
- ``_awaited_calls``: stores a list of the calls that wait for the client in the session's state.
"""

from stream_protocol.session.transcript._awaited_calls import AWAITED_KEY, has_awaited, update_awaited
from stream_protocol.session.transcript._metadata import (
    DETAILS_PREFIX,
    EVENT_INTERVAL,
    STATE_PREFIX,
    AcceptedMessage,
    EventMetadata,
    RunMark,
    SentFile,
    TakenInMessage,
    is_appended,
    is_repeated_fragment,
    stored_error_text,
    update_metadata,
)
from stream_protocol.session.transcript._transcript import Transcript, Turn
from stream_protocol.session.transcript._transcript_reader import (
    EventRole,
    FirstReading,
    HiddenEvents,
    TranscriptReader,
    message_id,
)
from stream_protocol.session.transcript._turn_calls import (
    HIDDEN_FROM_MODEL,
    CallReader,
    StoredCall,
    StoredResponse,
    external_calls,
    shown_facts,
    user_decisions,
)
from stream_protocol.session.transcript._version_tree import (
    MessageVersions,
    message_versions,
    rewind_to_choose,
)
