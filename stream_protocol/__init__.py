"""Convert Google ADK events to AI SDK UI message streams.

The import of any subpackage also imports this package, so this module loads only ``_lazy_front``. The first access to a
public name loads ``_public_names``. Of the public packages, only ``stream_protocol.serving`` loads ADK, pydantic and
Starlette.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol._public_names import *
    from stream_protocol._public_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_public_names")
