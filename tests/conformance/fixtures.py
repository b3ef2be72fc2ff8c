"""Reads the fixtures in ``frontend-fixtures/``: recorded turns and their streams. Also writes their expectations."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from google.adk.events import Event
from google.adk.sessions import Session

from stream_protocol import AnyChunk, ConverterOptions, encode_sse, iter_chunks
from stream_protocol.adk import CallIds
from stream_protocol.session import (
    METADATA_KEY,
    RunOutput,
    Transcript,
    completing_events,
    message_id,
    session_to_messages,
)
from stream_protocol.stream import Settings, chunk_conversion
from stream_protocol.wire import AiSdkVersion, ClientStreamError, UIMessage
from stream_protocol.wire.client import MessageReducer

PROJECT = Path(__file__).parents[2] / "frontend-fixtures"
FOLDER = PROJECT / "fixtures"
README = PROJECT / "README.md"
INDEX_HEADING = "## Index\n"
VERSIONS: tuple[AiSdkVersion, ...] = (6, 7)

Json = dict[str, Any]


class RunRaisedError(Exception):
    """Error that stands for the recorded run's error."""


@dataclass(frozen=True)
class Turn:
    """User's action, and the run after it."""

    actions: list[Json]
    events: list[Event]
    raised: str | None
    past: list[Event]
    """Events of the message that this turn continues, from its beginning. Empty for a new message."""
    message_id: str | None
    taken_ids: Sequence[str] = ()
    """Ids of the calls in earlier messages."""

    @property
    def continues(self) -> bool:
        """True if the user answered calls. A text begins a new message."""
        return not any("text" in action for action in self.actions)

    @property
    def reloads(self) -> bool:
        """True if the user reloaded the page before the answer."""
        return any("reload" in action for action in self.actions)

    def place(self) -> Json:
        """Position of the response in the chat, as arguments of the converter."""
        return {"past": self.past, "message_id": self.message_id, "taken_ids": self.taken_ids}

    def run(self) -> Iterator[Event]:
        """Yield the events of the recorded run, then raise its error."""
        yield from self.events
        if self.raised is not None:
            raise RunRaisedError(self.raised)


@dataclass(frozen=True)
class Fixture:
    name: str
    description: str
    options: ConverterOptions
    turns: list[Turn]

    def convert(self, ai_sdk: AiSdkVersion) -> list[list[AnyChunk]]:
        """Return the chunks of each turn."""
        return [list(iter_chunks(turn.run(), **turn.place(), **self.options_for(ai_sdk))) for turn in self.turns]

    def options_for(self, ai_sdk: AiSdkVersion) -> ConverterOptions:
        """Return the fixture's options. A fixture may have a full version of v7."""
        newest = self.options.get("ai_sdk")
        return {**self.options, "ai_sdk": newest if ai_sdk == 7 and newest else ai_sdk}

    def expected_path(self, ai_sdk: AiSdkVersion) -> Path:
        return FOLDER / self.name / f"expected.v{ai_sdk}.json"


def fixture_names() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def fixture_options(name: str) -> ConverterOptions:
    """Return the fixture's options without reading its events: reading all events takes half a second."""
    options: ConverterOptions = json.loads((FOLDER / name / "fixture.json").read_text(encoding="utf-8"))["options"]
    return options


@cache
def load_fixture(name: str) -> Fixture:
    """Return the fixture. It is read once, so tests must not change it."""
    about = json.loads((FOLDER / name / "fixture.json").read_text(encoding="utf-8"))
    turns: list[Turn] = []
    for number, turn in enumerate(about["turns"], 1):
        events = _events(FOLDER / name / f"turn{number}.jsonl")
        turns.append(_turn(turn, events, turns))
    return Fixture(name, about["description"], about["options"], turns)


def _events(path: Path) -> list[Event]:
    # Not `splitlines`: a text may hold U+2028, which JSON leaves as it is.
    lines = path.read_text(encoding="utf-8").split("\n")
    return [Event.model_validate_json(line) for line in lines if line]


def _turn(about: Json, events: list[Event], earlier: Sequence[Turn]) -> Turn:
    turn = Turn(about["actions"], events, about["raised"], [], None)
    if turn.continues:
        last = earlier[-1]
        return replace(turn, past=[*last.past, *last.events], message_id=last.message_id, taken_ids=last.taken_ids)
    taken = Transcript(event for one in earlier for event in one.events if not event.partial).call_ids
    return replace(turn, message_id=_message_id(events, earlier), taken_ids=[*taken])


def _message_id(events: list[Event], earlier: Sequence[Turn]) -> str | None:
    """Return the id of the message. For the first message of an invocation, this is the invocation's id.

    A task agent may reply to a later text in the same invocation. This reply is a further message with a different id.
    """
    if not events:
        return None
    invocation = events[0].invocation_id
    nth = sum(not turn.continues and turn.events[0].invocation_id == invocation for turn in earlier if turn.events)
    return message_id(invocation, nth + 1)


def fold(fixture: Fixture, turns: Sequence[Sequence[AnyChunk]], ai_sdk: AiSdkVersion) -> list[UIMessage]:
    """Return the assistant messages after these turns, as the Python reducer makes them. Adds the user's answers."""
    messages: list[UIMessage] = []
    for number, (turn, chunks) in enumerate(zip(fixture.turns, turns, strict=True)):
        if turn.reloads:
            messages = [message for message in reloaded(fixture, number, ai_sdk) if message["role"] == "assistant"]
        continued = _answered(messages.pop(), turn.actions) if turn.continues else None
        messages.append(_reduced(chunks, ai_sdk, continued))
    return messages


