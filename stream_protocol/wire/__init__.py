"""The AI SDK's protocol: chunks, messages, server-sent events and JSON values. This package does not depend on ADK.

Where to change what:

- ``_chunks``: the chunk types and their keys.
- ``_sinks``: builds chunks, as dictionaries or bytes.
- ``_sse``: encodes chunks as server-sent events.
- ``_json_values``: converts Python values, such as a tool's result, to JSON.
- ``_value_size``: finds values that are too large.
- ``_arguments``: checks the arguments of public functions.
- ``_ui_messages``: the types of UI messages.
- ``_messages``: parses requests, and refuses invalid requests.
- ``_json_slices``: parses a large body in many short steps, with limits.
- ``client``: a copy of the AI SDK's client: its schema, reducer, partial JSON parser and auto-send helpers.
"""

from stream_protocol.wire._arguments import (
    MAX_SECONDS,
    argument_error,
    check_callable,
    check_choice,
    check_count,
    check_flag,
    check_header_name,
    check_instance,
    check_interface,
    check_iterable,
    check_mapping,
    check_number,
    check_option_names,
    check_path,
    check_pattern,
    check_seconds,
    check_text,
    check_texts,
    shown,
)
from stream_protocol.wire._chunks import (
    AI_SDK_VERSIONS,
    AiSdkVersion,
    AnyChunk,
    Chunk,
    DocumentSource,
    FinishReason,
    ProviderMetadata,
    TextCitation,
    UrlSource,
)
from stream_protocol.wire._client_versions import AiSdkOption, ClientVersion, client_version
from stream_protocol.wire._errors import ChatRequestError, ClientStreamError, InvalidArgumentError, StreamProtocolError
from stream_protocol.wire._forbidden_keys import CONSTRUCTOR, has_forbidden_key, safe_key
from stream_protocol.wire._joined_stream import JoinedStream
from stream_protocol.wire._json_parsing import parse_client_json, parse_json
from stream_protocol.wire._json_values import (
    MAX_DEPTH,
    SHORT_JSON_LENGTH,
    UnrepresentableValueError,
    is_instance,
    json_value,
    printable,
    short_json,
    storable_text,
    to_well_formed,
    whole_words,
)
from stream_protocol.wire._messages import (
    HINT,
    ChatRequest,
    parse_chat_id,
    parse_chat_request,
    parse_chat_request_in_slices,
    parse_message,
    parse_user_message_in_slices,
)
from stream_protocol.wire._sinks import (
    DELTA_KEYS,
    ChunkSink,
    DeltaWriter,
    Sink,
    SseSink,
    Transform,
    TransformedSink,
)
from stream_protocol.wire._sse import SSE_DONE, SSE_HEADERS, SSE_KEEP_ALIVE, encode_sse
from stream_protocol.wire._ui_messages import (
    RUN_STOPPED_TEXT,
    FilePart,
    TextPart,
    ToolPart,
    UIMessage,
    UIPart,
    is_nested_message,
    is_tool_part,
    tool_name,
    tool_result,
)
from stream_protocol.wire._value_size import is_too_large
