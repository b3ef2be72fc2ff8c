"""SQLite stores of ADK's schema 0, written by ADK's own classes, are read without unpickling."""

import logging
import pickle
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.sessions import Session
from google.adk.sessions.schemas import v0
from google.genai import types
from sqlalchemy import create_engine, orm

from stream_protocol.recording import RecordingError, load_recording, replay_messages
from stream_protocol.recording.read._old_stores import _names_in
from stream_protocol.session import session_to_messages
from tests.batch import batch
from tests.conformance.fixtures import fixture_names, load_fixture, stored_session
from tests.stream.building import decision, response, results, waiting


def write(path: Path, *sessions: Session) -> None:
    """Write a store of schema 0 with these sessions."""
    engine = create_engine(f"sqlite:///{path}")
    v0.Base.metadata.create_all(engine)
    with orm.Session(engine) as store:
        for session in sessions:
            names = {"app_name": session.app_name, "user_id": session.user_id, "id": session.id}
            store.add(v0.StorageSession(**names, state={}))
            store.add_all(v0.StorageEvent.from_event(session, event) for event in session.events)
        store.commit()
    engine.dispose()


def said(author: str, *parts: types.Part, **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts))
    return Event(invocation_id="e-1", author=author, content=content, **fields)


def session(*events: Event, name: str = "s") -> Session:
    timed = [event.model_copy(update={"timestamp": 1.7e9 + n / 2}) for n, event in enumerate(events)]
    return Session(id=name, app_name="a", user_id="u", events=timed)


