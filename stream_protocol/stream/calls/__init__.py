"""The tool calls of an assistant message, and the chunks that show them in the client.

Where to change what:

- ``_registry``: stores the tool calls of a message, and finds the call of a streamed fragment.
- ``_call_states``: the states of a call, and a table of all transitions.
- ``_tool_call``: writes the chunks of a call, and the provider metadata of parts.
- ``_streamed_arguments``: converts streamed arguments to JSON text.
- ``_argument_paths``: finds the tool of a streamed call that has no name yet.
"""

from stream_protocol.stream.calls._call_states import CallState
from stream_protocol.stream.calls._registry import CallRegistry
from stream_protocol.stream.calls._tool_call import ToolCall, provider_metadata
