"""Views of a response, a history and an execution for the checks in ``model``."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.network import Outage
from tests.simulation.schedule import FailOver, Kill, Retire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from google.adk.events import Event

    from tests.simulation.agent import ModelCall
    from tests.simulation.seen import History, Response, Seen

TERMINALS: Final = frozenset({"finish", "abort", "error"})

STEERING_PART: Final = "data-adk-steering"

_WORD: Final = re.compile(r"m(\d+)\.(\d+) ")


class View:
    """A response, as a client reads it."""

    def __init__(self, response: Response) -> None:
        self.response = response

    @cached_property
    def chunks(self) -> list[dict[str, Any]]:
        events = b"".join(piece for _, piece in self.response.pieces).split(b"\n\n")
        return [json.loads(event[6:]) for event in events if event.startswith(b"data: {")]

    @cached_property
    def is_done(self) -> bool:
        """True if ``[DONE]`` has arrived."""
        return bool(self.response.pieces) and self.response.pieces[-1][1].endswith(b"data: [DONE]\n\n")

    @cached_property
    def terminals(self) -> list[str]:
        return [chunk["type"] for chunk in self.chunks if chunk["type"] in TERMINALS]

    @cached_property
    def end(self) -> str:
        """Type of the last chunk."""
        return self.chunks[-1]["type"] if self.chunks else ""

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """Words of the response: the number of the model call, and of the word in it."""
        return words_in("".join(chunk["delta"] for chunk in self.chunks if chunk["type"] == "text-delta"))

    @property
    def is_whole(self) -> bool:
        """True if the client has read the response to its end."""
        response = self.response
        return response.status == 200 and response.ended is not None and not response.is_cut and not response.has_left

    def __str__(self) -> str:
        response = self.response
        return f"{response.kind} {response.words} at {response.begun:.3f} to worker {response.worker}".replace(
            "  ", " "
        )


class Case:
    """One execution of a schedule, with values that several promises need."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.views = [View(response) for response in seen.responses]
        self.faults = seen.schedule.faults

    @cached_property
    def is_calm(self) -> bool:
        """True if the schedule has no fault, so everything must succeed."""
        return not self.faults

    @cached_property
    def forgets(self) -> bool:
        """True if a fail-over may lose data."""
        return any(isinstance(fault, FailOver) for fault in self.faults)

    @cached_property
    def kept(self) -> list[Event]:
        """Events in the session store that no rewind has removed.

        An incomplete reply is removed when its message is sent again.
        """
        events: list[Event] = []
        for stored in self.seen.stored:
            if taken_back := stored.event.actions.rewind_before_invocation_id:
                ids = [event.invocation_id for event in events]
                del events[ids.index(taken_back) :]
            else:
                events.append(stored.event)
        return events

    @cached_property
    def said_by_user(self) -> Counter[str]:
        """The messages in the session store."""
        return Counter(text for event in self.kept for text in texts_in(event))

    @cached_property
    def answers_stored(self) -> Counter[str]:
        """Answers in the session store, counted by their calls."""
        return Counter(
            str(reply.id).removeprefix("ask-")
            for event in self.kept
            if event.author == "user"
            for reply in event.get_function_responses()
        )

    def delivered(self, words: str) -> float | None:
        """Return the time when a page learned that the steering message was delivered; ``None`` if it did not."""
        times = [each.answered for each in self.seen.steers if each.words == words and each.outcome == "delivered"]
        return min((at for at in times if at is not None), default=None)

    def is_stored(self, response: Response) -> bool:
        """Return True if the message of the request was in the session store when the client got the response."""
        return any(
            stored.at <= (response.answered or 0.0) and response.words in texts_in(stored.event)
            for stored in self.seen.stored
        )

    def is_taken_back(self, words: str) -> bool:
        """Return True if a request that sent the message again failed between two steps: it had taken the message back,
        with the beginning of its answer, and had not stored the message anew.

        With an engine, another worker stores the message then, because the run is on record before the rewind.
        """
        is_excused = not self.seen.schedule.engine and any(
            isinstance(fault, (Kill, Retire)) or (isinstance(fault, Outage) and fault.store == "sessions")
            for fault in self.faults
        )
        return is_excused and any(
            response.words == words
            and response.status in {0, 503}
            and any(response.begun <= at <= (response.ended or at) for at in self.rewinds)
            for response in self.seen.responses
        )

    @cached_property
    def rewinds(self) -> list[float]:
        """The times of the rewinds. Each has removed an incomplete reply."""
        return [each.at for each in self.seen.stored if each.event.actions.rewind_before_invocation_id]

    def reads_of(self, words: str) -> list[ModelCall]:
        """Return the model calls that have read the steering message, and whose reply no rewind has removed."""
        newest = max(self.rewinds, default=0.0)
        return [call for call in self.seen.ledger.calls if words in call.read and call.at > newest]

    def is_begun_at_the_end(self, words: str) -> bool:
        """Return True if a worker ended while it began a run for the message."""
        ends = [(fault.worker, fault.at + fault.drain) for fault in self.faults if isinstance(fault, Retire)]
        return any(
            response.words == words
            and response.worker == worker
            and response.begun <= end <= (response.answered or end)
            for response in self.seen.responses
            for worker, end in ends
        )

    def complete_texts(self, words: str) -> int:
        """Return the number of texts in the reply to a message for which the session store has all words."""
        ledger = self.seen.ledger
        replies = [event.content.parts or () for event in self.kept if event.author != "user" and event.content]
        said = Counter(call for parts in replies for call, _ in words_in("".join(part.text or "" for part in parts)))
        return sum(said[call.number] >= ledger.scripts[words].words for call in ledger.calls if call.message == words)

    def accepted(self, words: str) -> float | None:
        """Return the time when the message was accepted; ``None`` if it was not."""
        return self._first_accepted.get(words)

    @cached_property
    def _first_accepted(self) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for view in self.views:
            response = view.response
            if response.kind == "words" and response.status == 200 and response.answered is not None:
                found[response.words] = min(response.answered, found.get(response.words, response.answered))
        return found


