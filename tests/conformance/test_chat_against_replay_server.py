"""The AI SDK's own chat before the replay server: every fixture, played as the user played it."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from stream_protocol.replay_server import INSTANT, Chats, create_replay_app, load_library
from stream_protocol.wire import AiSdkVersion
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.conformance.fixtures import VERSIONS, fixture_names, load_fixture
from tests.conformance.node_scripts import run_script
from tests.replay_server.fixture_recordings import write_recordings
from tests.served import served

pytestmark = pytest.mark.node


def is_played(name: str) -> bool:
    """Events alone have neither the converter's options nor the run's error."""
    fixture = load_fixture(name)
    told = not fixture.options and all(turn.events and turn.raised is None for turn in fixture.turns)
    events = [event for turn in fixture.turns for event in turn.events]
    if any("reload" in action for turn in fixture.turns for action in turn.actions):
        return False  # there the page goes on with what the session tells, here with what the page had
    return told and not any(event.error_code for event in events)


@cache
def names() -> list[str]:
    return [name for name in fixture_names() if is_played(name)]


Played = Mapping[str, Mapping[str, Any]]
"""By name, what ``play-chats.mjs`` tells."""


@pytest.fixture(scope="module", params=VERSIONS, ids=["ai@6", "ai@7"])
def version(request: pytest.FixtureRequest) -> AiSdkVersion:
    chosen: AiSdkVersion = request.param
    return chosen


@pytest.fixture(scope="module")
def played(version: AiSdkVersion, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """All fixtures by one version of the client, in one process, before one server."""
    library = load_library(write_recordings(tmp_path_factory.mktemp("recordings"), *names()))
    with served(create_replay_app(Chats(library, INSTANT, version), page=False)) as url:
        turns = {name: [turn.actions for turn in load_fixture(name).turns] for name in names()}
        asked = [{"ai": version, "url": url, "id": f"{name}--1", "turns": turns[name]} for name in names()]
        told = run_script("play-chats.mjs", asked)
    return dict(zip(names(), told, strict=True))


@batch(name=names)
def test_the_page_has_the_messages_of_the_recording(name: str, played: Played, version: AiSdkVersion) -> None:
    seen = played[name]
    expected = json.loads(load_fixture(name).expected_path(version).read_text("utf-8"))["messages"]
    assert seen["error"] is None
    assert [message for message in seen["messages"] if message["role"] == "assistant"] == expected


@batch(name=names)
def test_the_server_has_the_messages_of_the_page(name: str, played: Played) -> None:
    assert comparable(played[name]["stored"]) == comparable(played[name]["messages"])
