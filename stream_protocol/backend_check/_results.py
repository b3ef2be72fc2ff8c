"""Checks and their results, and the exceptions that end a check early."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stream_protocol.backend_check._stock_client import Backend

PROFILES: Final = ("stream", "chat", "tools", "durable")
MISSING: Final = (404, 405, 501)
"""HTTP statuses that mean that the server does not have a route."""


class Outcome(StrEnum):
    """The outcome of a check."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_OFFERED = "not offered"


class NoBackendError(Exception):
    """Raised if there is no chat endpoint at the URL. The message is one line."""


class BrokenError(Exception):
    """Raised if the server breaks the rule of a check.

    ``chunk``: the chunk that breaks the rule, or ``None``. ``source``: the document that contains the rule. ``None`` if
    it is the ``source`` of the check.
    """

    def __init__(self, reason: str, *, chunk: Any = None, source: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.chunk = chunk
        self.source = source


class NotOfferedError(Exception):
    """Raised if the server lacks a feature. ``excused``: True if the feature is optional, so that the server can pass
    the profile without it.
    """

    def __init__(self, reason: str, *, excused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.excused = excused


@dataclass(frozen=True, slots=True)
class Check:
    """A rule for servers, the document that contains the rule (``source``), and the steps that test it.

    ``needs``: features such as ``tool``. The check runs only if the settings have a prompt for each of them.
    """

    name: str
    profile: str
    rule: str
    source: str
    needs: tuple[str, ...]
    steps: "Callable[[Backend], Awaitable[None]]"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check. ``chunk``: the chunk that breaks the rule, or ``None``."""

    check: Check
    outcome: Outcome
    reason: str = ""
    chunk: Any = None
    source: str = ""
    excused: bool = False
    """True if the missing feature is optional, for example because the settings exclude it."""
