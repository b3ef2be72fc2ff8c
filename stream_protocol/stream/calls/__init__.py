"""Tool calls of a message.

Where to change what:

- ``_registry``: finds calls, including calls without ids.
- ``_call_states``: the states of a call and their order, in one table.
- ``_tool_call``: writes the chunks of a call; authors and thought signatures in the metadata of parts.
- ``_streamed_arguments``: converts arguments in pieces to JSON text.
- ``_argument_paths``: finds the tool of a call without a name.
"""

from stream_protocol.stream.calls._call_states import CallState
from stream_protocol.stream.calls._registry import CallRegistry
from stream_protocol.stream.calls._tool_call import ToolCall, provider_metadata
