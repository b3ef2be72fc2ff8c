"""Recorded conversations: record them, load them, replay them.

The names of ``_recording_names`` are loaded when one is first asked for: reading a file, as the check of a stream does,
needs no ADK.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol.recording._recording_names import *
    from stream_protocol.recording._recording_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_recording_names")
