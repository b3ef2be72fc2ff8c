"""Every recorded conversation: whatever form its session is kept in, a replay gives the messages of its history. What its
page had folded is the history, too: ``tests/session/test_history_of_fixtures.py``."""

import json
from pathlib import Path

from stream_protocol.session import session_to_messages
from tests.batch import batch
from tests.conformance.fixtures import FOLDER, VERSIONS, fixture_names, load_fixture, stored_session
from tests.readings import STORES, copy_to_store, replayed, replays
from stream_protocol.wire import AiSdkVersion

NAMES = fixture_names()


@batch(name=NAMES, ai_sdk=VERSIONS)
def test_the_replay_of_a_session_gives_its_history(name: str, ai_sdk: AiSdkVersion, tmp_path: Path) -> None:
    fixture = load_fixture(name)
    session, options = stored_session(fixture), fixture.options_for(ai_sdk)
    history = session_to_messages(session, **options)
    for form, messages in replays(session, tmp_path, **options):
        assert messages == history, form


@batch(store=STORES, name=NAMES[::8])
async def test_so_does_the_replay_of_a_store(store: str, name: str, tmp_path: Path) -> None:
    ...
