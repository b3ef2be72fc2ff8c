"""Tool calls of a message: the registry, their states, and streamed arguments.

Where to change what:

- ``_registry``: finds calls without ids.
- ``_call_states``: states of a call and their order, in one table.
- ``_tool_call``: the chunks of a call.
- ``_streamed_arguments``: arguments in pieces.
- ``_argument_paths``: finds the tool of a call without a name.
"""

from stream_protocol.stream.calls._call_states import CallState
from stream_protocol.stream.calls._registry import CallRegistry
from stream_protocol.stream.calls._tool_call import ToolCall
