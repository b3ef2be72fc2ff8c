"""Prints a line on the terminal for each run of ``adk-ui-stream serve``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from stream_protocol.adk import TokenUsage, read
from stream_protocol.cli._program import color_choice, glyph
from stream_protocol.serving.errors import error_name
from stream_protocol.wire import printable

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.stream import Ending
    from stream_protocol.wire import ChatRequest

_CHAT_LENGTH: Final = 8

_AGENT_LENGTH: Final = 20

_TOOL_CALLS: Final = (b'data: {"type":"tool-input-available"', b'data: {"type":"tool-input-error"')
"""Beginnings of the SSE events that complete a tool call's input, one for each call."""

_APPROVAL: Final = b'data: {"type":"tool-approval-request"'


class RunLines:
    """Recorder for ``ChatService(recorder=…)`` that prints a line at the end of each run.

    ``hint``: a text that is printed only once, after the line of the first failed run.
    """

    def __init__(self, hint: str = "") -> None:
        self._hint = hint

    def turn(self, request: ChatRequest, *, app_name: str, **_how: object) -> RunLine:
        return RunLine(self, request.id, app_name)

    def take_hint(self) -> str:
        """Return the hint at the first call, and an empty text at all later calls."""
        hint, self._hint = self._hint, ""
        return hint


class RunLine:
    """Recorder of one run. Counts the run's tool calls and tokens, and measures its time."""

    def __init__(self, lines: RunLines, chat_id: str, agent: str) -> None:
        self._lines = lines
        self._chat_id = chat_id
        self._agent = agent
        self._began = time.monotonic()
        self._tools = 0
        self._tokens = 0
        self._needs_approval = False
        self._cause = ""

    def begin(self, message_id: str | None) -> None:
        """Do nothing."""

    def event(self, event: Event) -> None:
        facts = read(event)
        if not facts.in_users_name:
            self._agent = facts.speaker[0]
        usage = facts.report(TokenUsage)
        if usage is not None and not facts.is_fragment:
            self._tokens += usage.total

    def written(self, sse: Sequence[bytes]) -> None:
        """Count the tool calls in SSE events of the response."""
        for item in sse:
            self._tools += item.startswith(_TOOL_CALLS)
            self._needs_approval = self._needs_approval or item.startswith(_APPROVAL)

    def failed(self, error: BaseException) -> None:
        self._cause = error_name(error)

    def end(self, outcome: Ending | None) -> None:
        facts = [
            time.strftime("%H:%M:%S"),
            f"chat {_shortened(self._chat_id, _CHAT_LENGTH)}",
            _shortened(self._agent, _AGENT_LENGTH),
            f"{self._tools} tool{'s' * (self._tools > 1)}" if self._tools else "",
            f"{time.monotonic() - self._began:.1f} s",
            f"{_count(self._tokens)} tok" if self._tokens else "",
        ]
        dim = click.style("  ".join(filter(None, facts)), dim=True)
        click.echo(f"{dim}  {self._result(outcome)}", color=color_choice())

    def _result(self, outcome: Ending | None) -> str:
        match outcome:
            case "finish" if self._needs_approval:
                return click.style("? waits for approval", fg="yellow")
            case "finish":
                return click.style(glyph("\N{CHECK MARK}", "ok"), fg="green")
            case "error":
                text = f"failed: {printable(self._cause)}" if self._cause else "failed"
                hint = self._lines.take_hint() if self._cause else ""
                return click.style(f"{glyph(chr(0x2717), 'x')} {text}", fg="red") + click.style(hint, dim=True)
            case "timeout":
                return click.style(f"{glyph(chr(0x2717), 'x')} timed out", fg="red")
            case _:
                return click.style("stopped", fg="yellow")


def _shortened(text: str, length: int) -> str:
    return printable(text if len(text) <= length else text[: length - 1] + glyph("\N{HORIZONTAL ELLIPSIS}", "~"))


def _count(number: int) -> str:
    return str(number) if number < 10_000 else f"{number / 1000:.1f}k"
