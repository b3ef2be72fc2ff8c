"""Shows each ADK event beside the chunks that were made from it. For developers; off unless an app enables it.

``Inspector`` is a recorder that stores the newest turns in memory. ``inspector_routes`` shows them to their user, and
also the content of a recording or a capture that is dropped on the page. Importing this package loads ADK and
Starlette.

Where to change what:

- ``_inspector``: stores live chats.
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
