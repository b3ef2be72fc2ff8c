"""Writes conversations to recording files, without secrets.

Where to change what:

- ``_recorder``, ``_record_events``: the public functions and classes.
- ``_turn_writer``, ``_recording_lines``: the file and its lines.
- ``_redaction``: selects the parts of a record that are searched for secrets.
- ``_search``: searches keys and texts for secrets, with limited work.
- ``_text_redaction``: ``redact_texts``, which removes names and other known texts.
- ``stream_protocol._secret_names``, ``_secret_texts``: recognize secrets.
"""

from stream_protocol.recording.write._record_events import record
from stream_protocol.recording.write._recorder import ChatRecorder, FileRecorder, request_body
from stream_protocol.recording.write._recording_lines import (
    end_line,
    event_json,
    header_line,
    model_json,
    turn_line,
    value_line,
)
from stream_protocol.recording.write._redaction import Redact, redact_chunk, redact_event, redact_prompt, redact_request
from stream_protocol.recording.write._text_redaction import redact_texts
