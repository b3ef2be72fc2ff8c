"""Removes the allowed differences between a live client and history: see ``docs/decisions/what-history-equals.md``."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

from stream_protocol.stream import CALL_NOT_FINISHED_TEXT, UNANSWERED_TEXT
from stream_protocol.wire import UIMessage, is_tool_part

_Part = dict[str, Any]


def comparable(messages: Iterable[UIMessage]) -> list[UIMessage]:
    """Return copies of the messages without the allowed differences between a live client and history.

    Calls whose arguments never completed are removed. A step that has only such calls is removed, and so is the empty
    metadata of a message with such a call. Every ``rawInput`` is removed. An approval is removed if its call ended
    without the user's answer to it. A call that a later user message skipped is closed, also
    in the card of a sub-agent.

    Parts of parallel agents are ordered by branch. Parts without a branch (files, data) follow. Files and data in a row
    are sorted, since parallel calls send theirs while they run. Steps between them are removed. A message without parts
    is removed: a client has such a message when the response begins.
    """
    listed = list(messages)
    last_words = max((index for index, message in enumerate(listed) if message["role"] == "user"), default=0)
    changed = (_comparable(message, is_superseded=index < last_words) for index, message in enumerate(listed))
    return [message for message in changed if message["parts"]]


def _comparable(message: UIMessage, *, is_superseded: bool) -> UIMessage:
    parts: list[_Part] = [_closed(part, is_superseded=is_superseded) for part in cast("Any", message["parts"])]
    if is_superseded:
        questions = [part for part in parts if "toolCallId" in part]
        parts = [
            {**part, "output": _closed_card(part["output"], questions)} if _is_card(part) else part for part in parts
        ]
    changed: dict[str, Any] = {**message, "parts": _ordered(parts)}
    if changed.get("metadata") == {} and any(map(_is_incomplete_call, parts)):
        del changed["metadata"]
    return cast("UIMessage", changed)


def _closed(part: _Part, *, is_superseded: bool) -> _Part:
    waits = part.get("state") in ("input-available", "approval-requested", "approval-responded")
    if is_superseded and waits:
        part = {**part, "state": "output-error", "errorText": UNANSWERED_TEXT}
    if part.get("errorText") == UNANSWERED_TEXT:
        others = {key: value for key, value in part.items() if key not in ("approval", "callProviderMetadata")}
        part = others | _provider(part)
    return part


def _is_card(part: _Part) -> bool:
    output = part.get("output")
    return isinstance(output, dict) and output.get("id") == part["toolCallId"]


def _closed_card(card: _Part, questions: Sequence[_Part]) -> _Part:
    """Close the questions in the card of a sub-agent as in the message itself."""
    waiting = ("input-available", "approval-requested", "approval-responded")
    parts = [
        next((each for each in questions if _is_copy(part, each)), part)
        if part.get("state") in waiting
        else {**part, "output": _closed_card(part["output"], questions)}
        if _is_card(part)
        else _closed(part, is_superseded=False)
        for part in card["parts"]
    ]
    return {**card, "parts": parts}


def _is_copy(part: _Part, question: _Part) -> bool:
    keys = "type", "input", "callProviderMetadata"
    is_numbered = question["toolCallId"].startswith(f"{part['toolCallId']}.")
    return (is_numbered or question["toolCallId"] == part["toolCallId"]) and all(
        part.get(key) == question.get(key) for key in keys
    )


def _provider(part: _Part) -> _Part:
    """Return the part's provider metadata without the mark of an unanswered call, which only a history has."""
    provider = dict(part.get("callProviderMetadata", {}))
    provider["adk"] = {key: value for key, value in provider.get("adk", {}).items() if key != "unanswered"}
    kept = {key: value for key, value in provider.items() if value}
    return {"callProviderMetadata": kept} if kept else {}


def _ordered(parts: Sequence[_Part]) -> list[_Part]:
    complete = [
        {key: value for key, value in part.items() if key != "rawInput" and not (key == "approval" and _is_moot(part))}
        for part in _complete(parts)
    ]
    ordered = [part for stretch in _parallel_stretches(complete) for part in _by_branch(stretch)]
    stretches = groupby(ordered, key=lambda part: part["type"] == "file" or part["type"].startswith("data-"))
    return [part for beside, stretch in stretches for part in (sorted(stretch, key=json.dumps) if beside else stretch)]


def _complete(parts: Sequence[_Part]) -> list[_Part]:
    kept: list[_Part] = []
    dropped = False
    for part in parts:
        if _is_incomplete_call(part):
            dropped = True
            continue
        if dropped and _is_step(part) and kept and _is_step(kept[-1]):
            kept.pop()
        dropped = dropped and _is_step(part)
        kept.append(part)
    if dropped and kept and _is_step(kept[-1]):
        kept.pop()
    return kept


def _is_incomplete_call(part: _Part) -> bool:
    if not is_tool_part(cast("Any", part)):
        return False
    return part["state"] == "input-streaming" or part.get("errorText") == CALL_NOT_FINISHED_TEXT


def _is_moot(part: _Part) -> bool:
    return part["state"] in {"output-available", "output-error"} and part["approval"].get("approved") is None


def _parallel_stretches(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Yield the parts in groups, divided at each part of an agent outside all branches.

    Steps, files and data have no branch, and stay with their neighbours.
    """
    for together, group in groupby(parts, lambda part: _branch(part) is not None or _never_has_branch(part)):
        if together:
            yield list(group)
        else:
            yield from ([part] for part in group)


def _by_branch(parts: list[_Part]) -> list[_Part]:
    """Return the parts of a group in the order of their branches, if there are several."""
    if len({branch for part in parts if (branch := _branch(part)) is not None}) < 2:
        return parts
    content = [index for index, part in enumerate(parts) if not _is_step(part)]
    begin, end = content[0], content[-1] + 1
    with_branch = [part for part in parts[begin:end] if _branch(part) is not None]
    others = [part for part in parts[begin:end] if _branch(part) is None and not _is_step(part)]
    with_branch.sort(key=lambda part: _branch(part) or "")
    others.sort(key=lambda part: json.dumps(part, sort_keys=True))
    return [*parts[:begin], *with_branch, *others, *parts[end:]]


def _is_step(part: _Part) -> bool:
    return bool(part["type"] == "step-start")


def _never_has_branch(part: _Part) -> bool:
    return _is_step(part) or part["type"] == "file" or part["type"].startswith("data-")


def _branch(part: _Part) -> str | None:
    metadata = part.get("callProviderMetadata") or part.get("providerMetadata") or {}
    branch: str | None = metadata.get("adk", {}).get("branch")
    return branch
