"""How a chat came to be: each ADK event beside the chunks that it became. For developers; off unless an app asks.

``Inspector`` is a recorder that keeps the newest turns in memory. ``inspector_routes`` shows them to their user, and
what is in a recording or a capture that somebody drops on the page. Importing this package loads ADK and Starlette.
"""

from stream_protocol.inspector._inspector import Inspector
from stream_protocol.inspector._inspector_endpoints import MAX_FILE_BYTES
from stream_protocol.inspector._inspector_routes import inspector_routes

__all__ = ["MAX_FILE_BYTES", "Inspector", "inspector_routes"]
