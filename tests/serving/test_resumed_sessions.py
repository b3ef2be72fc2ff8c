"""The session of a run that is executed again, and the partial texts of models whose workers have died."""

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from stream_protocol.serving.engine import RunRecord
from stream_protocol.serving.engine._repeated_run import RepeatedRun
from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
from stream_protocol.serving.engine._shown import is_partial_text, unfinished_texts
from stream_protocol.serving.run_logs import EventBuffer
from stream_protocol.session.transcript import update_metadata
from tests.serving.keeping_engine import Execution
from tests.serving.run_records import run_record
from tests.session.test_run_output import shown

if TYPE_CHECKING:
    from google.adk.runners import Runner

RUN = "invocation-1"


def says(text: str, author: str = "root") -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, invocation_id=RUN, content=types.Content(role=role, parts=[types.Part(text=text)]))


def sent(*chunks: Mapping[str, Any]) -> list[bytes]:
    return [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks]


def told(*texts: str) -> list[bytes]:
    """The parts that a response has shown. Its last text has not ended."""
    events: list[bytes] = []
    for number, text in enumerate(texts):
        part = str(number)
        events += sent({"type": "text-start", "id": part}, {"type": "text-delta", "id": part, "delta": text})
        if number < len(texts) - 1:
            events += sent({"type": "text-end", "id": part})
    return events


def half(*shown: str, said: tuple[str, ...] = ()) -> Event | None:
    return next(iter(unfinished_texts([told(*shown)], said, author="root", invocation_id=RUN)), None)


def texts(session: Session) -> list[str]:
    return [part.text or "" for event in session.events for part in (event.content and event.content.parts) or []]


async def session_of(service: BaseSessionService, chat_id: str) -> Session:
    session = await service.get_session(app_name="app", user_id="ann", session_id=chat_id)
    assert session is not None
    return session


async def resumed(
    *stored: Event, idempotency_key: str = "", record: str = "r1"
) -> tuple[InMemorySessionService, ResumedSessions]:
    """A session in which an earlier execution has stored these after the question."""
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="ann", session_id="c1")
    for event in (says("hi", "user"), *stored):
        await service.append_event(session, event)
    return service, ResumedSessions(service, session, record_of(record, idempotency_key))


def record_of(record: str, idempotency_key: str = "", found_events: int = 1) -> RunRecord:
    return run_record(id=record, idempotency_key=idempotency_key, invocation_id=RUN, found_events=found_events)


def message_of(record: str | None, idempotency_key: str = "request") -> Event:
    """A message of the user that a run with this record has stored."""
    event = says("And now?", "user")
    update_metadata(event, idempotency_key=idempotency_key, record=record)
    return event


@pytest.mark.parametrize(
    ("message", "is_over"),
    [
        (message_of("r1"), False),
        (message_of(None), False),  # of a version that stored no record
        (message_of("r2"), True),  # the page has sent its request again, because the worker of `r1` did not respond
        (message_of(None, "another request"), True),
    ],
)
async def test_a_run_is_over_if_another_run_has_stored_its_message(message: Event, is_over: bool) -> None:
    _, sessions = await resumed(message, says("The answer."), idempotency_key="request")
    assert sessions.is_over == is_over


def test_a_text_that_no_model_has_ended_is_a_half() -> None:
    event = half("Whole.", "Ha", said=("Whole.",))
    assert event is not None
    assert is_partial_text(event)
    assert event.content == types.Content(role="model", parts=[types.Part(text="Ha")])


def test_what_is_said_again_or_had_ended_is_none() -> None:
    assert half("Whole.", "Ha", said=("Whole.", "Half and more.")) is None
    assert half("Whole.", said=("Whole.",)) is None
    assert half() is None
    assert half("Gone.", "Whole.", said=("Whole.",)) is None


def test_a_text_that_begins_like_an_earlier_text_is_not_repeated_by_it() -> None:
    event = half("Step 1 taken. ", "Step ", said=("Step 1 taken. ",))
    assert event is not None
    assert half("Step 1 taken. ", "Step ", said=("Step 1 taken. ", "Step ")) is None


def test_each_dead_worker_can_have_a_half() -> None:
    logs = [told("Whole.", "Ha"), told("Whole."), told("Whole.", "Ha", "Hal")]
    halves = unfinished_texts(logs, ["Whole."], author="root", invocation_id=RUN)
    assert [event.content.parts[0].text for event in halves if event.content and event.content.parts] == ["Ha", "Hal"]


def side_by_side(*ends: dict[str, str]) -> list[bytes]:
    """The parts of a response of two agents that run in parallel. ``ends``: its last chunks."""
    by_left, by_right = ({"providerMetadata": {"adk": {"author": name}}} for name in ("left", "right"))
    return sent(
        {"type": "text-start", "id": "0", **by_left},
        {"type": "text-start", "id": "1", **by_right},
        {"type": "text-delta", "id": "0", "delta": "Le"},
        {"type": "text-delta", "id": "1", "delta": "Ri"},
        *ends,
    )


ENDED = ({"type": "text-end", "id": "0"}, {"type": "text-end", "id": "1"})


