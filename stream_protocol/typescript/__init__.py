"""Generates TypeScript types of an agent's chats, for ``adk-ui-stream types``. Importing this package loads ADK.

Where to change what:

- ``_agent_tools``: tools of an agent, and the JSON in which their outputs are sent.
- ``_wire_forms``: JSON of an output, by its return annotation.
- ``_schema_reader``: JSON Schema to types.
- ``_printing``: types to TypeScript and zod.
- ``_chat_types``: the sections of the file.
- ``_wire_types``: types of our metadata and ``data-adk-*`` parts.
"""

from stream_protocol.typescript._agent_tools import ToolsError
from stream_protocol.typescript._chat_types import chat_types, declared_page_values, declared_parts