def reloaded(fixture: Fixture, number: int, ai_sdk: AiSdkVersion) -> list[UIMessage]:
    """Return the history for a page that is loaded before this turn, counted from 0."""
    stored = [event for turn in fixture.turns[:number] for event in turn.events if not event.partial]
    session = Session(id="chat", app_name="app", user_id="ann", events=stored)
    return session_to_messages(session, **fixture.options_for(ai_sdk))


def stored_session(fixture: Fixture) -> Session:
    """Return the session that an endpoint stores for the fixture's runs, including runs that broke off."""
    stored: list[Event] = []
    for turn in fixture.turns:
        events_before_run = len(stored)
        stored += [_with_reasons(event, turn) for event in turn.events if not event.partial]
        stored += _completing_events(fixture, turn, stored, events_before_run)
    return Session(id="chat", app_name="app", user_id="ann", events=stored)


def _with_reasons(event: Event, turn: Turn) -> Event:
    """Return the event as the endpoint stores it, with the reason of the user's decision."""
    reasons = {action["approve"]: action["reason"] for action in turn.actions if "reason" in action}
    if event.author != "user" or not reasons:
        return event
    return event.model_copy(update={"custom_metadata": {METADATA_KEY: {"reasons": reasons}}})


def _completing_events(fixture: Fixture, turn: Turn, stored: Sequence[Event], events_before_run: int) -> list[Event]:
    conversion = chunk_conversion(turn.past, turn.message_id, Settings(**fixture.options), CallIds(turn.taken_ids))
    output = RunOutput()
    output.follow(conversion)
    for event in turn.events:
        conversion.feed(event)
    if turn.raised is None:
        conversion.finish()
    else:
        conversion.fail(RunRaisedError(turn.raised))
    assert conversion.outcome is not None
    return completing_events(
        Transcript(stored), output, conversion.outcome, events_before_run=events_before_run, agent="root", now=0.0
    )


def _reduced(chunks: Sequence[AnyChunk], ai_sdk: AiSdkVersion, message: UIMessage | None) -> UIMessage:
    """Return the client's message for the response."""
    reducer = MessageReducer(ai_sdk=ai_sdk, message=message)
    shown = 0
    try:
        for chunk in chunks:
            if reducer.apply(chunk) != "nothing":
                shown = len(reducer.message["parts"])
    except ClientStreamError:
        if chunk != chunks[-1] or chunk["type"] != "error":
            raise
    return {**reducer.message, "parts": reducer.message["parts"][:shown]}


def _answered(message: UIMessage, actions: Sequence[Json]) -> UIMessage:
    """Return the message that the page sends with these answers."""
    parts: list[Any] = message["parts"]
    for action in actions:
        parts = [_answered_part(part, action) for part in parts]
    return {**message, "parts": parts}


def _answered_part(part: Json, action: Json) -> Json:
    match action:
        case {"approve": str(approval_id), **answer} if part.get("approval") == {"id": approval_id}:
            return {**part, "state": "approval-responded", "approval": {"id": approval_id, **answer}}
        case {"answer": str(call_id), "output": output} if part.get("toolCallId") == call_id:
            return {**part, "state": "output-available", "output": output}
    return part


def render(turns: Sequence[Json], messages: Sequence[UIMessage]) -> str:
    """Return the text of an expectation: each chunk on a line, with the JSON that is sent."""
    shown_turns = ",\n".join(map(_turn_text, turns))
    shown_messages = ",\n".join(map(_message_text, messages))
    return f'{{"turns": [\n{shown_turns}\n],\n"messages": [\n{shown_messages}\n]}}\n'


def _turn_text(turn: Json) -> str:
    history = ",\n".join(map(_message_text, turn.get("history", ())))
    head = f'"history": [\n{history}\n],\n' if history else ""
    return f'{{{head}"chunks": [\n' + ",\n".join(map(_wire_json, turn["chunks"])) + "\n]}"


def _wire_json(chunk: AnyChunk) -> str:
    return encode_sse(chunk).decode().removeprefix("data: ").removesuffix("\n\n")


def _message_text(message: UIMessage) -> str:
    head = json.dumps({key: value for key, value in message.items() if key != "parts"}, ensure_ascii=False)
    parts = ",\n".join(" " + json.dumps(part, ensure_ascii=False) for part in message["parts"])
    return f'{head[:-1]}, "parts": [\n{parts}\n]}}'


def expectation(fixture: Fixture, ai_sdk: AiSdkVersion) -> str:
    """Return the text of the fixture's current expectation."""
    turns = fixture.convert(ai_sdk)
    shown = [{"chunks": chunks, **_history(fixture, number, ai_sdk)} for number, chunks in enumerate(turns)]
    return render(shown, fold(fixture, turns, ai_sdk))


def _history(fixture: Fixture, number: int, ai_sdk: AiSdkVersion) -> Json:
    return {"history": reloaded(fixture, number, ai_sdk)} if fixture.turns[number].reloads else {}


def count_deltas(fixture: Fixture) -> int:
    """Return the number of deltas of text, reasoning and tool input in the fixture's streams."""
    return sum(chunk["type"].endswith("-delta") for chunks in fixture.convert(6) for chunk in chunks)


def readme_with_index() -> str:
    """Return the README with a new index."""
    text, _, _ = README.read_text(encoding="utf-8").partition(INDEX_HEADING)
    rows = [f"| `{one.name}` | {one.description} | {count_deltas(one)} |" for one in map(load_fixture, fixture_names())]
    return "\n".join([f"{text}{INDEX_HEADING}", "| fixture | shows | deltas |", "|---|---|---|", *rows, ""])
