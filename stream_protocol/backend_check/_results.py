"""Checks, their results, and the exceptions that end a check early."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stream_protocol.backend_check._stock_client import Backend

PROFILES: Final = ("stream", "chat", "tools", "durable")
MISSING: Final = (404, 405, 501)
"""HTTP statuses of a route that the server does not have."""


class Outcome(StrEnum):
    """Outcome of a check."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_OFFERED = "not offered"


class NoBackendError(Exception):
    """No chat endpoint was found at the address. The message is one line."""


class BrokenError(Exception):
    """The server breaks the rule of a check.

    ``chunk``: the chunk that breaks the rule, if there is one. ``source``: source of the broken rule, if it differs
    from the source of the check.
    """

    def __init__(self, reason: str, *, chunk: Any = None, source: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.chunk = chunk
        self.source = source


class NotOfferedError(Exception):
    """The server does not have the feature. ``excused``: True if a server may claim the profile without it."""

    def __init__(self, reason: str, *, excused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.excused = excused


@dataclass(frozen=True, slots=True)
class Check:
    """A rule, its source, and the steps that test the rule.

    ``needs``: features of the backend that the steps test. The settings have prompts that make the backend use each
    feature.
    """

    name: str
    profile: str
    rule: str
    source: str
    needs: tuple[str, ...]
    steps: "Callable[[Backend], Awaitable[None]]"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one check. ``chunk``: the chunk that breaks the rule, if there is one."""

    check: Check
    outcome: Outcome
    reason: str = ""
    chunk: Any = None
    source: str = ""
    excused: bool = False
    """True if a server may claim the profile without this feature, such as one that the settings exclude."""
