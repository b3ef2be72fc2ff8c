"""A stored session: its turns, its pending calls, what a request asks of it, and its history.

    stored events -> Transcript: turns, calls, what is hidden
                       |                    |
    a request -> plan: NewUserTurn,       history: a converter folds each turn
                 AnsweredCalls or
                 NothingToRun
                       |
                 the input of a run -> its output -> events that complete the session

Pure: no I/O, no clock. Read first the package ``transcript``: ``_transcript_reader`` and ``_metadata``, then
``_transcript`` and ``_turn_calls``. Then read ``_files`` and ``_user_message``, ``_planning`` (plans a request) and
``_run_input`` (the input for ADK). Last come ``_folded_responses``, ``_history`` and ``_interrupted_runs``.

Where to change what:

- ``_page_values``: context and state that the page sends, and the types that the app declares.
- ``_planning``: decides what a request may do.
- ``_taken_back``: a new message: what an edit, another answer or a shortened history takes back.
- ``_stored_responses``: retries: decides whether they get the stored response.
- ``_request_plans``: the results of planning.
- ``_submitted_answers``: matches approvals and answers with open calls; 409.
- ``_answer_checks``: checks answers.
- ``_schema_checks``: checks them against schemas.
- ``_schema_costs``: limits the work of that.
- ``_idempotency_key``: recognises equal requests.
- ``_decisions``: decisions for the audit trail.
- ``_history``: ``GET /api/chat/{id}`` and ``session_to_messages``.
- ``_folded_responses``: folds responses into their messages; late results; closes calls that nobody can answer.
- ``_run_output``: text to store after a run.
- ``_interrupted_runs``: closes calls of stopped or failed runs; events of failed tools.
- ``_storable_events``: makes values storable: ``null`` keys, refusals.
- ``_run_input``: input for ADK; answers to parallel agents.
- ``_client_history``: chats whose client brings the history.
- ``_importing``: messages from other databases.
- ``_files``: accepts or refuses attached files.
- ``_user_message``: the user message; files in an edit.
- ``_versions``: earlier versions of messages, and the rewind that chooses one.
"""

from stream_protocol.adk import METADATA_KEY
from stream_protocol.session._answer_checks import CREDENTIAL_PROVIDED
from stream_protocol.session._client_history import HistoryMode, restore_client_history
from stream_protocol.session._decisions import AttemptedDecisions, Decision, attempted_decisions
from stream_protocol.session._files import MEDIA_TYPE_PATTERN, FilePolicy, InlineFile, SavedFile, TextOrFile, read_file
from stream_protocol.session._folded_responses import PageMessages, fold_response
from stream_protocol.session._history import session_to_messages, transcript_to_messages
from stream_protocol.session._idempotency_key import idempotency_key
from stream_protocol.session._importing import messages_to_events
from stream_protocol.session._interrupted_runs import completing_events, tool_failure_events
from stream_protocol.session._page_values import (
    CONTEXT_KEY,
    MAX_STATE_BYTES,
    STATE_KEY,
    PageContext,
    SharedState,
    context_content,
)
from stream_protocol.session._planning import plan
from stream_protocol.session._recorded_words import recorded_words, words_from_record
from stream_protocol.session._request_plans import AnsweredCalls, CallAnswer, NewUserTurn, NothingToRun, RequestPlan
from stream_protocol.session._requested_events import as_requested
from stream_protocol.session._run_input import (
    RunInput,
    denial_events,
    events_before_words,
    responses_missing_for_model,
    run_config_for_turn,
    run_inputs,
)
from stream_protocol.session._run_output import RunOutput, for_page_alone, unshown_events
from stream_protocol.session._storable_events import make_storable, storable_json, storable_state
from stream_protocol.session._taken_back import HistoryCut
from stream_protocol.session._thought_signatures import repair_thought_signatures
from stream_protocol.session._user_message import artifact_path, steering_content, user_message
from stream_protocol.session._versions import MessageVersions, message_versions, rewind_to_choose
from stream_protocol.session.transcript import (
    DETAILS_PREFIX,
    STATE_PREFIX,
    CallReader,
    DisplayOrder,
    EventRole,
    FirstReading,
    HiddenEvents,
    StoredCall,
    Transcript,
    TranscriptReader,
    Turn,
    external_calls,
    is_appended,
    is_repeated_fragment,
    message_id,
    shown_facts,
)

# The public API. The other names are the interface for the packages of ``stream_protocol``, and may change at any time.
__all__ = ["messages_to_events", "repair_thought_signatures", "session_to_messages"]
