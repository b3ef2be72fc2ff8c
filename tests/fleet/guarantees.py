"""Checks the guarantees for a user of a fleet, and reports violations."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.conformance.test_resume_against_client import without_approvals
from tests.fleet.chat_user import REST, TERMINALS, ChatUser, Reading
from tests.fleet.fault_injector import AFTERMATH, FaultInjector
from tests.fleet.tool_log import ToolRun
from tests.processes import HANG

SETTLED: Final = frozenset({"output-available", "output-error", "output-denied"})

STEERING: Final = "data-adk-steering"
"""The part of a reply that shows a steering message."""

ENDING: Final = 0.1
"""Seconds that ADK may take to end a run whose response has ended, on a busy machine."""


def violations(chat_user: ChatUser, fault_injector: FaultInjector, tool_runs: Sequence[ToolRun]) -> Iterator[str]:
    """Yield problems of the responses that were read, and of the tools that ran."""
    for reading in chat_user.readings:
        for wrong in reader_violations(reading, excused=fault_injector.excuses(reading.begun, reading.ended)):
            yield f"{chat_user.chat}: {wrong}: {describe(reading)}"
    for (tool, key), times in Counter((tool_run.tool, tool_run.key) for tool_run in tool_runs).items():
        if times > 1:
            yield f"{chat_user.chat}: {tool} {key} ran {times} times"
    ends = {
        words: reading
        for reading in reversed(chat_user.readings)
        if reading.done and reading.chunks and (words := answered(reading)) is not None
    }
    for tool_run in tool_runs:
        end = ends.get(tool_run.key.rpartition(".")[0]) if tool_run.tool == "note" else None
        if end is not None and tool_run.at > end.ended + ENDING:
            yield f"{chat_user.chat}: {tool_run.tool} {tool_run.key} began when its response had ended: {describe(end)}"


def answered(reading: Reading) -> str | None:
    """Return the key of the message that a response replies to; ``None`` if the response does not show it.

    A resumed response may reply to an earlier message, since the newest message may wait at a frozen worker.
    """
    if reading.what != "resume":
        return reading.key.partition(" ")[2]
    calls = [
        chunk for chunk in reading.chunks if chunk["type"] == "tool-input-available" and chunk["toolName"] == "note"
    ]
    return calls[0]["input"]["key"].rpartition(".")[0] if calls else None


def reader_violations(reading: Reading, *, excused: bool) -> Iterator[str]:
    """Yield problems that no reader may see. Unless ``excused``, also yields problems that only a fault explains."""
    ends = [chunk["type"] for chunk in reading.chunks if chunk["type"] in TERMINALS]
    if reading.done and (len(ends) != 1 or reading.ends_in != ends[0]):
        yield "not one terminal, at the end"
    if reading.status not in {0, 200, 204, 409, 503}:
        yield "a status that nobody expects"
    if excused:
        return
    if reading.status in {0, 503}:
        yield "refused without a fault"
    if reading.status == 200 and not reading.done and not reading.left:
        yield "broken off without a fault"
    if reading.ends_in == "error" and not asked_to_fail(reading):
        yield "an error without a fault"


def asked_to_fail(reading: Reading) -> bool:
    """Return True if the model fails at the message. A resumed response may reply to an earlier message."""
    said = "".join(chunk["delta"] for chunk in reading.chunks if chunk["type"] == "text-delta")
    return reading.key.startswith("fail ") or (reading.what == "resume" and said.startswith("I try "))


async def at_rest(chat_user: ChatUser, fault_injector: FaultInjector) -> list[str]:
    """Return problems of a chat after all faults: it must continue, and have the same state on all workers."""
    last = await goes_on(chat_user)
    if last.ends_in != "finish":
        return [f"{chat_user.chat}: takes no new turn: {describe(last)}"]
    stored, other = await histories(chat_user)
    if stored != other:
        return [f"{chat_user.chat}: two histories: {stored} {other}"]
    wrong = [*disagreements(chat_user, fault_injector, stored), *unsealed(stored), *steering(chat_user, stored)]
    return [f"{chat_user.chat}: {each}" for each in wrong]


async def histories(chat_user: ChatUser) -> list[list[Any]]:
    """Return the history of each worker. Retries, since a worker may learn the end of another worker's run later."""
    deadline = time.monotonic() + HANG
    while True:
        one, other = [await chat_user.history(worker) for worker in range(2)]
        if one == other or time.monotonic() > deadline:
            return [one, other]
        await asyncio.sleep(REST)