def texts_in(event: Event) -> list[str]:
    """The texts of the user in an event."""
    parts = (event.content.parts or ()) if event.author == "user" and event.content else ()
    return [part.text for part in parts if part.text]


def words_in(text: str) -> list[tuple[int, int]]:
    """Return the words of the model in a text."""
    return [(int(call), int(word)) for call, word in _WORD.findall(text)]


def wrong_words(words: list[tuple[int, int]], said: Mapping[int, int]) -> str:
    """Return the problem of a sequence of words; empty if there is none."""
    call = word = -1
    for each in words:
        is_next = each == (call, word + 1) or (each[0] > call and each[1] == 0)
        if not is_next:
            return f"m{each[0]}.{each[1]} comes after m{call}.{word}"
        call, word = each
        if word >= said.get(call, 0):
            return f"m{call}.{word} was never said"
    return ""


def request_of(event: Event) -> str:
    """Return the idempotency key of the request to which an event belongs."""
    metadata = (event.custom_metadata or {}).get("adk_ui_stream")
    return str(metadata.get("request") or "") if isinstance(metadata, dict) else ""


def is_input(event: Event) -> bool:
    return event.author == "user"


def told(event: Event) -> str:
    return " ".join(
        part.text or (part.function_call and part.function_call.id) or (part.function_response and "a result") or ""
        for part in (event.content and event.content.parts) or ()
    )


def parts_of(history: History) -> Iterator[dict[str, Any]]:
    for message in history.messages or ():
        yield from message["parts"]


def texts_of_user(history: History) -> list[str]:
    return [
        part["text"]
        for message in history.messages or ()
        if message["role"] == "user"
        for part in message["parts"]
        if part["type"] == "text"
    ]


def steering_of(history: History) -> list[str]:
    """Return the steering messages in a history: those in replies, and those that wait or begin a run."""
    parts = (part for part in parts_of(history) if part["type"] == STEERING_PART)
    return [*(part["data"]["parts"][0]["text"] for part in parts), *texts_of_user(history)]


def words_of(history: History) -> list[tuple[int, int]]:
    return words_in("".join(part["text"] for part in parts_of(history) if part["type"] == "text"))
