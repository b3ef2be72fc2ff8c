"""Checks the order of a stream, without its content. This check is stricter than the reducer."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stream_protocol.wire import AnyChunk

TERMINALS = {"finish", "error", "abort"}

OUTCOMES = {
    "tool-input-available",
    "tool-approval-request",
    "tool-output-available",
    "tool-output-error",
    "tool-output-denied",
}
"""Chunks that do not depend on the boundaries of a model's fragments."""


@dataclass
class CallOrder:
    """Chunks so far of one tool call."""

    started: bool = False
    has_input: bool = False
    ended: bool = False
    waits: bool = False


@dataclass
class StreamOrder:
    """Checker of a stream, chunk by chunk. Raises an ``AssertionError`` for a misplaced chunk."""

    calls: dict[str, CallOrder] = field(default_factory=dict)
    open_parts: set[tuple[str, str]] = field(default_factory=set)
    step_open: bool = False
    count: int = 0
    terminal: str | None = None

    def read(self, chunk: AnyChunk) -> None:
        said: dict[str, Any] = dict(chunk)
        kind: str = said["type"]
        assert self.terminal is None, f"{kind} after the terminal"
        assert (kind == "start") == (self.count == 0), f"{kind} as chunk {self.count}"
        self.count += 1
        if kind in TERMINALS:
            self.terminal = kind
        elif kind in {"start-step", "finish-step"}:
            self._step(kind)
        elif kind.startswith(("text-", "reasoning-")):
            self._part(kind, said["id"])
        elif kind.startswith("tool-"):
            self._tool(kind, said)

    def _step(self, kind: str) -> None:
        assert not self.open_parts, f"{kind} while {self.open_parts} are open"
        assert self.step_open == (kind == "finish-step"), kind
        self.step_open = kind == "start-step"

    def _part(self, chunk_type: str, part_id: str) -> None:
        kind, event = chunk_type.split("-")
        key = (kind, part_id)
        assert self.step_open, f"{key} outside a step"
        assert (key in self.open_parts) == (event != "start"), f"{chunk_type} of {part_id}"
        if event == "start":
            self.open_parts.add(key)
        elif event == "end":
            self.open_parts.remove(key)

    def _tool(self, kind: str, said: dict[str, Any]) -> None:
        if kind == "tool-approval-response":
            return
        call = self.calls.setdefault(said["toolCallId"], CallOrder())
        assert not call.ended, f"{kind} of {said['toolCallId']} after its end"
        match kind:
            case "tool-input-start":
                assert self.step_open
                assert not call.started
                call.started = True
            case "tool-input-delta":
                assert call.started
                assert not call.has_input
            case "tool-input-available" | "tool-input-error":
                assert not call.has_input
                call.has_input = True
                call.ended = kind == "tool-input-error"
            case "tool-approval-request":
                assert call.has_input
                call.waits = True
            case _:
                assert call.has_input, f"{kind} without an input"
                call.ended = not said.get("preliminary", False)

    def check_end(self, *, pending: Collection[str] = ()) -> None:
        """Check the end of a stream. ``pending``: calls that may wait for the client."""
        assert self.terminal is not None, "no terminal"
        assert not self.open_parts, f"{self.open_parts} are open"
        assert not self.step_open, "a step is open"
        waiting = {call_id for call_id, call in self.calls.items() if not call.ended and not call.waits}
        assert waiting <= set(pending), f"nothing was said of {waiting} in the end"


def check_order(chunks: Iterable[AnyChunk], *, known: Collection[str] = (), pending: Collection[str] = ()) -> None:
    """Check that the chunks are one whole response. ``known``: calls of earlier responses for the same message."""
    order = StreamOrder({call_id: CallOrder(started=True, has_input=True) for call_id in known})
    for chunk in chunks:
        order.read(chunk)
    order.check_end(pending={*pending, *known})


def outcomes(chunks: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return type and id of the inputs, approval requests and final outputs of a stream's calls, in order."""
    outcomes = (chunk for chunk in chunks if chunk["type"] in OUTCOMES and not chunk.get("preliminary"))
    return [(chunk["type"], chunk["toolCallId"]) for chunk in outcomes]
