"""Formats a streamed conversation as text for a terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import click
import orjson

from stream_protocol.cli._program import glyph
from stream_protocol.wire import AnyChunk, UIMessage, is_tool_part, json_value, printable

_VALUE_LENGTH: Final = 160
"""Maximum number of characters of a tool's input or output without a terminal."""

_SHORTEST: Final = 20
"""Minimum number of characters of a value on a narrow terminal."""

_RESET: Final = "\x1b[0m"

_USER: Final = "You"


class Transcript:
    """Formats a conversation as text. Each method returns the text to print next."""

    def __init__(self, agent: str = "Agent") -> None:
        self.agent = agent
        """The heading above the agent's text."""
        self._is_empty = True
        self._speaker: str | None = None
        self._open: tuple[str, str] | None = None
        """Kind and id of the text that is being streamed."""
        self._calls: dict[str, str] = {}
        self._last_call = ""
        """The id of the tool call on the last printed line, if any."""

    def user_message(self, message: UIMessage) -> str:
        """Return the text of a user message. If the message is an assistant message, return the user's approvals in
        it.
        """
        if message["role"] != "user":
            return self._approvals(message)
        self._speaker = None
        parts = cast("Sequence[Mapping[str, Any]]", message["parts"])
        texts = [part["text"] for part in parts if part["type"] == "text"]
        files = [f"[{part.get('filename') or part['mediaType']}]" for part in parts if part["type"] == "file"]
        return self.user_texts([*texts, *files])

    def user_texts(self, texts: Iterable[str]) -> str:
        """Return texts of the user, with the user's heading above them."""
        return self._heading(_USER) + "".join(f"{_indented(text)}\n" for text in texts)

    def chunk(self, chunk: AnyChunk) -> str:
        """Return the text to print for a chunk; empty for a chunk that is not shown."""
        fields: Mapping[str, Any] = chunk
        match fields["type"]:
            case "text-delta":
                return self._delta("text", fields)
            case "reasoning-delta":
                return self._delta("reasoning", fields)
            case "tool-input-available" | "tool-input-error":
                name = self._calls[fields["toolCallId"]] = printable(fields["toolName"])
                called = click.style(f"{glyph(chr(0x25CF), '*')} {name}", fg="cyan")
                value = _short(fields.get("input"), before=f"  * {name} ")
                line = self._line(f"{called} {_dim(value)}") + self._error(fields)
                self._last_call = fields["toolCallId"]
                return line
            case "tool-approval-request":
                return self._line(click.style(f"? {self._name(fields)} needs approval", fg="yellow"))
            case "tool-output-available" if not fields.get("preliminary"):
                return self._output(fields)
            case "tool-output-denied":
                return self._line(click.style(f"  {self._name(fields)} was denied", fg="yellow"))
            case "tool-output-error" | "error":
                return self._error(fields)
            case "source-url":
                return self._line(_dim(f"  {printable(fields.get('title') or 'source')}: {printable(fields['url'])}"))
            case "file":
                return self._line(_dim(f"  [{printable(fields['mediaType'])}]"))
            case "abort":
                return self._line(click.style("stopped", fg="yellow"))
        return ""

    def end(self) -> str:
        """Return a line end if the last line of the response has none; otherwise an empty text."""
        if self._open is None:
            return ""
        kind, _ = self._open
        self._open = None
        return f"{_RESET if kind == 'reasoning' else ''}\n"

    def _approvals(self, message: UIMessage) -> str:
        answered = [part for part in message["parts"] if is_tool_part(part) and part["state"] == "approval-responded"]
        for part in answered:
            self._calls[part["toolCallId"]] = printable(part.get("toolName") or part["type"].removeprefix("tool-"))
        lines = [
            f"{'Approved' if part['approval'].get('approved') else 'Denied'} {self._name(part)}" for part in answered
        ]
        return self.user_texts(lines) if lines else ""

    def _output(self, fields: Mapping[str, Any]) -> str:
        name = "" if self._last_call == fields["toolCallId"] else f"{self._name(fields)} "
        label = f"  {name}{_arrow()} "
        return self._line(_dim(label + _short(fields["output"], before=f"  {label}")))

    def _name(self, fields: Mapping[str, Any]) -> str:
        return self._calls.get(fields["toolCallId"], "the call")

    def _error(self, fields: Mapping[str, Any]) -> str:
        if "errorText" not in fields:
            return ""
        name = f"{self._name(fields)}: " if "toolCallId" in fields else ""
        return self._line(click.style(f"{glyph(chr(0x2717), 'x')} {name}{printable(fields['errorText'])}", fg="red"))

    def _delta(self, kind: str, fields: Mapping[str, Any]) -> str:
        begins = self._open != (kind, fields["id"])
        ending = self.end() if begins else ""
        self._open = (kind, fields["id"])
        heading = self._heading(self.agent) if begins else ""
        text = "\n  ".join(map(printable, fields["delta"].split("\n")))
        if kind == "reasoning" and begins:
            text = click.style(f"Thinking: {text}", dim=True, reset=False)  # `end` resets it
        return f"{ending}{heading}{'  ' if begins else ''}{text}"

    def _line(self, text: str) -> str:
        self._last_call = ""
        return f"{self.end()}{self._heading(self.agent)}  {text}\n"

    def _heading(self, speaker: str) -> str:
        if self._speaker == speaker:
            return ""
        gap = "" if self._is_empty else "\n"
        self._is_empty = False
        self._speaker = speaker
        return f"{gap}{click.style(printable(speaker), bold=True)}\n"


def _indented(text: str) -> str:
    return "\n".join(f"  {printable(line)}" for line in text.splitlines())


def _dim(text: str) -> str:
    return click.style(text, dim=True)


def _arrow() -> str:
    return glyph("\N{RIGHTWARDS ARROW}", "->")


def _short(value: Any, *, before: str) -> str:
    """Return a value on one line: a text unchanged, any other value as JSON. A long value is cut.

    ``before``: the text that precedes the value on the line.
    """
    columns = shutil.get_terminal_size().columns - len(before) - 1
    length = max(columns, _SHORTEST) if sys.stdout.isatty() else _VALUE_LENGTH
    if isinstance(value, Mapping) and set(value) == {"result"}:
        value = value["result"]
    text = printable(value if isinstance(value, str) else orjson.dumps(json_value(value, lossy=True)).decode())
    return text if len(text) <= length else text[:length] + glyph("\N{HORIZONTAL ELLIPSIS}", "...")
