"""Shows each ADK event next to its chunks, for developers. An app must enable the Inspector.

``Inspector`` is a recorder that keeps the newest turns in memory. A turn is a request with its events and chunks. The
routes of ``inspector_routes`` send the turns to the user of the chat. The Inspector's page also shows a recording or a
captured stream that the user drops on the page. Importing this package loads ADK and Starlette.

Where to change what:

- ``_inspector``: keeps the turns of live chats.
- ``_run_observer``: prompts, times and tokens of model calls, and exceptions of runs.
- ``_dropped_file``: converts files that a user drops on the page.
- ``_replayed_chats``: chats of a replay server.
- ``_pytest_text``: the test that the page offers for a chat.
- ``_inspector_endpoints``: responses of the routes. The frontend is in ``server/page/src/inspector``.
"""

from stream_protocol.inspector._inspector import Inspector
from stream_protocol.inspector._inspector_endpoints import MAX_FILE_BYTES
from stream_protocol.inspector._inspector_routes import inspector_routes, replay_inspector_routes
from stream_protocol.inspector._replayed_chats import InspectedChats

__all__ = ["MAX_FILE_BYTES", "InspectedChats", "Inspector", "inspector_routes", "replay_inspector_routes"]
