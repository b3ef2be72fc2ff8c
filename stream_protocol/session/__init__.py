"""A stored session: its exchanges, what waits in it, what a request asks of it, and its history.

Pure: no I/O, no clock, no random ids.
"""

from stream_protocol.session._answer_checks import PROVIDED
from stream_protocol.session._canonical import canonical
from stream_protocol.session._client_history import HistoryMode, restore
from stream_protocol.session._exchanges import is_shown, is_user_text, is_users, live_events, message_id
from stream_protocol.session._file_policy import FilePolicy
from stream_protocol.session._files import MEDIA_TYPE, InlineFile, Said, SavedFile, read_file
from stream_protocol.session._fingerprint import fingerprint
from stream_protocol.session._history import answered, folded, session_to_messages
from stream_protocol.session._importing import messages_to_events
from stream_protocol.session._interrupted_runs import Fragments, sealing_events
from stream_protocol.session._metadata import METADATA_KEY, shown_events
from stream_protocol.session._planning import AnsweredCalls, NewUserTurn, NothingToRun, plan
from stream_protocol.session._run_input import (
    answers_ahead,
    default_run_config,
    run_config_for,
    superseded,
    user_content,
)
from stream_protocol.session._saved_files import artifact_path
from stream_protocol.session._signatures import repair_thought_signatures
from stream_protocol.session._user_message import user_message

__all__ = [
    "MEDIA_TYPE",
    "METADATA_KEY",
    "PROVIDED",
    "AnsweredCalls",
    "FilePolicy",
    "Fragments",
    "HistoryMode",
    "InlineFile",
    "NewUserTurn",
    "NothingToRun",
    "Said",
    "SavedFile",
    "answered",
    "answers_ahead",
    "artifact_path",
    "canonical",
    "default_run_config",
    "fingerprint",
    "folded",
    "is_shown",
    "is_user_text",
    "is_users",
    "live_events",
    "message_id",
    "messages_to_events",
    "plan",
    "read_file",
    "repair_thought_signatures",
    "restore",
    "run_config_for",
    "sealing_events",
    "session_to_messages",
    "shown_events",
    "superseded",
    "user_content",
    "user_message",
]
