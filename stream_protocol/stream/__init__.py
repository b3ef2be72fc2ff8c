"""Facts -> UI message chunks: one machine for a live response, its continuation, a replay and history."""

from stream_protocol.stream._conversion import RUN_FAILED_TEXT, RUN_STOPPED_TEXT, Conversion, Ending
from stream_protocol.stream._converter import StreamProtocolConverter, call_ids, chunk_conversion, sse_conversion
from stream_protocol.stream._data_parts import DATA_WIDGET_PROVIDER
from stream_protocol.stream._endings import DEFAULT_ERROR_TEXT, AgentRunError, RunLimitError
from stream_protocol.stream._function_responses import TOOL_FAILED_TEXT
from stream_protocol.stream._media import UNKNOWN_MEDIA_TYPE, ArtifactUrl, DataUrl
from stream_protocol.stream._options import (
    CONTROL_TOOLS,
    ConverterOptions,
    Settings,
    hide_tools,
    options_from_json,
    options_to_json,
)
from stream_protocol.stream._steps import CALL_NOT_FINISHED_TEXT
from stream_protocol.stream._streams import fail_response, iter_chunks, iter_sse, stream_chunks, stream_sse
from stream_protocol.stream._unconfirmed import PartKind, StreamedPart, UnconfirmedStream
