"""What a live client and history may differ in, taken out of both: see ``docs/decisions/what-history-equals.md``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from stream_protocol.convert.tools import INPUT_CUT
from stream_protocol.wire.messages import UIMessage, is_tool_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Part = dict[str, Any]


def canonical(messages: Iterable[UIMessage]) -> list[UIMessage]:
    """Messages in the form in which a live client's and history's are equal.

    Calls whose arguments never completed are dropped, with the step that held nothing else and the empty metadata of a
    bare step, and ``rawInput`` is.
    Parts of agents that ran in parallel are ordered by their branch, and the steps that they shared are dropped. The
    messages given are not changed.
    """
    return [_canonical(message) for message in messages]


def _canonical(message: UIMessage) -> UIMessage:
    given: list[_Part] = cast("Any", message["parts"])
    changed: dict[str, Any] = {**message, "parts": _parts(given)}
    if changed.get("metadata") == {} and any(map(_is_cut, given)):
        del changed["metadata"]
    return cast("UIMessage", changed)


def _parts(parts: Sequence[_Part]) -> list[_Part]:
    whole = [{key: value for key, value in part.items() if key != "rawInput"} for part in _complete(parts)]
    branches = {branch for part in whole if (branch := _branch(part)) is not None}
    return _by_branch(whole) if len(branches) > 1 else whole


def _complete(parts: Sequence[_Part]) -> list[_Part]:
    kept: list[_Part] = []
    dropped = False
    for part in parts:
        if _is_cut(part):
            dropped = True
            continue
        if dropped and part["type"] == "step-start" and kept and kept[-1]["type"] == "step-start":
            kept.pop()
        dropped = dropped and part["type"] == "step-start"
        kept.append(part)
    if dropped and kept and kept[-1]["type"] == "step-start":
        kept.pop()
    return kept


def _is_cut(part: _Part) -> bool:
    if not is_tool_part(cast("Any", part)):
        return False
    return part["state"] == "input-streaming" or part.get("errorText") == INPUT_CUT


def _by_branch(parts: list[_Part]) -> list[_Part]:
    """The parts with each run of branches in order: a part without a branch bounds such a run, a step does not."""
    ordered: list[_Part] = []
    lanes: list[_Part] = []
    for part in parts:
        if _branch(part) is not None:
            lanes.append(part)
        elif part["type"] != "step-start":
            ordered += [*sorted(lanes, key=_lane), part]
            lanes = []
    return ordered + sorted(lanes, key=_lane)


def _lane(part: _Part) -> str:
    return _branch(part) or ""


def _branch(part: _Part) -> str | None:
    metadata = part.get("callProviderMetadata") or part.get("providerMetadata") or {}
    branch: str | None = metadata.get("adk", {}).get("branch")
    return branch
