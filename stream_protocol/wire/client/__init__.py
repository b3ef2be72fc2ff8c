"""A copy of the AI SDK's client: it reads a stream, checks each chunk, folds a message, and may send it again.

Where to change what:

- ``_reducer``: folds chunks, and raises where the client fails.
- ``_tool_parts``: folds tool calls.
- ``_auto_send``: decides whether the client sends again.
"""

from stream_protocol.wire.client._auto_send import auto_send_helper, is_sent_again
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
