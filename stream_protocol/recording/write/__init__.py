"""Writes conversations to files: recorders, the format of the file, redaction.

Where to change what:

- ``_redaction``: removes secrets.
- ``_search``: limits the work of that.
"""

from stream_protocol.recording.write._event_json import event_json
from stream_protocol.recording.write._record_events import record
from stream_protocol.recording.write._recorder import ChatRecorder, FileRecorder, request_body
from stream_protocol.recording.write._recording_lines import end_line, header_line, turn_line, value_line
from stream_protocol.recording.write._redaction import Redact, redact_chunk, redact_event, redact_request
from stream_protocol.recording.write._text_redaction import redact_texts
