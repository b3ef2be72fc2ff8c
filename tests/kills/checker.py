"""Checks the promises to users whose servers were killed, and reports violations."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from stream_protocol.serving.engine._recovery import CRASHES_TEXT
from stream_protocol.serving.requests._stored_response import INTERRUPTED_TEXT
from stream_protocol.serving.runs._auto_resend import NOTHING_NEW_TEXT
from tests.conformance.test_resume_against_client import without_approvals
from tests.kills.deployment import AFTERMATH, GIVEN_UP, SLOW_STARTS, Deployment, moment
from tests.kills.kinds import KINDS, SAME_ID, unlike
from tests.kills.possible_histories import possible_histories
from tests.kills.visitor import ACCEPTED, CONFLICT, TERMINALS, Reading, SentMessage, Visitor

ONCE: Final = frozenset({"book", "pay", "draw"})
"""Tools that are not declared idempotent."""

WAITING: Final = frozenset({"input-available", "approval-requested"})
"""States of a call that waits for the user or the page."""

RUN_LOGGER: Final = "stream_protocol.serving.runs"
LEFT: Final = "The session store is unreachable: the run continues"
"""Logger of a failed run, and its text for a run that has not failed."""

END_SECONDS: Final = 1.0
"""Seconds within which other workers learn that a run has ended."""

LONG: Final = 28.0
"""Maximum seconds of a response: a little less than a page waits for a recovered run."""


class Checker:
    """Checker of one chat. ``stored``: its history after all runs; ``None`` if the chat does not exist."""

    def __init__(self, deployment: Deployment, visitor: Visitor, readings: Sequence[Reading], stored: Any) -> None:
        self._deployment = deployment
        self._visitor = visitor
        self._readings = readings
        self._stored: list[Any] = stored or []
        self._exists = stored is not None

    def wrong(self) -> Iterator[str]:
        for found in (
            *self._visitor.wrong,
            *self._reloads(),
            *self._streams(),
            *self._words(),
            *self._answers(),
            *self._pages(),
            *self._tools(),
            *self._approved(),
            *self._stopped(),
        ):
            yield f"{self._visitor.id}: {found}"

    def _streams(self) -> Iterator[str]:
        """Each stream has one end, or was cut off by a fault. A stream that ends in ``abort`` was stopped."""
        for reading in self._readings:
            allowed = {200, 204, 202, 404, 503, 0} if not reading.is_post else {200, 503, 0}
            if reading.is_post and (
                self._was_stopped(reading) or (reading.is_outdated and self._is_overtaken_by_words(reading))
            ):
                allowed.add(CONFLICT)
            if reading.status not in allowed:
                yield f"status: {reading.told()}"
            if reading.answered is not None and reading.answered - reading.begun > LONG:
                yield f"waited: {reading.told()}"
            if reading.status == 503 and not self._excused(reading.begun, reading.answered or reading.begun):
                yield f"refused: {reading.told()}"
            if not reading.is_stream:
                continue
            ends = [chunk["type"] for chunk in reading.chunks if chunk["type"] in TERMINALS]
            if reading.is_over:
                if len(ends) != 1 or ends[0] != reading.ends_in:
                    yield f"ends: not one terminal, at the end: {reading.told()}"
            elif reading.cut is None and reading.ended is not None:
                yield f"ends: without a terminal: {reading.told()}"
            elif not reading.has_left and not self._excused(reading.begun, reading.ended or reading.begun):
                yield f"cut without a fault: {reading.told()}"
            errors = [chunk["errorText"] for chunk in reading.chunks if chunk["type"] == "error"]
            excused = (
                self._misses_a_store(reading.begun, reading.ended or reading.begun)
                or (errors == [INTERRUPTED_TEXT] and self._was_superseded(reading))
                or (errors == [NOTHING_NEW_TEXT] and (self._was_superseded(reading) or self._was_stopped(reading)))
                or (errors == [CRASHES_TEXT] and self._deployment.is_given_up(self._visitor.id))
            )
            if reading.ends_in == "error" and not excused:
                yield f"error: {reading.told()}"
            if reading.ends_in == "abort" and not self._was_stopped(reading) and not self._was_superseded(reading):
                yield f"abort: {reading.told()}"

    def _reloads(self) -> Iterator[str]:
        """A reloaded page shows every message that was answered with 200."""
        asked = [each for each in self._readings if each.is_post and each.status == 200]
        certain, _ = self._expected()
        for said in self._visitor.said:
            if self._visitor.deletions or said.words not in certain:
                continue
            answered = min((each.answered or 0 for each in asked if self._says(each, said)), default=inf)
            for reading in self._readings:
                is_whole = reading.is_history and reading.status in {200, 404} and reading.cut is None
                if is_whole and reading.begun > answered and f'"{said.words}"' not in reading.text:
                    yield f"reload: {said.words!r} was answered at {answered % 1000:.3f}, not in {reading.told()}"

    def _excused(self, begun: float, ended: float) -> bool:
        """Return True if a fault had effects in this time."""
        return any(
            fault_seen.begun <= ended and begun <= fault_seen.ended + AFTERMATH
            for fault_seen in self._deployment.fault_records
        )

    def _was_superseded(self, reading: Reading) -> bool:
        """Return True if a later request has interrupted the repeated request. Both end in the same way."""
        first = next(each for each in self._readings if each.body == reading.body)
        return reading.is_post and any(
            each.is_post and each.body != reading.body and first.begun < each.begun < (reading.ended or inf)
            for each in self._readings
        )

    def _misses_a_store(self, begun: float, ended: float) -> bool:
        return any(
            fault_seen.worker is None and fault_seen.begun <= ended and begun <= fault_seen.ended + AFTERMATH
            for fault_seen in self._deployment.fault_records
        )

    def _was_stopped(self, reading: Reading) -> bool:
        """Return True if the user sent another request before the end of this response.

        A repetition of a request that was accepted earlier does not count, because it does not stop a run again.
        """
        assert reading.ended is not None
        accepted: dict[str | None, float] = {}
        for each in self._readings:
            if each.is_post and each.status == 200 and each.answered is not None:
                accepted.setdefault(each.body, each.answered)
        others = [
            each
            for each in self._readings
            if each.begun < reading.ended
            and (
                each.method == "DELETE"
                or each.path.endswith("/stop")
                or (each.is_post and each.body != reading.body and accepted.get(each.body, inf) > each.begun)
            )
        ]
        if reading.is_resume:
            posts = {each.body for each in self._readings if each.is_post and each.begun < reading.ended}
            others = [each for each in others if not each.is_post] or (others if len(posts) > 1 else [])
        return any(each.ended is None or each.ended > reading.begun or not each.is_post for each in others)

    def _words(self) -> Iterator[str]:
        """Every message that got 200 is in the history once, with its whole reply."""
        texts = Counter(
            part["text"]
            for message in self._stored
            if message["role"] == "user"
            for part in message["parts"]
            if part["type"] == "text"
        )
        certain, possible = self._expected()
        for said in self._visitor.said:
            times = texts[said.words]
            if times > 1:
                yield f"doubled: {said.words!r} is {times} times in the history"
            if said.words in certain and not times:
                yield f"lost: {said.words!r} was answered with 200 and is not in the history"
            if times and said.words not in possible:
                yield f"came back: {said.words!r} was taken back and is in the history"
        if sum(texts.values()) > len(texts):
            yield f"doubled: {texts}"
        for index, message in enumerate(self._stored):
            if message["role"] != "user":
                continue
            spoken = [part["text"] for part in message["parts"] if part["type"] == "text"]
            known = next((each for each in self._visitor.said if [each.words] == spoken), None)
            if known is None:
                yield f"nobody said {message}"
                continue
            said = known
            if said.file and not any(part["type"] == "file" for part in message["parts"]):
                yield f"file: {said.words!r} has no file any more: {message['parts']}"
            answers = self._stored[index + 1 :]
            answer = answers[0] if answers and answers[0]["role"] == "assistant" else {"parts": []}
            is_given_up = self._deployment.is_given_up(self._visitor.id)
            is_ended = any(each.ends_in in {"error", "abort"} for each in self._readings) or self._has_failed()
            whole = not said.disturbed and not is_ended and not is_given_up and not self._is_overtaken(said)
            found = unlike(KINDS[said.kind], said.key, answer, whole=whole)
            if found is not None:
                errors = [part.get("errorText") for part in answer["parts"] if "errorText" in part]
                yield f"answer: {said.words!r}: {found} {errors}"

    def _has_failed(self) -> bool:
        """Return True if a run of the chat ended in an error. The page may have been closed before."""
        told = [
            record["message"]
            for record in self._deployment.logged()
            if record.get("chat_id") == self._visitor.id and record.get("logger") == RUN_LOGGER
        ]
        return bool(told) and not any(message.startswith(LEFT) for message in told)

    def _is_overtaken(self, said: SentMessage) -> bool:
        """Return True if a later message was accepted first. It has ended this message's run."""
        accepted = {
            each.words: min(
                (
                    post.answered or inf
                    for post in self._readings
                    if post.is_post and post.status == 200 and self._says(post, each)
                ),
                default=inf,
            )
            for each in self._visitor.said
        }
        return any(
            post.is_post and post.begun < accepted[said.words] < accepted[other.words] < inf and self._says(post, other)
            for other in self._visitor.said
            for post in self._readings
        )

    def _is_overtaken_by_words(self, answer: Reading) -> bool:
        """Return True if a new message was accepted after the message of this response."""
        words = {
            each.body
            for each in self._readings
            if each.is_post
            and each.said["message"]["role"] == "user"
            and each.status == 200
            and (each.answered or inf) < (answer.ended or inf)
        }
        return len(words) > 1

    def _says(self, reading: Reading, said: SentMessage) -> bool:
        message = reading.said["message"]
        return message["role"] == "user" and any(part.get("text") == said.words for part in message["parts"])

    def _expected(self) -> tuple[set[str], set[str]]:
        """Return the user messages that must be in the history, and those that may be in it."""
        histories = possible_histories(self._readings, self._visitor.deletions)
        return set.intersection(*map(set, histories)), set.union(*map(set, histories))

    def _answers(self) -> Iterator[str]:
        """An accepted user's answer is final: a call does not wait after the answer to it got 200."""
        stored = {
            part["toolCallId"]: part for message in self._stored for part in message["parts"] if "toolCallId" in part
        }
        for reading in self._readings:
            if not reading.is_post or reading.status != 200 or reading.ends_in == "error":
                continue
            message = reading.said["message"]
            for part in message["parts"] if message["role"] == "assistant" else ():
                kept = stored.get(part.get("toolCallId", ""))
                answered = part.get("state") in {"approval-responded", "output-available"}
                if kept and answered and kept["state"] in {"approval-requested", "input-available"}:
                    yield f"answer lost: {part['type']} is {kept['state']}: {reading.told()}"
                denied = part.get("approval", {}).get("approved") is False
                if kept and denied and kept["state"] == "output-available":
                    yield f"denial lost: {kept}: {reading.told()}"

    def _pages(self) -> Iterator[str]:
        """The page's messages at the end of a response equal the stored messages, if no other request followed."""
        kept = {message["id"]: message for message in self._stored}
        for tab in self._visitor.tabs:
            mine = [each for each in self._readings if each.page == tab.name and (each.is_post or each.is_resume)]
            if tab.shown is None or not mine or mine[-1].ends_in is None or not tab.shown["messages"]:
                continue
            last = mine[-1]
            later = any(
                each.is_post
                and each.page != tab.name
                and (each.begun > last.begun or (each.answered or inf) > (last.answered or last.begun))
                for each in self._readings
            )
            message = tab.shown["messages"][-1]
            stored = kept.get(message["id"])
            if later or message["role"] != "assistant" or self._visitor.deletions:
                continue
            if stored is None and not without_approvals([message]):
                continue  # only calls whose arguments never completed, which no history has
            if stored is None:
                yield f"not stored: {message}: {last.told()}"
            elif compared(stored) != compared(message) and not (
                self._was_killed_at_its_end(last) and begins_with(stored, message)
            ):
                mark = "live" if last.ends_in == "finish" else f"live ({last.ends_in})"
                yield f"{mark}: shown {parts(message)}\n   stored {parts(stored)}\n   {last.told()}"

    def _was_killed_at_its_end(self, reading: Reading) -> bool:
        """Return True if the worker died after it had stopped a run, and before it responded to the stop.

        Then no other process knew of the run's end.
        """
        if reading.ends_in != "abort" or reading.ended is None:
            return False
        kills = [
            fault_seen.begun
            for fault_seen in self._deployment.fault_records
            if fault_seen.harm == "kill"
            and fault_seen.worker is not None
            and self._deployment.ports[fault_seen.worker] == reading.port
            and reading.ended <= fault_seen.begun < reading.ended + END_SECONDS
        ]
        return bool(kills) and not any(
            stop.status == ACCEPTED and reading.begun < stop.answered < min(kills) for stop in self._visitor.stops
        )

    def _tools(self) -> Iterator[str]:
        begun = [each for each in self._deployment.begun() if each["chat"] == self._visitor.id]
        for (tool, call), times in Counter((each["tool"], each["call"]) for each in begun).items():
            if tool in ONCE and call != SAME_ID and times > 1:
                yield f"ran twice: {tool} of call {call} began {times} times"
        again = len({each.body for each in self._readings if each.is_post and each.said["trigger"] != "submit-message"})
        for (tool, key), times in Counter((each["tool"], each["key"]) for each in begun).items():
            if tool in ONCE and times > 1 + again:
                yield f"ran twice: {tool} {key} began {times} times"

    def _approved(self) -> Iterator[str]:
        """Nothing is paid without an earlier approval."""
        approved: dict[str, float] = {}
        for reading in self._readings:
            message = reading.said["message"] if reading.is_post else {"parts": ()}
            for part in message["parts"]:
                if part.get("approval", {}).get("approved"):
                    key = part["input"]["key"]
                    approved[key] = min(reading.begun, approved.get(key, reading.begun))
        for each in self._deployment.begun():
            mine = each["chat"] == self._visitor.id and each["tool"] == "pay"
            if mine and each["at"] < approved.get(each["key"], inf):
                yield f"bypassed: {each} began without an approval"

    def _stopped(self) -> Iterator[str]:
        """No tool starts after an acknowledged stop, unless a new request came."""
        for stop in self._visitor.stops:
            if stop.status != ACCEPTED:
                continue
            accepted = {each.body for each in self._readings if each.status == 200 and (each.answered or 0) < stop.sent}
            posts = [
                each for each in self._readings if each.is_post and each.begun > stop.sent and each.body not in accepted
            ]
            for each in self._deployment.begun():
                later = each["at"] > stop.answered and each["key"].startswith(f"{stop.said.key}.")
                if later and not posts:
                    yield f"stopped: {each} began {each['at'] - stop.answered:.2f} s after the stop was answered"


