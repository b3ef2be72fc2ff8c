"""A copy of the AI SDK's client. It reads a stream, checks each chunk, and builds the message that the user sees.

Where to change what:

- ``_sse_reader``: reads chunks from bytes.
- ``_chunk_schema``: checks chunks.
- ``_reducer``: applies chunks to a message, and raises the errors that the client would raise.
- ``_tool_parts``: applies chunks of tool calls.
- ``_auto_send``: predicts if a client automatically sends its last message again.
- ``_closing``: writes the end of a stream if the server process has died.
"""

from stream_protocol.wire.client._auto_send import auto_send_helper, is_sent_again, may_resend
from stream_protocol.wire.client._chunk_schema import Refusal, refusal
from stream_protocol.wire.client._closing import close_stream, closing_events
from stream_protocol.wire.client._message_chunks import message_to_chunks
from stream_protocol.wire.client._reducer import MessageReducer, reduce_chunks
from stream_protocol.wire.client._sse_reader import (
    Line,
    OverlongLineError,
    SseEvent,
    parse_sse,
    split_lines,
    sse_events,
)
from stream_protocol.wire.client._strict_keys import unknown_keys
from stream_protocol.wire.client._tool_parts import step_start
