"""Extension of Griffe that writes the defaults of options into the reference.

``unpack_typeddict`` turns options into parameters with the default ``...``, because a ``TypedDict`` has no defaults.
"""

from typing import Any, Final

import griffe

from stream_protocol.serving.http._routes import DEFAULTS as ROUTE_DEFAULTS
from stream_protocol.serving.requests._service_options import DEFAULTS as SERVICE_DEFAULTS
from stream_protocol.stream._options import DEFAULTS as CONVERTER_DEFAULTS

DEFAULTS: Final[dict[str, Any]] = {**CONVERTER_DEFAULTS, **SERVICE_DEFAULTS, **ROUTE_DEFAULTS}
"""Default of each option that is not required."""

_UNKNOWN: Final = "..."


class Defaults(griffe.Extension):
    """Extension that replaces the default ``...`` by the default of the option."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Set the defaults in the signature, and in the table of the parameters."""
        for parameter in func.parameters:
            if parameter.default == _UNKNOWN and parameter.name in DEFAULTS:
                parameter.default = default_text(parameter.name)
        for section in func.docstring.parsed if func.docstring else ():
            if isinstance(section, griffe.DocstringSectionParameters):
                for documented in section.value:
                    if documented.value == _UNKNOWN:
                        documented.value = default_text(documented.name) if documented.name in DEFAULTS else "optional"


def default_text(name: str) -> str:
    """Return the default of an option in Python, or the name of the function that is the default."""
    value = DEFAULTS[name]
    return value.__name__ if callable(value) else repr(value)
