"""Generates the TypeScript types of an agent's chats, for ``adk-ui-stream types``. Importing this package loads ADK.

Where to change what:

- ``_agent_tools``: the tools of an agent, with schemas of their inputs and outputs.
- ``_wire_forms``: converts Python types to JSON schemas. They describe the values that the client gets.
- ``_schema_reader``: converts JSON schemas to types.
- ``_printing``: prints types as TypeScript and zod schemas.
- ``_chat_types``: the sections of the generated file.
- ``_wire_types``: types of this library's metadata and ``data-adk-*`` parts.
"""

from stream_protocol.typescript._agent_tools import ToolsError
from stream_protocol.typescript._chat_types import chat_types, declared_page_values, declared_parts
