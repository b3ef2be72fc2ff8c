"""Convert Google ADK events to AI SDK UI message streams.

Pytest imports this package in every run, for its plugin. So the import loads no other module. ``_public_names`` lists
the public names, and the first access to a name loads them. No public name loads ADK, pydantic or Starlette;
``stream_protocol.serving`` does.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol._public_names import *
    from stream_protocol._public_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_public_names")
