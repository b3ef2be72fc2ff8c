"""Every recorded conversation: the live client's folded messages equal the history of the stored events."""

import json
from typing import Any

from stream_protocol.session import session_to_messages
from stream_protocol.wire import AiSdkVersion, UIMessage
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.conformance.fixtures import VERSIONS, Fixture, fixture_names, load_fixture, stored_session
from tests.warned import warned

DIFFERENT = {
    "aggregate_reordered": "the stored order is that of the complete response",
    "code_executor": "the stored text is the one that the executor rewrote",
    "old_first_fragment_misrouted": "ADK before 2.11 stored another id than it streamed",
    "old_id_changes_to_aggregate": "ADK before 2.11 stored another id than it streamed",
    "old_ids_change_for_two_calls": "ADK before 2.11 stored another id than it streamed",
    "approval_superseded": "the words that came in place of an answer close the question",
    "redacted": "the stored text is the redacted one",
}
BEFORE_SERVING = ("adk_1_24_", "adk_2_0_")
"""Old ADKs, which no endpoint runs on. Their partial events have content that their complete events lack (ids, the
model)."""
NAMES = [name for name in fixture_names() if not name.startswith(BEFORE_SERVING)]


def history(fixture: Fixture, ai_sdk: AiSdkVersion) -> list[UIMessage]:
    messages = session_to_messages(stored_session(fixture), **fixture.options_for(ai_sdk))
    return [message for message in messages if message["role"] == "assistant"]


def expected(fixture: Fixture, ai_sdk: AiSdkVersion) -> list[Any]:
    messages: list[Any] = json.loads(fixture.expected_path(ai_sdk).read_text(encoding="utf-8"))["messages"]
    return messages


UNEXPECTED = {
    "no_call_ids": ["ADK gave a function call no id; it is call_0", "ADK gave a function call no id; it is call_1"],
    "no_ids": [f"ADK gave a function call no id; it is call_{number}" for number in range(4)],
    "unknown_part": ["Skipped a part with video_metadata"],
}
"""Expected warnings of a live conversation. Each response warns once for each call. No other warning is allowed."""


@batch(name=fixture_names())
def test_only_the_unexpected_is_warned_of_and_not_again_when_it_is_read_later(name: str) -> None:
    fixture = load_fixture(name)
    with warned() as live:
        fixture.convert(6)
    stored = stored_session(fixture)
    with warned() as later:
        session_to_messages(stored, **fixture.options_for(6))
    assert (live, later) == (UNEXPECTED.get(name, []), [])


@batch(name=NAMES, ai_sdk=VERSIONS)
def test_history_equals_the_folded_stream(name: str, ai_sdk: AiSdkVersion) -> None:
    fixture = load_fixture(name)
    equal = comparable(history(fixture, ai_sdk)) == comparable(expected(fixture, ai_sdk))
    assert equal is (name not in DIFFERENT), DIFFERENT.get(name)
