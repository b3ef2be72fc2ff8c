"""Generates TypeScript types of a chat from its agent, for ``adk-ui-stream types``. Imports ADK.

Where to change what:

- ``_agent_tools``: tools of an agent, and the form of their outputs.
- ``_wire_forms``: outputs by return annotation.
- ``_schema_reader``: reads JSON Schema.
- ``_printing``: prints TypeScript and zod.
- ``_chat_types``: puts the file together.
- ``_wire_types``: types of our metadata and ``data-adk-*`` parts.
"""

from stream_protocol.typescript._agent_tools import ToolsError
from stream_protocol.typescript._chat_types import chat_types, declared_page_values, declared_parts