@pytest.mark.parametrize(
    ("ends", "said", "halves"),
    [
        ((), (), [("left", "Le"), ("right", "Ri")]),
        ((*ENDED, {"type": "finish-step"}, {"type": "abort"}), (), [("left", "Le"), ("right", "Ri")]),
        ((), ("Right.",), [("left", "Le")]),
        ((ENDED[0], {"type": "text-delta", "id": "1", "delta": "ght"}), (), [("right", "Right")]),
    ],
    ids=["killed", "stopped", "one is repeated", "one is whole"],
)
def test_agents_in_parallel_can_have_a_half_each(
    ends: tuple[dict[str, str], ...], said: tuple[str, ...], halves: list[tuple[str, str]]
) -> None:
    found = unfinished_texts([side_by_side(*ends)], said, author="root", invocation_id=RUN)
    assert [(event.author, part.text) for event in found for part in (event.content and event.content.parts) or ()] == (
        halves
    )


async def test_half_texts_are_taken_where_they_were_stored_and_each_once() -> None:
    first, second = half("One, "), half("Two, ")
    assert first is not None
    assert second is not None
    service, sessions = await resumed(first, says("One, done."), second)
    session = await session_of(sessions, "c1")
    assert texts(session) == ["hi"]
    assert sessions.take_partial_texts(rest=False) == []
    await sessions.append_event(session, says("One, done."))
    assert [event.id for event in sessions.take_partial_texts(rest=False)] == [first.id]
    assert sessions.take_partial_texts(rest=False) == []
    await sessions.append_event(session, says("Two, done."))  # new: all that is stored was before it
    assert [event.id for event in sessions.take_partial_texts(rest=True)] == [second.id]
    stored = await session_of(service, "c1")
    assert texts(stored) == ["hi", "One, ", "One, done.", "Two, ", "Two, done."]


async def test_a_whole_text_is_not_taken_for_a_partial_text() -> None:
    one = half("Same")
    assert one is not None
    whole = says("Same")
    service, sessions = await resumed(one, whole)
    event = await sessions.append_event(sessions.found, says("Same"))
    assert event.id == whole.id
    assert [each.id for each in sessions.take_partial_texts(rest=False)] == [one.id]
    stored = await session_of(service, "c1")
    assert texts(stored) == ["hi", "Same", "Same"]


async def test_another_session_is_that_of_the_store() -> None:
    service, sessions = await resumed(says("Stored."))
    await sessions.create_session(app_name="app", user_id="ann", session_id="c2", state={"a": 1})
    other = await session_of(sessions, "c2")
    assert other.state == {"a": 1}
    assert {each.id for each in (await sessions.list_sessions(app_name="app", user_id="ann")).sessions} == {"c1", "c2"}
    await sessions.delete_session(app_name="app", user_id="ann", session_id="c2")
    assert await service.get_session(app_name="app", user_id="ann", session_id="c2") is None
    await sessions.append_event(sessions.found, says("Pa").model_copy(update={"partial": True}))
    await sessions.fence("run-2")
    stored = await session_of(service, "c1")
    assert [event.content for event in stored.events][-1] is None


async def test_a_tool_finds_all_that_its_own_service_has() -> None:
    service, sessions = await resumed()
    await service.create_session(app_name="app", user_id="ann", session_id="c2", state={"user:name": "Ann"})
    assert await sessions.get_user_state(app_name="app", user_id="ann") == {"name": "Ann"}
    assert sessions.sessions is service.sessions  # only this class has it


@pytest.mark.parametrize("is_fragment", [True, False], ids=["fragment", "complete event"])
async def test_a_half_text_is_shown_where_it_is_stored(is_fragment: bool) -> None:
    service, sessions = await resumed()

    async def events() -> AsyncGenerator[Event]:
        event = says("Left.", "left")
        event.partial = is_fragment
        await sessions.append_event(sessions.found, event)
        yield event

    repeated_run = RepeatedRun(sessions, Execution(cast("Runner", None)), [told("I am right")], EventBuffer())
    found = [event async for event in repeated_run.shown(events())]
    shown = [part.text for event in found for part in (event.content and event.content.parts) or []]
    stored = texts(await session_of(service, "c1"))[1:]
    assert {*shown} == {"I am right", "Left."}
    assert stored == [text for text in shown if text == "I am right" or not is_fragment]


def test_what_is_not_shown_again_is_of_agents() -> None:
    again, missing = says("Well."), says("Done.")
    output = shown([again])
    output.add_earlier([says("hi", "user"), again, Event(author="user"), missing])
    assert output.not_shown_again() == [missing]


async def test_a_partial_text_stays_before_the_answer_that_follows_it_in_a_store_that_sorts_by_time(
    tmp_path: Path,
) -> None:
    """ADK sets the time of the answer before the model call, and the fence of a worker whose clock is late."""
    store = SqliteSessionService(str(tmp_path / "chats.db"))
    session = await store.create_session(app_name="app", user_id="ann", session_id="c1")
    question = says("hi", "user")
    question.timestamp += 60  # the clock of the dead worker was fast
    await store.append_event(session, question)
    sessions = ResumedSessions(store, session, record_of("r1", found_events=1))
    await sessions.fence("execution 2")
    answer, partial_text = says("Half and more."), half("Half")
    assert partial_text is not None
    await sessions.append_shown(partial_text)
    await sessions.append_event(sessions.found, answer)
    assert texts(await session_of(store, "c1")) == ["hi", "Half", "Half and more."]
