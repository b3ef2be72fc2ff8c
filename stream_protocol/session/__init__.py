"""Reads a stored session, builds its message history, and decides which run a request starts.

    stored events -> Transcript: turns, calls, hidden events
                       |                    |
    a request -> plan: NewUserTurn,       history: a converter turns each turn
                 AnsweredCalls or         into messages
                 NothingToRun
                       |
                 the input of a run -> its output -> events that complete the session

The package does no I/O and reads no clock. Suggested order of reading: ``transcript``, ``_planning``, ``_run_input``,
``_history``, ``_interrupted_runs``.

Where to change what:

- ``transcript``: reads a session from its stored events: turns, calls, hidden events, versions of messages.
- ``_page_values``: checks the client's context and state against the types that the app declares.
- ``_planning``: decides what the server runs for a request, or refuses the request.
- ``_edited_messages``: plans a user message, and finds the turns that an edit removes.
- ``_stored_responses``: recognizes repeated requests, and finds their stored responses.
- ``_seen_events``: finds the part of a message that a client has received.
- ``_request_plans``: the types of plans, and the user's decisions that the audit trail records.
- ``_submitted_answers``: finds the pending call for each of the user's answers, and validates the answers.
- ``_schema_checks``: checks user input against JSON schemas.
- ``_schema_costs``: limits the time of a schema check.
- ``_history``: builds the messages of ``GET /api/chat/{id}`` and ``session_to_messages``.
- ``_run_output``: finds text that a run has streamed, but ADK has not stored.
- ``_interrupted_runs``: creates the missing responses to calls after a stop, an error, or the failure of a tool.
- ``_storable_events``: replaces values that ADK's stores refuse or change.
- ``_run_input``: builds the input for ADK.
- ``_client_history``: reads chats whose client sends the history with each request.
- ``_importing``: converts UI messages to ADK events, for apps that have kept their chats in their own database.
- ``_files``: accepts or refuses attached files.
- ``_user_message``: converts a user message from one form to another. The forms are UI message, ADK event and stored
  record.
- ``_thought_signatures``: adds thought signatures that Gemini 3 requires.
"""

from stream_protocol.adk import CONTEXT_KEY, METADATA_KEY
from stream_protocol.session._client_history import HistoryMode, restore_client_history
from stream_protocol.session._edited_messages import TruncatedHistory
from stream_protocol.session._files import MEDIA_TYPE_PATTERN, FilePolicy, InlineFile, SavedFile, TextOrFile, read_file
from stream_protocol.session._history import PageMessages, fold_response, session_to_messages, transcript_to_messages
from stream_protocol.session._importing import messages_to_events
from stream_protocol.session._interrupted_runs import completing_events, stopped_responses, tool_failure_events
from stream_protocol.session._page_values import (
    MAX_STATE_BYTES,
    STATE_KEY,
    PageContext,
    SharedState,
    context_content,
    replace_context,
)
from stream_protocol.session._planning import plan
from stream_protocol.session._request_plans import (
    AnsweredCalls,
    AttemptedDecisions,
    CallAnswer,
    Decision,
    NewUserTurn,
    NothingToRun,
    RequestPlan,
    attempted_decisions,
)
from stream_protocol.session._run_input import (
    RunInput,
    denial_events,
    events_before_message,
    responses_missing_for_model,
    run_config_for_turn,
    run_inputs,
)
from stream_protocol.session._run_output import RunOutput, for_client_only, unfinished_events, unshown_events
from stream_protocol.session._seen_events import count_seen_events
from stream_protocol.session._storable_events import make_storable, storable_json, storable_state
from stream_protocol.session._stored_responses import idempotency_key
from stream_protocol.session._submitted_answers import CREDENTIAL_PROVIDED
from stream_protocol.session._thought_signatures import repair_thought_signatures
from stream_protocol.session._user_message import (
    artifact_path,
    content_from_record,
    record_content,
    steering_content,
    user_message,
)
from stream_protocol.session.transcript import (
    DETAILS_PREFIX,
    STATE_PREFIX,
    CallReader,
    EventMetadata,
    EventRole,
    FirstReading,
    HiddenEvents,
    MessageVersions,
    StoredCall,
    Transcript,
    TranscriptReader,
    Turn,
    external_calls,
    is_appended,
    is_repeated_fragment,
    message_id,
    message_versions,
    rewind_to_choose,
    shown_facts,
    update_metadata,
)

# The public API. The other names are for ``stream_protocol`` itself, and may change at any time.
__all__ = ["messages_to_events", "repair_thought_signatures", "session_to_messages"]
