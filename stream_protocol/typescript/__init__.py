"""TypeScript types of a chat, from its agent: what ``adk-ui-stream types`` writes. Imports ADK."""

from stream_protocol.typescript._agent_tools import ToolsError
from stream_protocol.typescript._chat_types import chat_types, declared_parts
