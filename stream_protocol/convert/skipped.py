"""What this version does not know is skipped, and said once."""

import logging

logger = logging.getLogger(__name__)


class Skipped:
    """Logs each kind of thing that was skipped the first time it comes."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def add(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            logger.warning("skipped %s", what)