def compared(message: Any) -> Any:
    """Return the parts that a page and the history must share.

    An empty step at the end is left out, because the user does not see it. If a call of the message waits, the step
    stays. The reason: the client's helpers check only the parts after the last step.
    """
    messages = without_approvals([message])
    for each in messages:
        waits = any(part.get("state") in WAITING for part in each["parts"])
        while not waits and each["parts"] and each["parts"][-1]["type"] == "step-start":
            each["parts"].pop()
    return [each for each in messages if each["parts"]]


def begins_with(stored: Any, shown: Any) -> bool:
    """Return True if a stored message begins as a page shows it. Its last text may be longer."""
    (whole,), begun = without_approvals([stored]), compared(shown)
    beginning = begun[0]["parts"] if begun else []
    if len(whole["parts"]) < len(beginning):
        return False
    pairs = [*zip(whole["parts"], beginning, strict=False)]
    return all(kept == part for kept, part in pairs[:-1]) and all(
        kept == part or (kept["type"] == part["type"] == "text" and kept["text"].startswith(part["text"]))
        for kept, part in pairs[-1:]
    )


def parts(message: Any) -> list[Any]:
    return [
        (
            part["type"],
            part.get("state"),
            str(part.get("text") or part.get("url") or part.get("output") or part.get("errorText") or part.get("data")),
        )
        for shown in without_approvals([message])
        for part in shown["parts"]
    ]


def errors_logged(deployment: Deployment) -> Iterator[str]:
    """Yield the logged errors that no fault explains."""
    for record in deployment.logged():
        at = moment(record)
        is_of_crashes = GIVEN_UP in record["message"] or record["message"] == CRASHES_TEXT
        if is_of_crashes and deployment.is_given_up(record["chat_id"]):
            continue
        if record["message"].startswith("error: ") and any(each in record["message"] for each in SLOW_STARTS):
            continue
        explained = any(
            fault_seen.harm != "kill"
            and (
                fault_seen.worker is None if at is None else fault_seen.begun - 1 <= at <= fault_seen.ended + AFTERMATH
            )
            for fault_seen in deployment.fault_records
        )
        if not explained:
            yield f"log: {json.dumps(record)[:1500]}"