async def goes_on(chat_user: ChatUser) -> Reading:
    deadline = time.monotonic() + HANG
    while True:
        reading = await chat_user.say(f"say {chat_user.chat}.{len(chat_user.sent)}")
        if reading.ends_in == "finish" or time.monotonic() > deadline:
            return reading


def disagreements(chat_user: ChatUser, fault_injector: FaultInjector, stored: Sequence[Any]) -> Iterator[str]:
    """Yield differences between the history and the shown messages.

    A stop ends the response at once. Its text is stored later, unless a fault comes between.
    """
    texts = [message["parts"][0]["text"] for message in stored if message["role"] == "user"]
    late = {f"say {each.key}" for each in chat_user.steered}  # the server itself begins the turn of such a message
    moments = [chat_user.moments[text] for text in texts if text not in late]
    if moments != sorted(moments) or len(set(texts)) < len(texts):
        yield f"the user's words are out of order: {texts}"
    history = {message["id"]: message for message in stored}
    for reading in chat_user.readings:
        if reading.message is None or not reading.message["parts"]:
            continue  # nothing was shown
        kept = history.get(reading.message["id"])
        if kept is None:
            excused = reading.ends_in == "abort" and fault_injector.excuses(reading.begun, reading.ended + AFTERMATH)
            if reading.ends_in in {"finish", "abort"} and not excused:
                yield f"not stored: {describe(reading)}"
        elif not (same(kept, reading.message) if reading.ends_in == "finish" else compatible(kept, reading.message)):
            yield f"stored {outline(kept)}, shown {outline(reading.message)}: {describe(reading)}"


def steering(chat_user: ChatUser, stored: Sequence[Any]) -> Iterator[str]:
    """Yields problems of steering messages: lost, stored twice, answered twice, or not answered.

    In the history, a steering message is at the place where the agent has read it, or it begins a turn. An agent that
    has read it must answer it before the response ends with ``finish``.
    """
    finished = {reading.message["id"] for reading in chat_user.readings if reading.ends_in == "finish"}
    for steered in chat_user.steered:
        answer = f"Said {steered.key}."
        places = [
            (message, index)
            for message in stored
            for index, part in enumerate(message["parts"])
            if message["id"] == steered.id or (part["type"] == STEERING and part["data"]["id"] == steered.id)
        ]
        if len(places) > 1 or (not places and steered.is_accepted):
            yield f"the steering message {steered.key} is {len(places)} times in the history"
        texts = "".join(part.get("text", "") for message in stored for part in message["parts"])
        if texts.count(answer) > 1:
            yield f"the steering message {steered.key} is answered twice"
        for message, index in places:
            rest = "".join(part.get("text", "") for part in message["parts"][index:])
            if message["role"] == "assistant" and message["id"] in finished and answer not in rest:
                yield f"the steering message {steered.key} is not answered in {outline(message)}"


def same(kept: Any, shown: Any) -> bool:
    """Return True if both are equal, except for calls that were answered later."""
    if any(part.get("state") in {"approval-requested", "input-available"} for part in shown["parts"]):
        return compatible(kept, shown)
    return bool(without_approvals([kept]) == without_approvals([shown]))


def compatible(kept: Any, shown: Any) -> bool:
    """Return True if one of the two messages is a beginning of the other message."""
    pairs = zip(outline(kept), outline(shown), strict=False)
    return all(
        one[0] == other[0] and (one[1].startswith(other[1]) or other[1].startswith(one[1])) for one, other in pairs
    )


def outline(message: Any) -> list[tuple[str, str]]:
    """Return the texts and calls of a message."""
    return [
        (part["type"], part.get("text") or part.get("toolCallId", ""))
        for part in without_approvals([message])[0]["parts"]
        if part["type"] != "step-start"
    ]


def unsealed(stored: Sequence[Any]) -> Iterator[str]:
    """Yield parts that have not ended, and that no later response can end."""
    for message in stored:
        for part in message["parts"]:
            state = part.get("state", "done")
            waits = {"tool-pay": "approval-requested", "tool-where": "input-available"}.get(part["type"])
            if state not in {*SETTLED, "done", waits}:
                yield f"{part['type']} is left {state}"


def describe(reading: Reading) -> str:
    read = f"{len(reading.chunks)} chunks, {[chunk['type'] for chunk in reading.chunks][-3:]}"
    return f"{reading.what} {reading.key!r} by {reading.worker}: {reading.status}, {read}, {reading.done=}"
