"""Writes conversations to files: recorders, the file format, redaction.

Where to change what:

- ``_recorder``, ``_record_events``: public ways to record.
- ``_turn_writer``, ``_recording_lines``: the file and its lines.
- ``_redaction``: decides which parts of a record are searched for secrets.
- ``_search``: searches keys and texts, and limits that work.
- ``_text_redaction``: ``redact_texts``, for names and other known texts.
- ``stream_protocol._secret_names``, ``_secret_texts``: the forms of secrets.
"""

from stream_protocol.recording.write._record_events import record
from stream_protocol.recording.write._recorder import ChatRecorder, FileRecorder, request_body
from stream_protocol.recording.write._recording_lines import end_line, event_json, header_line, turn_line, value_line
from stream_protocol.recording.write._redaction import Redact, redact_chunk, redact_event, redact_request
from stream_protocol.recording.write._text_redaction import redact_texts