HI: Final = said("user", types.Part(text="hi"))
DRAWN: Final = said("root", types.Part.from_bytes(data=b"\xfb\xff", mime_type="image/png"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def shown(path: Path, name: str | None = None, **options: Any) -> list[Any]:
    recording = load_recording(path, session=name)
    return list(replay_messages(recording.stream_turns(), delegated=recording.delegated, **options))


OF_ADK_1: Final = [name for name in fixture_names() if name.startswith("adk_1_24_")]
LOST: Final = {"adk_1_24_transfer": "actions tell of the transfer"}


def without_model(messages: Sequence[Any]) -> list[Any]:
    """Return the messages without their metadata: the schema has no column for the name of the model."""
    return [{key: value for key, value in message.items() if key != "metadata"} for message in messages]


@pytest.fixture(scope="module")
def store_of_adk_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("old") / "store.db"
    write(path, *(session(*stored_session(load_fixture(name)).events, name=name) for name in OF_ADK_1))
    return path


@batch(name=OF_ADK_1)
def test_a_session_reads_as_it_does_in_a_new_store(name: str, store_of_adk_1: Path) -> None:
    fixture = load_fixture(name)
    options = fixture.options_for(6)
    expected = session_to_messages(session(*stored_session(fixture).events), **options)
    equal = without_model(shown(store_of_adk_1, name, **options)) == without_model(expected)
    assert equal is (name not in LOST), LOST.get(name)


def test_events_come_in_the_order_in_which_they_were_made_and_with_their_times(store: Path) -> None:
    write(store, session(HI, *(said("root", types.Part(text=word)) for word in "zyx")), session(HI, name="t"))
    _, message = shown(store, "s")
    assert [part["text"] for part in message["parts"] if "text" in part] == ["z", "y", "x"]
    [turn] = load_recording(store, session="s").turns()
    assert turn.at == (0.0, 0.5, 1.0, 1.5)


def test_bytes_calls_and_flags_are_read(store: Path) -> None:
    asked = types.Part(function_call=types.FunctionCall(id="q", name="ask", args={"n": 1}))
    failed = said("root", types.Part(text="Half"), error_code="MAX_TOKENS", error_message="long", turn_complete=True)
    write(store, session(HI, DRAWN, said("root", asked, long_running_tool_ids={"q"}), failed))
    [turn] = load_recording(store).turns()
    _, drawn, called, last = turn.events
    assert drawn.content == DRAWN.content
    assert called.long_running_tool_ids == {"q"}
    assert (last.error_code, last.error_message, last.turn_complete, last.partial) == (
        "MAX_TOKENS",
        "long",
        True,
        None,
    )


# the pickled actions


class Bomb:
    """An object whose pickle runs code in the process that loads it."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (pytest.fail, ("it was unpickled",))


@pytest.mark.parametrize("actions", [pickle.dumps(Bomb()), b"\x80\x04rubbish", b"", "text", None, b"\xff" * 100])
def test_nothing_is_unpickled(actions: object, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(store, session(HI, said("root", types.Part(text="Hello."))))
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("CREATE TABLE copied AS SELECT * FROM events")
        writer.execute("UPDATE copied SET actions = ?", (actions,))
        writer.execute("DROP TABLE events")
        writer.execute("ALTER TABLE copied RENAME TO events")
        writer.commit()
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *_, **__: pytest.fail("it was unpickled"))
    assert len(shown(store)) == 2


ACTIONS: Final[Sequence[tuple[EventActions, list[str]]]] = [
    (EventActions(), []),
    (EventActions(skip_summarization=False, state_delta={}), []),
    (EventActions(state_delta={"a": 1}), ["state_delta"]),
    (EventActions(state_delta={"a": {}, "state_delta": {"b": [1]}}), ["state_delta"]),
    (EventActions(transfer_to_agent="x", artifact_delta={"a.png": 0}), ["artifact_delta", "transfer_to_agent"]),
    (EventActions(rewind_before_invocation_id="e-1"), ["rewind_before_invocation_id"]),
    (
        EventActions(
            compaction=EventCompaction(
                start_timestamp=0, end_timestamp=1, compacted_content=types.Content(parts=[types.Part(text="x")])
            )
        ),
        ["compaction"],
    ),
]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_names_of_what_actions_hold_are_known_without_unpickling(protocol: int) -> None:
    if protocol >= 2:  # pydantic's models need it
        assert [_names_in(pickle.dumps(actions, protocol)) for actions, _ in ACTIONS] == [names for _, names in ACTIONS]


def test_what_is_lost_is_named_once(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = EventActions(state_delta={"a": 1})
    moved = EventActions(transfer_to_agent="b", state_delta={"c": 2})
    write(store, session(HI, *(said("root", types.Part(text="x"), actions=actions) for actions in (kept, moved))))
    with caplog.at_level(logging.WARNING):
        shown(store)
    [warning] = caplog.messages
    assert warning == (
        "Left out the actions of 2 events, which this store of schema 0 keeps pickled: state_delta, transfer_to_agent. "
        "`adk migrate session` brings the store up to date, with them."
    )


def test_nothing_lost_is_nothing_warned_of(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(store, session(HI, said("root", types.Part(text="x"))))
    shown(store)
    assert caplog.messages == []


def test_the_result_of_an_approved_call_is_no_placeholder_while_another_waits_under_its_id(store: Path) -> None:
    both = [*waiting("pay", "0", "C1", {"x": 1}), *waiting("pay", "0", "C2", {"x": 2})]
    paid = [decision(("C2", True)), results(response("pay", {"paid": 2}, "0"))]
    write(store, session(HI, *both, *paid))
    [parts] = [parts_of(message) for message in shown(store) if message["role"] == "assistant"]
    assert parts == {"0": None, "0.2": {"paid": 2}}


def parts_of(message: Any) -> dict[str, Any]:
    return {part["toolCallId"]: part.get("output") for part in message["parts"] if "toolCallId" in part}


def test_a_column_that_is_not_json_is_named(store: Path) -> None:
    write(store, session(HI))
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("UPDATE events SET content = '{'")
        writer.commit()
    with pytest.raises(RecordingError, match=r"^event 1, content, is not JSON$"):
        load_recording(store)


def test_a_store_of_an_older_schema_has_fewer_columns(store: Path) -> None:
    write(store, session(HI, said("root", types.Part(text="Hello."))))
    with closing(sqlite3.connect(store)) as writer:
        for column in ("citation_metadata", "custom_metadata", "usage_metadata", "input_transcription"):
            writer.execute(f"ALTER TABLE events DROP COLUMN {column}")
        writer.execute("UPDATE events SET timestamp = 'yesterday'")
        writer.commit()
    assert len(shown(store)) == 2
