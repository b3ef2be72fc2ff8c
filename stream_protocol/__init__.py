"""Convert Google ADK events to AI SDK UI message streams.

Python imports this module before any subpackage, so it must be fast. It loads ``_public_names`` only when a public name
is used. Only the names of ``stream_protocol.serving`` load ADK, pydantic and Starlette.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol._public_names import *
    from stream_protocol._public_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_public_names")
