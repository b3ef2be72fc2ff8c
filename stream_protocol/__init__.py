"""Convert Google ADK events to AI SDK UI message streams.

Importing this package loads no other module, because pytest imports it in every run for the plugin. ``_public_names``
lists the public names, and is loaded at the first access to one of them. No public name loads ADK, pydantic or
Starlette. ``stream_protocol.serving`` loads them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol._public_names import *
    from stream_protocol._public_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_public_names")
