"""ADK events -> UI message chunks. Reads ADK objects by attribute and imports none of ADK."""

from stream_protocol.convert._aggregates import compare, is_aggregate
from stream_protocol.convert._conversion import RUN_FAILED_TEXT, RUN_STOPPED_TEXT, Conversion, Ending
from stream_protocol.convert._converter import StreamProtocolConverter, call_ids, chunk_conversion, sse_conversion
from stream_protocol.convert._data_parts import DATA_WIDGET_PROVIDER
from stream_protocol.convert._delegations import find_task_agents
from stream_protocol.convert._endings import (
    ABORTED,
    DEFAULT_ERROR_TEXT,
    FINISH_REASONS,
    NO_CONTENT,
    UNEXPLAINED,
    AgentRunError,
    RunLimitError,
    reports_error,
    told_reason,
)
from stream_protocol.convert._function_responses import TOOL_FAILED_TEXT
from stream_protocol.convert._media import UNKNOWN_MEDIA_TYPE, ArtifactUrl
from stream_protocol.convert._options import (
    CONTROL_TOOLS,
    ConverterOptions,
    Settings,
    hide_tools,
    options_from_json,
    options_to_json,
)
from stream_protocol.convert._provider_tools import CODE_EXECUTION, ProviderCall, ProviderResult, provider_part
from stream_protocol.convert._steps import CALL_NOT_FINISHED_TEXT
from stream_protocol.convert._streamed_texts import PartKind, StreamedTexts
from stream_protocol.convert._streams import fail_response, iter_chunks, iter_sse, stream_chunks, stream_sse
from stream_protocol.convert.events import (
    USER,
    EventOrDict,
    NotAnEventError,
    WarnOnce,
    as_said,
    is_relayed,
    is_user_event,
    read_event,
    read_events,
    relay_marks,
    without_sound,
)

__all__ = [
    "ABORTED",
    "CALL_NOT_FINISHED_TEXT",
    "CODE_EXECUTION",
    "CONTROL_TOOLS",
    "DATA_WIDGET_PROVIDER",
    "DEFAULT_ERROR_TEXT",
    "FINISH_REASONS",
    "NO_CONTENT",
    "RUN_FAILED_TEXT",
    "RUN_STOPPED_TEXT",
    "TOOL_FAILED_TEXT",
    "UNEXPLAINED",
    "UNKNOWN_MEDIA_TYPE",
    "USER",
    "AgentRunError",
    "ArtifactUrl",
    "Conversion",
    "ConverterOptions",
    "Ending",
    "EventOrDict",
    "NotAnEventError",
    "PartKind",
    "ProviderCall",
    "ProviderResult",
    "RunLimitError",
    "Settings",
    "StreamProtocolConverter",
    "StreamedTexts",
    "WarnOnce",
    "as_said",
    "call_ids",
    "chunk_conversion",
    "compare",
    "fail_response",
    "find_task_agents",
    "hide_tools",
    "is_aggregate",
    "is_relayed",
    "is_user_event",
    "iter_chunks",
    "iter_sse",
    "options_from_json",
    "options_to_json",
    "provider_part",
    "read_event",
    "read_events",
    "relay_marks",
    "reports_error",
    "sse_conversion",
    "stream_chunks",
    "stream_sse",
    "told_reason",
    "without_sound",
]
