"""Every history that a test reads, judged by the real clients' own validation when the tests are over.

What ``validateUIMessages`` looks at is the shape of a message: which keys there are, their types, and the few values
that its schema names. Of each shape one message is kept, so that thousands of histories are one short Node process.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from stream_protocol.wire import UIMessage

_SCRIPT: Final = Path(__file__).parents[1] / "frontend-fixtures" / "scripts" / "validate-messages.mjs"

_NAMED: Final = frozenset({"type", "role", "state", "approved", "dynamic"})
"""Keys whose values the schema names."""

_ANYTHING: Final = frozenset({"input", "output", "data", "metadata", "rawInput"})
"""Keys whose values it takes as they are."""


class Histories:
    """The messages of histories, one of each shape."""

    def __init__(self) -> None:
        self._messages: dict[Any, UIMessage] = {}

    def add(self, messages: Iterable[UIMessage]) -> None:
        for message in messages:
            self._messages.setdefault(_shape(message), message)

    def refused(self, node: str) -> list[str]:
        """The reasons for which the clients refuse messages. ``node``: the path of Node."""
        asked = [{"ai": ai, "messages": [message]} for message in self._messages.values() for ai in (6, 7)]
        if not asked:
            return []
        run = subprocess.run(
            [node, _SCRIPT],
            input="\n".join(json.dumps(one, default=str) for one in asked),
            capture_output=True,
            text=True,
            check=True,
        )
        answers = map(json.loads, run.stdout.rstrip("\n").split("\n"))
        return [
            f"ai@{one['ai']} refuses {one['messages']}: {answer}"
            for one, answer in zip(asked, answers, strict=True)
            if answer
        ]


def _shape(value: Any, key: str = "") -> Any:
    if key in _NAMED:
        return value
    if isinstance(value, dict) and key not in _ANYTHING:
        return tuple((name, _shape(item, name)) for name, item in sorted(value.items()))
    if isinstance(value, list) and key not in _ANYTHING:
        return frozenset(_shape(item) for item in value)
    return type(value)
