"""Collects every history in a test. After the tests, the real clients validate them.

``validateUIMessages`` checks the shape of a message: its keys, their types, and the few values in its schema. So one
message of each shape is enough, and thousands of histories need only one short Node process.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from stream_protocol.wire import UIMessage

_SCRIPT: Final = Path(__file__).parents[1] / "frontend-fixtures" / "scripts" / "validate-messages.mjs"

_NAMED: Final = frozenset({"type", "role", "state", "approved", "dynamic"})
"""Keys whose values the schema lists."""

_ANYTHING: Final = frozenset({"input", "output", "data", "metadata", "rawInput"})
"""Keys whose values the schema does not check."""


_ONLY_V7: Final = frozenset({"steering-message"})
"""Types of parts that v6 refuses. Only histories with ``ai_sdk=7`` have them."""


class Histories:
    """Messages of histories, one of each shape."""

    def __init__(self) -> None:
        self._messages: dict[Any, UIMessage] = {}

    def add(self, messages: Iterable[UIMessage]) -> None:
        for message in messages:
            self._messages.setdefault(_shape(message), message)

    def refused(self, node: str) -> list[str]:
        """Return the clients' reasons for refused messages. ``node``: path of Node."""
        asked = [
            {"ai": ai, "messages": [message]}
            for message in self._messages.values()
            for ai in ((7,) if _ONLY_V7 & {part["type"] for part in message["parts"]} else (6, 7))
        ]
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


@contextmanager
def collected_histories() -> Iterator[Histories]:
    """Collect the histories that the package makes during the block."""
    from stream_protocol.session import PageMessages  # noqa: PLC0415  # ADK, for which xdist's own process need not wait

    histories = Histories()
    make = PageMessages.messages

    def recorded(page: PageMessages, **options: Any) -> list[UIMessage]:
        messages = make(page, **options)
        histories.add(messages)
        return messages

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PageMessages, "messages", recorded)
        yield histories


def _shape(value: Any, key: str = "") -> Any:
    if key in _NAMED:
        return value
    if isinstance(value, dict) and key not in _ANYTHING:
        return tuple((name, _shape(item, name)) for name, item in sorted(value.items()))
    if isinstance(value, list) and key not in _ANYTHING:
        return frozenset(_shape(item) for item in value)
    return type(value)
