"""Records conversations to files, loads them, and replays them.

    a run ---------> write: lines of JSON, without secrets
                       |
    other formats -> read: records --> turns --> replay: the stream, or the messages

``_front`` imports the public names at their first use, so that ``recording.read`` can be imported without ADK.

Where to change what:

- ``_replay``: the function ``replay``, and the option ``--to messages`` of the command ``replay``.
- ``_recording``: ``Recording`` and ``load_recording``.
- ``_pace``: the command-line option ``--pace``.
- ``_split_turns``: decides where a turn begins.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol.recording._front import *
    from stream_protocol.recording._front import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_front")
