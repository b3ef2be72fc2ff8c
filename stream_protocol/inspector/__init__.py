"""How a chat came to be: each ADK event beside the chunks that it became. For developers; off unless an app asks.

``Inspector`` is a recorder that keeps the newest turns in memory. ``inspector_routes`` shows them to their user, and
what is in a recording or a capture that somebody drops on the page. Importing this package loads ADK and Starlette.

Where to change what:

- ``_inspector``: keeps live chats.
- ``_dropped_file``: converts dropped files.
- ``_replayed_chats``: chats of a replay server.
- ``_pytest_text``: the copied test.
- ``_inspector_endpoints``: routes. The panel is in ``server/page/src/inspector``.
"""

from stream_protocol.inspector._inspector import Inspector
from stream_protocol.inspector._inspector_endpoints import MAX_FILE_BYTES
from stream_protocol.inspector._inspector_routes import inspector_routes, replay_inspector_routes
from stream_protocol.inspector._replayed_chats import InspectedChats

__all__ = ["MAX_FILE_BYTES", "InspectedChats", "Inspector", "inspector_routes", "replay_inspector_routes"]
