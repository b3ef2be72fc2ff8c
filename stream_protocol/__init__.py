"""Convert Google ADK events to AI SDK UI message streams.

Importing this package loads only ``_lazy_front``, because the import of any subpackage also imports this package.
``_public_names`` lists the public names, and is loaded at the first access to one of them. No public name loads ADK,
pydantic or Starlette. ``stream_protocol.serving`` loads all three.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol._public_names import *
    from stream_protocol._public_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_public_names")
