"""Every recorded conversation: in whatever form its session is kept, a replay gives the messages of its history.

What its page had folded is the history, too: ``tests/session/test_history_of_fixtures.py``.
"""

from pathlib import Path
from typing import Final

import pytest
from google.adk.sessions import DatabaseSessionService

from stream_protocol.session import session_to_messages
from tests.batch import batch
from tests.conformance.fixtures import FOLDER, fixture_names, fold, load_fixture, stored_session
from tests.readings import STORES, replayed, replays

NAMES: Final = fixture_names()

IN_STORES: Final = NAMES[::8]
"""A store is slow, and the events are in it as in the other forms."""

DIFFERENT: Final = {
    "adk_1_24_tool_raises": "only the end of the run tells that it raised",
    "approval_denied": "the user's reason is kept on the stored event",
    "approval_superseded": "the words that came in place of an answer close the question",
    "error_in_second_agent": "only the end of the run tells that it raised",
}


@batch(name=NAMES)
def test_the_replay_of_a_session_gives_its_history(name: str, tmp_path: Path) -> None:
    fixture = load_fixture(name)
    session, options = stored_session(fixture), fixture.options_for(6)
    history = session_to_messages(session, **options)
    for form, messages in replays(session, tmp_path, **options):
        assert messages == history, form


@pytest.mark.parametrize("store", STORES)
async def test_the_replay_of_a_store_gives_the_history_of_each_session(store: str, tmp_path: Path) -> None:
    service = STORES[store](tmp_path / "store")
    for name in IN_STORES:
        session = await service.create_session(app_name="app", user_id="ann", session_id=name)
        for number, event in enumerate(stored_session(load_fixture(name)).events, 1):
            await service.append_event(session, event.model_copy(update={"timestamp": float(number)}))
    for name in IN_STORES:
        read = await service.get_session(app_name="app", user_id="ann", session_id=name)
        assert read is not None
        options = load_fixture(name).options_for(6)
        assert replayed(tmp_path / "store", session=name, **options) == session_to_messages(read, **options)
    if isinstance(service, DatabaseSessionService):
        await service.close()


@batch(name=NAMES)
def test_the_replay_of_its_runs_gives_what_its_page_had_folded(name: str, tmp_path: Path) -> None:
    fixture = load_fixture(name)
    turns = [FOLDER / name / f"turn{number}.jsonl" for number in range(1, len(fixture.turns) + 1)]
    (tmp_path / "runs").write_text("".join(turn.read_text("utf-8") for turn in turns), "utf-8")
    messages = replayed(tmp_path / "runs", **fixture.options_for(6))
    answers = [message for message in messages if message["role"] == "assistant"]
    equal = answers == [message for message in fold(fixture, fixture.convert(6), 6) if message["parts"]]
    assert equal is (name not in DIFFERENT), DIFFERENT.get(name)
