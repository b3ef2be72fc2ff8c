"""Results of checks, and the exceptions by which a check ends early."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stream_protocol.backend_check._stock_client import Backend

PROFILES: Final = ("stream", "chat", "tools", "durable")


class Outcome(StrEnum):
    """The outcome of a check."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_OFFERED = "not offered"


class NoBackendError(Exception):
    """There is nothing to check at the address. The message is one line."""


class BrokenError(Exception):
    """The server breaks the rule. ``source``: that of the rule, if it is not the check's own."""

    def __init__(self, reason: str, *, chunk: Any = None, source: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.chunk = chunk
        self.source = source


class NotOfferedError(Exception):
    """The server does not have the feature."""

    def __init__(self, reason: str, *, declared: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.declared = declared


@dataclass(frozen=True, slots=True)
class Check:
    """A rule, and the steps that try it. ``needs``: the settings without which it cannot be tried."""

    name: str
    profile: str
    rule: str
    source: str
    needs: tuple[str, ...]
    steps: "Callable[[Backend], Awaitable[None]]"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one check. ``chunk``: the chunk that breaks the rule, if one does."""

    check: Check
    outcome: Outcome
    reason: str = ""
    chunk: Any = None
    source: str = ""
    declared: bool = False
    """The settings say that the server does not offer this."""
