"""Records conversations to files, loads them, and replays them.

    a run ---------> write: lines of JSON, without secrets
                       |
    other formats -> read: records --> turns --> replay: the stream, or the messages

The public names are in ``_front``, which is imported when one of them is first used. So ``recording.read`` can be
imported without ADK.

Where to change what:

- ``_replay``: the functions that replay a recording as SSE events or as messages.
- ``_recording``: ``Recording`` and ``load_recording``.
- ``_pace``: waits between the events of a replay, for the command-line option ``--pace``.
- ``_split_turns``: decides where a turn begins.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol.recording._front import *
    from stream_protocol.recording._front import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_front")
