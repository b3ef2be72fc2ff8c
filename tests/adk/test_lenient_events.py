"""Events that the installed ADK cannot parse are read as far as possible."""

import logging
from copy import deepcopy
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types
from pydantic import model_validator

from stream_protocol.adk import NotAnEventError, WarnOnce, _lenient_events, read_event
from tests.batch import batch

CALL = types.Part(function_call=types.FunctionCall(id="A", name="look", args={"novel": 1}))
KNOWN = Event(
    invocation_id="e-1",
    author="root",
    content=types.Content(role="model", parts=[types.Part(text="hi"), CALL]),
)


def dumped(*, by_alias: bool = True) -> dict[str, Any]:
    return KNOWN.model_dump(mode="json", by_alias=by_alias, exclude_none=True)


def fields_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The fields that were warned of, and whether they or their values are unknown."""
    return [record.getMessage().removeprefix("Ignored the field ").split(",")[0] for record in caplog.records]


@pytest.mark.parametrize("by_alias", [True, False])
def test_fields_of_another_adk_are_left_out_and_told_once(by_alias: bool, caplog: pytest.LogCaptureFixture) -> None:
    call = "functionCall" if by_alias else "function_call"
    warn = WarnOnce()
    for _ in range(2):
        novel = dumped(by_alias=by_alias)
        novel["unheardOf"] = True
        novel["actions"]["novelAction"] = {"x": 1}
        novel["content"]["parts"][0]["novel_part"] = 1
        novel["content"]["parts"][1][call]["novelField"] = 2
        assert read_event(novel, warn) == KNOWN
    expected = {"unheardOf", "actions.novelAction", "content.parts.novel_part", f"content.parts.{call}.novelField"}
    assert (set(fields_in(caplog)), len(caplog.records)) == (expected, len(expected))


WRONG: list[tuple[str, Any, str]] = [
    (
        "a number as text",
        {"content": {"role": "model", "parts": [{"text": 5}, {"text": "rest"}]}},
        "content.parts.text",
    ),
    ("no part", {"content": {"role": "model", "parts": [3, {"text": "rest"}, "x"]}}, "content.parts"),
    (
        "arguments that are none",
        {"content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": 4}}, {"text": "rest"}]}},
        "content.parts.functionCall.args",
    ),
    (
        "bytes that are none",
        {"content": {"role": "model", "parts": [{"inlineData": {"data": "@"}}, {"text": "rest"}]}},
        "content.parts.inlineData.data",
    ),
    ("a number as error code", {"errorCode": 5}, "errorCode"),
    ("objects where a name belongs", {"finishReason": {"a": {"b": []}}}, "finishReason"),
    ("lists where a name belongs", {"finishReason": [[{}]]}, "finishReason"),
    ("an action that lacks its fields", {"actions": {"compaction": {"a": 1}}}, "actions.compaction.a"),
    (
        "an action that lacks a field without its wrong value",
        {"actions": {"compaction": {"startTimestamp": "x", "endTimestamp": 1.0, "compactedContent": {}}}},
        "actions.compaction",
    ),
    ("a field whose name is no text", {3: 4}, "3"),
    ("a key that is no text", {"actions": {"stateDelta": {3: 4}}}, "actions.stateDelta"),
    ("an unknown credential", {"actions": {"requestedAuthConfigs": {"A": {"authScheme": 1}}}}, ""),
    ("ids that are none", {"longRunningToolIds": 1}, "longRunningToolIds"),
    ("a time that is none", {"timestamp": "yesterday"}, "timestamp"),
    ("what ADK's constructor would take for content", {"message": 5}, "message"),
    ("what it would take for content, beside content", {"message": "hi"}, "message"),
    ("what it would take for state", {"state": [1], "route": {}, "nodePath": 1}, "state"),
]


@pytest.mark.parametrize(("change", "field"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_value_that_cannot_be_read_leaves_the_rest(
    change: dict[str, Any], field: str, caplog: pytest.LogCaptureFixture
) -> None:
    value = {"author": "root", "content": {"role": "model", "parts": [{"text": "rest"}]}, **change}
    event = read_event(value, WarnOnce())
    assert event.content is not None
    assert "rest" in [part.text for part in event.content.parts or ()]
    assert caplog.records
    assert not field or field in fields_in(caplog)
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_a_value_that_an_enum_does_not_have_is_kept() -> None:
    with pytest.warns(UserWarning, match="NOVEL is not a valid FinishReason"):  # google-genai's own
        event = read_event({**dumped(), "finishReason": "NOVEL"}, WarnOnce())
    assert event.finish_reason is not None
    assert event.finish_reason.value == "NOVEL"


@batch(
    change={
        "a number for an enum": ({"finishReason": 7}, ["finishReason"]),
        "several": (
            {"finishReason": True, "usageMetadata": {"trafficType": 1, "promptTokenCount": 3}},
            ["finishReason", "usageMetadata.trafficType"],
        ),
        "in a list": (
            {"usage_metadata": {"prompt_tokens_details": [{"modality": 1}, {"modality": "TEXT"}, {"modality": {}}]}},
            2 * ["usage_metadata.prompt_tokens_details.modality"],
        ),
        "beside one that is refused": ({"finishReason": [], "errorCode": 5}, ["finishReason", "errorCode"]),
        "a key that is no text": ({"content": {"parts": [{"text": "hi"}, {1: 2}]}}, ["content.parts.1"]),
        "in a part": (
            {"content": {"parts": [{"text": "hi"}, {"executableCode": {"code": "1", "language": 3}}]}},
            ["content.parts.executableCode.language"],
        ),
    }
)
def test_a_value_of_a_wrong_type_leaves_the_rest(change: tuple[dict[str, Any], list[str]]) -> None:
    changed, fields = change
    told: list[str] = []

    class RecordedWarnings(WarnOnce):
        def __call__(self, text: str) -> None:
            told.append(text.removeprefix("Ignored the field ").split(",")[0])

    event = read_event({**dumped(), **changed}, RecordedWarnings())
    assert event.content is not None
    assert "hi" in [part.text for part in event.content.parts or ()]
    assert told == fields


@pytest.mark.parametrize("reading", [dumped(), {**dumped(), "message": "hi", "state": 1, "content": {"parts": [3]}}])
def test_a_dictionary_is_not_changed(reading: dict[str, Any]) -> None:
    before = deepcopy(reading)
    read_event(reading, WarnOnce())
    assert reading == before


def test_an_event_that_is_refused_as_a_whole_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class StrictEvent(Event):
        @model_validator(mode="after")
        def refuse(self) -> "StrictEvent":
            raise ValueError("not today")

    monkeypatch.setattr(_lenient_events, "Event", StrictEvent)
    with pytest.raises(NotAnEventError, match="not today"):
        read_event(dumped(), WarnOnce())


def test_what_is_nested_too_deeply_is_no_event() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(NotAnEventError, match="nested too deeply"):
        read_event({**dumped(), "actions": {"stateDelta": deep}, "errorCode": 5}, WarnOnce())


def test_names_from_a_file_cannot_write_to_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    novel = {**dumped(), "\x1b[31m\n": 1, "x" * 500: 1}
    novel["content"]["parts"][0]["\n\x9b"] = 1
    assert read_event(novel, WarnOnce()) == KNOWN
    assert len(caplog.records) == 3
    assert all(record.getMessage().isprintable() and len(record.getMessage()) < 200 for record in caplog.records)


def test_what_is_known_is_read_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert read_event(dumped(), WarnOnce()) == KNOWN
    assert read_event(KNOWN.model_dump(mode="json"), WarnOnce()) == KNOWN
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
