"""Convert events to UI message chunks, for live responses, continued responses, replays and histories.

    an event, as ``EventFacts``
        |  EventWriter: finds what the event adds to the streamed parts
    authors and their open parts         calls: one state machine each
        |                                    |
        +------ Steps: begin, end -----------+
        |
    a sink: chunks, or SSE bytes         Conversion: start, and one of finish, fail, abort

Where to change what:

- ``_streams``: converts all events of a run to a stream of chunks or bytes.
- ``_conversion``: begins and ends a response; message metadata.
- ``_event_writer``: converts events to chunks: text, thoughts, files.
- ``_inner_agents``: finds the call inside which an agent runs, and shows the agent there.
- ``_aggregates``: finds the streamed text again in the complete event, so that it does not appear twice.
- ``_media``: files.
- ``_sources``: sources and citations.
- ``_data_parts``: ``data-*`` parts and steering messages.
- ``_endings``: token usage, finish reasons, failures.
- ``_function_calls``: writes function calls and approval requests. ``adk/_calls`` finds the tool call of a complete
  function call, and ``calls/_registry`` that of a streamed fragment.
- ``_function_responses``: writes outputs of tools. ``adk/_calls`` finds the tool call of each function response.
- ``calls``: the states and the chunks of tool calls.
- ``_nested_messages``: builds the message of an agent that runs inside a tool call.
- ``_steps``: begins and ends steps; adds an empty last step, so that clients do not send the answers again.
- ``_speakers``: the open part of each author, and streams that no complete event has repeated. Parallel agents are
  separate authors.
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
from stream_protocol.stream._streams import fail_response, iter_chunks, iter_sse, stream_chunks, stream_sse
