"""Google ADK events in, AI SDK UI message streams out.

Importing this package loads none of its modules, since every pytest run imports it with our plugin. The public names
are listed in ``_public_names`` and loaded when one is first asked for. None of them loads ADK, pydantic or Starlette;
``stream_protocol.serving`` does.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol._public_names import *
    from stream_protocol._public_names import __all__ as __all__
else:
    from stream_protocol._lazy_front import lazy_front

    __getattr__, __dir__ = lazy_front(__name__, "_public_names")
