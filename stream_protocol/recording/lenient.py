"""One event's JSON -> ``Event``, also if another version of ADK or google-genai wrote it.

ADK's and google-genai's models refuse keys that they do not know. An event with such a key is read without the key.
"""

import logging
from typing import Any, Final

from google.adk.events import Event
from pydantic import ValidationError

logger = logging.getLogger(__name__)

UNKNOWN_KEY: Final = "extra_forbidden"
"""pydantic's name for the error."""


class LenientReader:
    """Reads events and remembers which keys it has warned of."""

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def read(self, value: Any) -> Event:
        """The event. Raises ``ValidationError`` for what no unknown key explains. ``value`` may lose keys."""
        while True:
            try:
                return Event.model_validate(value)
            except ValidationError as error:
                unknown = [item["loc"] for item in error.errors(include_url=False) if item["type"] == UNKNOWN_KEY]
                if not sum(self._drop(value, path) for path in unknown):
                    raise

    def _drop(self, value: Any, path: tuple[int | str, ...]) -> bool:
        """Removes what lies at the path; ``False`` if nothing does."""
        for step in path[:-1]:
            value = _child(value, step)
        if not isinstance(value, dict) or path[-1] not in value:
            return False
        del value[path[-1]]
        name = ".".join(step for step in path if isinstance(step, str))
        if name not in self._warned:
            self._warned.add(name)
            logger.warning("Ignored the field %s, which the installed ADK does not know.", name)
        return True


def _child(value: Any, step: int | str) -> Any:
    """The value at one step of an error's path. The path says camelCase or snake_case, whatever the file says."""
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    if not isinstance(value, dict):
        return None
    return next((child for key, child in value.items() if _plain(key) == _plain(step)), None)


def _plain(key: str) -> str:
    return key.replace("_", "").lower()
