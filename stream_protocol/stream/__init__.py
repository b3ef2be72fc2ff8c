"""Convert ADK events to UI message chunks: for live responses, continued responses, replays and histories.

    an event, as ``EventFacts``
        |  EventWriter: finds the content that was not streamed before
    authors and their open parts         tool calls, each with a state
        |                                    |
        +------ Steps: begin, end -----------+
        |
    a sink: chunks, or SSE bytes         Conversion: start, and one of finish, fail, abort

Where to change what:

- ``_streams``: converts all events of a run to a stream of chunks or bytes.
- ``_conversion``: begins and ends a response; message metadata.
- ``_event_writer``: converts events to chunks: text, thoughts, files.
- ``_inner_agents``: shows an agent that runs inside a tool call, as the output of this call.
- ``_aggregates``: compares each complete event with the text that was streamed before, so that no text is sent twice.
- ``_media``: files.
- ``_sources``: sources and citations.
- ``_data_parts``: ``data-*`` parts and steering messages.
- ``_endings``: token usage, finish reasons, failures.
- ``_function_calls``: writes function calls and approval requests.
- ``_function_responses``: writes outputs of tools.
- ``calls``: the states and the chunks of tool calls.
- ``_nested_messages``: builds the message of an agent that runs inside a tool call.
- ``_steps``: begins and ends steps; adds an empty last step, so that clients do not repeat their requests.
- ``_speakers``: for each author, stores the open message part, and streamed parts until their complete event comes.
- ``_options``: options of the converter.
"""

from stream_protocol.stream._aggregates import PartKind
from stream_protocol.stream._conversion import (
    RUN_FAILED_TEXT,
    Conversion,
    Ending,
    StreamProtocolConverter,
    call_ids,
    chunk_conversion,
    sse_conversion,
)
from stream_protocol.stream._data_parts import DATA_WIDGET_PROVIDER, PROGRESS_PART
from stream_protocol.stream._endings import DEFAULT_ERROR_TEXT, AgentRunError, RunLimitError
from stream_protocol.stream._function_responses import TOOL_FAILED_TEXT
from stream_protocol.stream._media import ArtifactUrl, DataUrl, file_part
from stream_protocol.stream._nested_messages import UNANSWERED_TEXT
from stream_protocol.stream._options import (
    CONTROL_TOOLS,
    ConverterOptions,
    Settings,
    hide_task_agents,
    masked_error_text,
    options_from_json,
    options_to_json,
)
from stream_protocol.stream._speakers import InnerStreams, StreamedPart, UnconfirmedStream
from stream_protocol.stream._steps import CALL_NOT_FINISHED_TEXT
from stream_protocol.stream._streams import (
    fail_response,
    iter_chunks,
    iter_sse,
    iter_stored_sse,
    stream_chunks,
    stream_sse,
)
