"""The converter as apps use it: ids, the past, the hook over chunks."""

import logging
from typing import Any, cast

import pytest
from google.genai.types import GroundingChunk, GroundingChunkWeb, GroundingMetadata

from stream_protocol import AnyChunk, StreamProtocolConverter, StreamProtocolError
from tests.stream.building import (
    REJECTED,
    RUN,
    call,
    decision,
    event,
    fragment,
    response,
    results,
    text,
    user,
    waiting,
)
from tests.stream.running import body, decided, kinds, message_of, only, outputs, run, texts


def test_the_first_event_brings_start_and_only_that_one() -> None:
    converter = StreamProtocolConverter()
    assert converter.convert(user(text("Hi"))) == [{"type": "start", "messageId": RUN}]
    assert converter.convert(user(text("Hi"))) == []


@pytest.mark.parametrize(
    ("options", "invocation_id", "start"),
    [
        ({}, RUN, {"type": "start", "messageId": RUN}),
        ({"message_id": "m"}, RUN, {"type": "start", "messageId": "m"}),
        ({}, "", {"type": "start"}),
    ],
)
def test_the_message_id_is_the_given_one_or_the_invocations(
    options: dict[str, Any], invocation_id: str, start: dict[str, Any]
) -> None:
    assert run([event(text("x"), invocation_id=invocation_id)], **options)[0] == start


def test_a_response_without_events_starts_under_the_given_id() -> None:
    assert run([], message_id="m") == [{"type": "start", "messageId": "m"}, {"type": "finish", "finishReason": "other"}]


def test_events_are_only_read() -> None:
    events = [
        fragment(text("a")),
        event(text("a"), call("f", {"x": [1]}, "A")),
        results(response("f", {"r": [1]}, "A")),
    ]
    before = [given.model_dump_json() for given in events]
    run(events)
    assert [given.model_dump_json() for given in events] == before


def test_a_tool_may_change_its_result_after_it_was_converted() -> None:
    shared: dict[str, Any] = {"n": 1}
    converter = StreamProtocolConverter()
    chunks = [*converter.convert(event(call("f", {}, "A"))), *converter.convert(results(response("f", shared, "A")))]
    shared["n"] = 2
    assert outputs(map(dict, chunks)) == {"A": {"n": 1}}


def test_the_same_events_give_the_same_chunks() -> None:
    events = [event(text("a"), call("f", {})), results(response("f", {"r": {"b", "a", "c"}}))]
    assert run(events) == run(events)


# The past

PAST = [event(text("Let me pay.")), *waiting("pay", "A", "B")]


def test_the_past_is_not_sent_again() -> None:
    assert run([], past=PAST) == [{"type": "start", "messageId": RUN}, {"type": "finish", "finishReason": "tool-calls"}]


def test_the_message_of_the_past_is_continued_under_its_id() -> None:
    later = event(text("Hello?"), invocation_id="run-2")
    assert run([later], past=PAST)[0] == {"type": "start", "messageId": RUN}
    assert run([later], past=PAST, message_id="m")[0] == {"type": "start", "messageId": "m"}


def test_part_ids_go_on_where_the_past_ended() -> None:
    chunks = run([decision(("B", True)), results(response("pay", {"ok": 1}, "A")), event(text("Paid."))], past=PAST)
    assert [chunk["id"] for chunk in chunks if chunk["type"] == "text-start"] == ["1"]


def test_a_denial_in_the_past_still_denies() -> None:
    rejected = [results(response("pay", REJECTED, "A"))]
    page = decided(message_of(run(PAST)), {"B": False})
    denied = run(rejected, past=[*PAST, decision(("B", False))], onto=page)
    assert kinds(only(denied, "tool")) == ["tool-output-denied"]
    assert kinds(only(run(rejected, past=PAST), "tool")) == ["tool-output-error"], "nobody has decided"


def test_a_run_of_the_past_that_broke_off_left_nothing_open() -> None:
    past = [*PAST, decision(("B", True)), fragment(text("Pay")), event(call("f", {}, "C"))]
    chunks = body([event(text("Again."))], past=past)
    assert kinds(chunks) == ["start-step", "text-start", "text-delta", "text-end", "finish-step"]


