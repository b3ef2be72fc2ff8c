"""For the code of agents: tools that run in the page, and data for it. Loads ADK, and no server."""

from stream_protocol.agents._agent_helpers import ClientTool, DataPart, client_tool, data_part, emit_data
from stream_protocol.agents._run_channel import RunChannel, open_channel, posted_event, run_channel, set_channel

__all__ = ["ClientTool", "DataPart", "client_tool", "data_part", "emit_data"]
