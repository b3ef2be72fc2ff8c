"""The streams of recordings of real older ADKs (``adk_<version>_…``)."""

import re
from dataclasses import replace
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol import iter_chunks
from stream_protocol.wire.client._reducer import reduce_chunks
from tests.conformance.fixtures import Fixture, fixture_names, fold, load_fixture

VERSIONS = ("1_24", "2_0", "2_5", "2_9")
NEWEST = VERSIONS[-1]
SCENARIOS = sorted(name.removeprefix(f"adk_{NEWEST}_") for name in fixture_names() if name.startswith(f"adk_{NEWEST}_"))

UNSTORED = {
    "error_in_text": "what a failing model has said is not stored",
    "streamed_arguments_two_calls": "the second of two merged calls is only in fragments",
}
"""Scenarios in which the page saw what no stored event says, and why."""

UNREPORTED = {("1_24", "tool_raises"): "ADK 1.x reports nothing of what a tool raised: it only raises it"}
"""Facts that a version does not report, and the others do."""

each_version = pytest.mark.parametrize("version", VERSIONS)
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


def recording(version: str, scenario: str) -> Fixture:
    return load_fixture(f"adk_{version}_{scenario}")


def events_of(fixture: Fixture) -> list[Event]:
    return [event for turn in fixture.turns for event in turn.events]


def parts_of(fixture: Fixture) -> list[Any]:
    """The parts of all messages, without ids: those differ from version to version."""
    messages = fold(fixture, fixture.convert(6), 6)
    return [without_ids(part) for message in messages for part in message["parts"]]


def without_ids(value: Any) -> Any:
    match value:
        case dict():
            return {key: without_ids(item) for key, item in value.items()}
        case list():
            return [without_ids(item) for item in value]
        case str():
            return re.sub(r"adk-\d{4}", "adk-N", value)
    return value


def call_ids(events: list[Event], *, partial: bool) -> list[str | None]:
    said = (event for event in events if bool(event.partial) is partial)
    return [call.id for event in said for call in event.get_function_calls()]


@each_version
def test_every_scenario_is_recorded_with_every_version(version: str) -> None:
    prefix = f"adk_{version}_"
    assert sorted(name.removeprefix(prefix) for name in fixture_names() if name.startswith(prefix)) == SCENARIOS


@each_version
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "credential"])
def test_a_scenario_becomes_the_same_message_under_every_version(version: str, scenario: str) -> None:
    parts, newest = parts_of(recording(version, scenario)), parts_of(recording(NEWEST, scenario))
    if (version, scenario) in UNREPORTED:
        assert [part.pop("errorText", None) for part in parts] != [part.pop("errorText", None) for part in newest]
    assert parts == newest


@each_version
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name not in UNSTORED])
def test_what_is_stored_says_the_same_as_what_was_streamed(version: str, scenario: str) -> None:
    fixture = recording(version, scenario)
    stored = replace(
        fixture, turns=[replace(turn, events=whole(turn.events), past=whole(turn.past)) for turn in fixture.turns]
    )
    assert said_by(stored) == said_by(fixture)


def whole(events: list[Event]) -> list[Event]:
    return [event for event in events if not event.partial]


def said_by(fixture: Fixture) -> list[Any]:
    """The parts without their steps, which branches that interleave share."""
    return [part for part in parts_of(fixture) if part["type"] != "step-start"]


@each_scenario
def test_fragments_have_event_ids_of_their_own_up_to_2_5(scenario: str) -> None:
    for version in VERSIONS[:3]:
        ids = [event.id for event in events_of(recording(version, scenario))]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_fragment_of_a_streamed_call_has_a_call_id_of_its_own(version: str) -> None:
    fragments = call_ids(events_of(recording(version, "streamed_arguments")), partial=True)
    assert len(set(fragments)) == len(fragments) > 2


def test_the_complete_call_has_an_id_of_its_own_in_1_24() -> None:
    events = events_of(recording("1_24", "streamed_arguments"))
    assert not set(call_ids(events, partial=False)) & set(call_ids(events, partial=True))


@each_version
def test_a_merged_call_shows_what_ran_and_the_other_one_ends(version: str) -> None:
    parts = parts_of(recording(version, "streamed_arguments_two_calls"))
    first, second = [part for part in parts if part["type"] == "tool-get_weather"]
    assert first["input"] == {"city": "BostonSan Francisco"}
    assert first["state"] == "output-available"
    assert second["state"] == "output-error"


@each_version
def test_the_message_names_the_model_that_only_fragments_name(version: str) -> None:
    finish: Any = recording(version, "text_tool_text").convert(6)[0][-1]
    assert finish["messageMetadata"]["modelId"] == "gemini-3-pro-preview"


@each_version
def test_a_credential_request_names_its_call_as_the_client_knows_it(version: str) -> None:
    fixture = recording(version, "credential")
    shown: list[Any] = fold(fixture, fixture.convert(6), 6)[0]["parts"]
    calendar, request = (part for part in shown if part["type"].startswith("tool-"))
    assert request["input"]["functionCallId"] == calendar["toolCallId"]


def test_a_credential_request_of_a_whole_toolset_keeps_the_name_that_adk_gave_it() -> None:
    args = {"functionCallId": "_adk_toolset_auth_McpToolset", "authConfig": {}}
    call = types.FunctionCall(id="adk-1", name="adk_request_credential", args=args)
    content = types.Content(role="user", parts=[types.Part(function_call=call)])
    event = Event(author="root", invocation_id="e-1", content=content, long_running_tool_ids={"adk-1"})
    parts: list[Any] = reduce_chunks(iter_chunks([event]))["parts"]
    assert parts[-1]["input"] == {"functionCallId": "_adk_toolset_auth_McpToolset"}
