"""Helpers for the code of agents: client tools, data parts, progress reports, and texts for users.

The package does not import the server code of this library.
"""

from stream_protocol.agents._agent_helpers import ClientTool, DataPart, client_tool, data_part
from stream_protocol.agents._for_users import approval_note, declared_title, for_users
from stream_protocol.agents._run_channel import (
    RunChannel,
    enter_call,
    open_channel,
    posted_event,
    run_channel,
    set_channel,
)
from stream_protocol.agents._sent_data import emit_data, mcp_progress, report_progress

__all__ = [
    "ClientTool",
    "DataPart",
    "client_tool",
    "data_part",
    "emit_data",
    "for_users",
    "mcp_progress",
    "report_progress",
]
