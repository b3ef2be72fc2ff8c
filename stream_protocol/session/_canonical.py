"""What a live client and history may differ in, taken out of both: see ``docs/decisions/what-history-equals.md``."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from stream_protocol.convert import INPUT_CUT
from stream_protocol.wire import UIMessage, is_tool_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_Part = dict[str, Any]


def canonical(messages: Iterable[UIMessage]) -> list[UIMessage]:
    """Messages in the form in which a live client's and history's are equal.

    Calls whose arguments never completed are dropped, with the step that held nothing else and the empty metadata of a
    bare step, and ``rawInput`` is.
    Parts of agents that ran in parallel are ordered by their branch, what tells none (files, data) behind them, and the
    steps in between are dropped. The messages given are not changed.
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
    return [part for speakers in _exchanges(whole) for part in _by_branch(speakers)]


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


def _exchanges(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """The parts, cut around each that somebody said alone. Steps, files and data tell no branch and bound nothing."""
    for shared, group in groupby(parts, lambda part: _branch(part) is not None or _tells_none(part)):
        if shared:
            yield list(group)
        else:
            yield from ([part] for part in group)


def _by_branch(parts: list[_Part]) -> list[_Part]:
    """The parts of a exchange in the order of their branches, if they are of several."""
    if len({branch for part in parts if (branch := _branch(part)) is not None}) < 2:
        return parts
    held = [index for index, part in enumerate(parts) if not _is_step(part)]
    begin, end = held[0], held[-1] + 1
    speakers = [part for part in parts[begin:end] if _branch(part) is not None]
    others = [part for part in parts[begin:end] if _branch(part) is None and not _is_step(part)]
    speakers.sort(key=lambda part: _branch(part) or "")
    others.sort(key=lambda part: json.dumps(part, sort_keys=True))
    return [*parts[:begin], *speakers, *others, *parts[end:]]


def _is_step(part: _Part) -> bool:
    return bool(part["type"] == "step-start")


def _tells_none(part: _Part) -> bool:
    return _is_step(part) or part["type"] == "file" or part["type"].startswith("data-")


def _branch(part: _Part) -> str | None:
    metadata = part.get("callProviderMetadata") or part.get("providerMetadata") or {}
    branch: str | None = metadata.get("adk", {}).get("branch")
    return branch