def test_what_failed_in_the_past_does_not_fail_the_response() -> None:
    past = [*PAST, event(error_code="UNAVAILABLE"), decision(("B", True))]
    assert run([event(text("Again."))], past=past)[-1]["type"] == "finish"


def test_an_abort_in_the_past_does_not_abort_the_response() -> None:
    assert (
        run([event(text("Again."))], past=[event(text("x"), error_code="INVOCATION_ABORTED")])[-1]["type"] == "finish"
    )


def grounded(*uris: str) -> GroundingMetadata:
    return GroundingMetadata(grounding_chunks=[GroundingChunk(web=GroundingChunkWeb(uri=uri)) for uri in uris])


def test_a_source_of_the_past_is_not_shown_again() -> None:
    past = [event(text("a"), grounding_metadata=grounded("https://a/"))]
    chunks = run([event(text("b"), grounding_metadata=grounded("https://a/", "https://b/"))], past=past)
    assert only(chunks, "source") == [{"type": "source-url", "sourceId": "source-1", "url": "https://b/"}]


def test_a_task_agents_result_in_the_past_ends_no_response() -> None:
    past = [
        event(call("booker", {}, "F"), call("look", {}, "C")),
        event(text("Monday."), author="booker", branch="booker@F", isolation_scope="F"),
        user(response("booker", {"day": "Monday"}, "F"), node_path="root@1"),
    ]
    chunks = run([results(response("look", {"r": 1}, "C"))], past=past)
    assert outputs(chunks) == {"C": {"r": 1}}


def test_fail_and_abort_work_before_the_first_event() -> None:
    failed, aborted = StreamProtocolConverter(message_id="m"), StreamProtocolConverter(past=PAST)
    assert failed.fail(RuntimeError()) == [
        {"type": "start", "messageId": "m"},
        {"type": "error", "errorText": "An error occurred."},
    ]
    assert aborted.abort() == [{"type": "start", "messageId": RUN}, {"type": "abort"}]


# The hook over chunks


def without_text(chunk: AnyChunk) -> AnyChunk | None:
    return None if chunk["type"].startswith("text") else chunk


def test_a_transform_may_drop_chunks() -> None:
    assert kinds(run([event(text("a"))], transform=without_text)) == ["start", "start-step", "finish-step", "finish"]


def test_a_transform_may_put_several_in_the_place_of_one() -> None:
    def transform(chunk: AnyChunk) -> list[AnyChunk]:
        return [chunk, {"type": "data-seen", "data": chunk["type"]}] if chunk["type"] == "start" else [chunk]

    assert body([event(text("a"))], transform=transform)[0] == {"type": "data-seen", "data": "start"}


def test_a_transform_may_change_deltas() -> None:
    def transform(chunk: AnyChunk) -> AnyChunk:
        fields = cast("dict[str, Any]", chunk)
        return cast("AnyChunk", {**fields, "delta": fields["delta"].upper()}) if "delta" in fields else chunk

    assert texts(run([fragment(text("ab")), event(text("abc"))], transform=transform)) == ["ABC"]


def test_a_transform_that_raises_raises_out_of_convert_and_is_not_called_again() -> None:
    def transform(chunk: AnyChunk) -> AnyChunk:
        raise ValueError("no")

    converter = StreamProtocolConverter(transform=transform)
    with pytest.raises(ValueError, match="no"):
        converter.convert(event(text("a")))
    assert kinds(map(dict, converter.fail(ValueError()))) == ["error"]


def test_contradictory_options_are_refused_before_anything_is_converted() -> None:
    version: Any = 5
    with pytest.raises(
        StreamProtocolError, match=r'`ai_sdk` must be 6, 7, or a full version such as "7\.0\.120", not 5'
    ):
        StreamProtocolConverter(ai_sdk=version)


def test_nothing_is_logged_for_an_ordinary_run(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "stream_protocol"):
        run([event(text("a"), call("f", {}, "A")), results(response("f", {"r": 1}, "A")), event(text("b"))])
    assert caplog.messages == []
