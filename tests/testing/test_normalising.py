from typing import Any
from uuid import uuid4

import pytest

from stream_protocol.testing._normalising import Normaliser, without_model_details


def normalised(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    normaliser = Normaliser()
    return [normaliser.chunk(chunk) for chunk in chunks]


def call(call_id: str, **keys: Any) -> dict[str, Any]:
    return {"type": "tool-output-available", "toolCallId": call_id, **keys}


def test_ids_become_counted_names_by_what_they_are_of() -> None:
    assert normalised(
        {"type": "start", "messageId": f"e-{uuid4()}.2"},
        {"type": "tool-approval-request", "approvalId": f"adk-{uuid4()}", "toolCallId": "call_x9"},
    ) == [
        {"type": "start", "messageId": "message-1"},
        {"type": "tool-approval-request", "approvalId": "approval-1", "toolCallId": "call-1"},
    ]


def test_one_id_has_one_name_wherever_it_stands() -> None:
    one, other = f"adk-{uuid4()}", f"adk-{uuid4()}"
    pair = normalised(call(one), call(other, output={"for": one, "note": f"see {other} and {one}"}))
    assert pair[1]["output"] == {"for": "call-1", "note": "see call-2 and call-1"}


def test_outputs_that_changed_places_are_still_told_apart() -> None:
    a, b = f"adk-{uuid4()}", f"adk-{uuid4()}"
    asked = [{"type": "tool-input-start", "toolCallId": call_id, "toolName": "look"} for call_id in (a, b)]
    assert normalised(*asked, call(a, output=1), call(b, output=2)) != normalised(
        *asked, call(b, output=1), call(a, output=2)
    )


def test_an_id_that_nobody_named_is_counted_too() -> None:
    one, other = str(uuid4()), str(uuid4()).upper()
    (chunk,) = normalised(call("c", output=[f"/files/{one}.png", {"id": other}, one]))
    assert chunk["output"] == ["/files/id-1.png", {"id": "id-2"}, "id-1"]


@pytest.mark.parametrize(
    "time",
    ["2026-01-05T12:30:00Z", "2026-01-05 12:30:00.123456", "2026-01-05T12:30:00+01:00", "2026-01-05T12:30"],
)
def test_a_time_in_a_text_is_no_particular_time(time: str) -> None:
    (chunk,) = normalised(call("c", output=f"Booked at {time}, for two."))
    assert chunk["output"] == "Booked at <time>, for two."


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("timestamp", 1763772000.25, "<time>"),
        ("created_at", 1763772000, "<time>"),
        ("updatedAt", 1763772000000, "<time>"),
        ("cooking_time", 45, 45),
        ("population", 8_000_000_000, 8_000_000_000),
        ("lifetime", True, True),
    ],
)
def test_a_number_is_a_time_if_its_key_and_its_size_say_so(key: str, value: float, shown: object) -> None:
    (chunk,) = normalised(call("c", output={key: value}))
    assert chunk["output"] == {key: shown}


@pytest.mark.parametrize("text", ["2026-01-05", "12:30", "room 1234-5678", "well-known", "", "555-0100", "e-mail"])
def test_other_text_stays(text: str) -> None:
    (chunk,) = normalised({"type": "text-delta", "id": "0", "delta": text})
    assert chunk["delta"] == text


def delta(text: str, part: str = "0", kind: str = "text-delta", **keys: Any) -> dict[str, Any]:
    return {"type": kind, "id": part, "delta": text, **keys}


def test_the_essence_of_a_stream_does_not_know_how_its_text_was_cut() -> None:
    whole = [delta("Hello there."), delta("Hm.", kind="reasoning-delta"), delta("Bye.", "1")]
    pieces = [delta("Hel"), delta("lo "), delta("there."), delta("Hm.", kind="reasoning-delta"), delta("Bye.", "1")]
    assert [*without_model_details(pieces)] == [*without_model_details(whole)] == whole


def test_parts_that_interleave_are_not_joined_across_each_other() -> None:
    chunks = [delta("a", "0"), delta("b", "1"), delta("c", "0")]
    assert [*without_model_details(chunks)] == chunks


def test_the_essence_of_a_stream_has_no_deltas_of_arguments_and_nothing_of_the_model() -> None:
    usage = {"usage": {"totalTokens": 3}, "modelId": "gemini"}
    adk = {"author": "root"}
    assert [
        *without_model_details(
            [
                {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{"},
                delta("Hm.", kind="reasoning-delta", providerMetadata={"google": {"thoughtSignature": "AA=="}}),
                {
                    "type": "text-start",
                    "id": "1",
                    "providerMetadata": {"adk": adk, "google": {"thoughtSignature": "AA"}},
                },
                call("c", output={"usage": 3, "modelId": "a tool's own"}),
                {"type": "finish", "finishReason": "stop", "messageMetadata": usage},
                {"type": "finish", "finishReason": "stop", "messageMetadata": {**usage, "chat": "c1"}},
            ]
        )
    ] == [
        delta("Hm.", kind="reasoning-delta"),
        {"type": "text-start", "id": "1", "providerMetadata": {"adk": adk}},
        call("c", output={"usage": 3, "modelId": "a tool's own"}),
        {"type": "finish", "finishReason": "stop"},
        {"type": "finish", "finishReason": "stop", "messageMetadata": {"chat": "c1"}},
    ]


def part_of_call(call_id: str, kind: str, **keys: Any) -> dict[str, Any]:
    return {"type": f"tool-input-{kind}", "toolCallId": call_id, **keys}


def test_the_essence_of_a_stream_does_not_know_when_its_inputs_were_complete() -> None:
    whole = [
        *(part_of_call("a", "start"), part_of_call("a", "available", input={})),
        *(part_of_call("b", "start"), part_of_call("b", "error", errorText="no")),
        *(delta("Well."), call("a", output=1)),
    ]
    streamed = [
        *(part_of_call("a", "start"), part_of_call("a", "delta", inputTextDelta="{}"), part_of_call("b", "start")),
        *(part_of_call("b", "error", errorText="no"), delta("Well."), part_of_call("a", "available", input={})),
        call("a", output=1),
    ]
    assert [*without_model_details(streamed)] == [*without_model_details(whole)] == whole


def test_an_input_without_a_start_stays_in_its_place() -> None:
    chunks = [delta("Well."), part_of_call("a", "available", input={}), call("a", output=1)]
    assert [*without_model_details(chunks)] == chunks


def test_a_call_that_was_only_started_stays() -> None:
    chunks = [part_of_call("a", "start"), delta("Well.")]
    assert [*without_model_details(chunks)] == chunks
