"""Responses to a call while it runs, and from an agent that it was handed to."""

from typing import Any

from google.adk.events import EventActions
from google.genai.types import Content, Part

from stream_protocol.wire._value_size import MAX_VALUE_ITEMS, MAX_VALUE_LENGTH
from tests.stream.building import call, event, fragment, picture, response, results, text, thought, user
from tests.stream.running import body, kinds, message_of, only, outputs, run, texts

RUNNING: dict[str, Any] = {"author": "scan", "branch": "root.scan@A"}
SCAN = event(call("scan", {}, "A"))
SCANNED = results(response("scan", {"result": 2}, "A"))
POET: dict[str, Any] = {"author": "poet", "branch": "poet@F"}
TASK: dict[str, Any] = {"author": "booker", "branch": "booker@F", "isolation_scope": "F"}


def test_progress_of_a_tool_is_preliminary_output_and_then_comes_the_final_one() -> None:
    events = [
        SCAN,
        results(text("1 of 2"), **RUNNING),
        results(text("2 of 2"), **RUNNING),
        SCANNED,
        event(text("Two.")),
    ]
    chunks = run(events)
    assert [(chunk["output"], chunk.get("preliminary")) for chunk in only(chunks, "tool-output")] == [
        ("1 of 2", True),
        ("2 of 2", True),
        ({"result": 2}, None),
    ]
    assert texts(chunks) == ["Two."]


def test_progress_may_be_a_value_a_picture_state_or_an_artifact() -> None:
    chunks = body(
        [
            SCAN,
            event(output={"n": 1}, **RUNNING),
            results(picture(), **RUNNING),
            event(state={"a": 1}, **RUNNING),
            event(actions=EventActions(artifact_delta={"a.png": 0}), **RUNNING),
            SCANNED,
        ],
        send_state=True,
    )
    assert kinds(only(chunks, "tool-output", "file", "data-")) == [
        *("tool-output-available", "file", "data-adk-state", "data-adk-artifact", "tool-output-available")
    ]


def test_progress_without_a_json_form_fails_the_call() -> None:
    circular: list[Any] = []
    circular.append(circular)
    chunks = run([SCAN, event(**RUNNING).model_copy(update={"output": circular}), event(text("Hm."))])
    assert kinds(only(chunks, "tool-output")) == ["tool-output-error"]


def test_who_merely_shares_the_name_of_a_tool_speaks_for_itself() -> None:
    speakers = [
        {"author": "scan", "branch": "root.scan@Z"},
        {"author": "scan", "branch": "root.other@A"},
        {"author": "scan"},
    ]
    chunks = run([SCAN, *(results(text(str(number)), **who) for number, who in enumerate(speakers)), SCANNED])
    assert texts(chunks) == ["0", "1", "2"]


def test_an_agent_in_a_tools_place_uses_tools_of_its_own() -> None:
    chunks = run(
        [
            event(call("poet", {"about": "sea"}, "F")),
            event(call("rhyme", {}, "R"), **POET),
            results(response("rhyme", {"with": "me"}, "R"), **POET),
            fragment(text("O sea"), **POET),
            event(text("O sea"), **POET),
            results(response("poet", {"result": "O sea"}, "F")),
            event(text("There.")),
        ],
        nested_agents="flat",
    )
    assert outputs(chunks) == {"R": {"with": "me"}, "F": {"result": "O sea"}}
    assert texts(chunks) == ["O sea", "There."]


def test_an_agent_in_a_tools_place_may_ask_for_a_credential() -> None:
    asked = event(call("adk_request_credential", {"functionCallId": "R"}, "B"), role="user", **POET)
    chunks = run([event(call("poet", {}, "F")), asked], nested_agents="flat")
    assert [chunk["toolCallId"] for chunk in only(chunks, "tool-input-available")] == ["F", "B"]


def test_a_call_that_a_task_agent_took_over_does_not_block_what_it_says() -> None:
    first = [event(call("booker", {}, "F")), event(text("Which day?"), **TASK)]
    chunks = run(first, nested_agents="flat")
    assert only(chunks, "tool-output") == [
        {"type": "tool-output-available", "toolCallId": "F", "output": {"agent": "booker"}, "preliminary": True}
    ]
    assert chunks[-1]["finishReason"] == "stop"


def test_the_result_of_a_task_agent_is_authored_by_the_user_and_is_its_calls_output() -> None:
    finished = [
        event(call("finish_task", {"output": 1}, "T"), **TASK),
        results(response("finish_task", {}, "T"), **TASK),
    ]
    result = user(response("booker", {"day": "Monday"}, "F"), node_path="root@1")
    chunks = run(
        [
            event(call("booker", {}, "F")),
            event(text("Monday, then."), **TASK),
            *finished,
            result,
            event(text("Booked.")),
        ],
        nested_agents="flat",
    )
    assert outputs(chunks) == {"F": {"day": "Monday"}}
    assert texts(chunks) == ["Monday, then.", "Booked."]


def test_the_result_of_a_task_agent_in_a_later_message_is_not_sent() -> None:
    result = user(response("booker", {"day": "Monday"}, "F"), node_path="root@1")
    assert outputs(run([event(text("Monday, then."), **TASK), result, event(text("Booked."))])) == {}


def test_an_agent_tools_inner_text_is_its_output_and_a_summary_beside_it_is_text() -> None:
    answer = results(response("expert", {"result": "42"}, "A"), text("42"))
    chunks = run([event(call("expert", {"request": "?"}, "A")), answer])
    assert outputs(chunks) == {"A": {"result": "42"}}
    assert texts(chunks) == ["42"]
    assert kinds(chunks).count("start-step") == 2


def test_a_response_and_thoughts_of_the_user_change_nothing_else() -> None:
    chunks = run([user(text("Hi"), thought("?")), event(author="user"), SCAN, user(response("scan", {"r": 1}, "A"))])
    assert outputs(chunks) == {"A": {"r": 1}}
    assert texts(chunks) == []


def test_an_event_without_parts_in_its_content_is_no_progress() -> None:
    empty = event(**RUNNING)
    empty.content = Content(role="user")
    assert outputs(run([SCAN, empty, SCANNED])) == {"A": {"result": 2}}


def test_several_results_may_stand_in_one_event_in_any_order() -> None:
    calls = event(call("scan", {}, "A"), call("look", {}, "B"))
    answers: list[Part] = [response("look", {"r": 2}, "B"), response("scan", {"r": 1}, "A")]
    page = message_of(run([calls, results(*answers)]))
    assert [part.get("output") for part in page["parts"] if "output" in part] == [{"r": 1}, {"r": 2}]


def test_a_result_that_is_too_large_is_an_error_of_its_call_and_the_answer_goes_on() -> None:
    large = {"result": "x" * (MAX_VALUE_LENGTH + 1)}
    for result in (large, {"error": large["result"]}, {"result": [0] * (MAX_VALUE_ITEMS + 1)}):
        chunks = run([SCAN, results(response("scan", result, "A")), event(text("Two."))])
        (error,) = only(chunks, "tool-output")
        assert error["type"] == "tool-output-error"
        assert error["errorText"] == "The tool's result is too large to be shown."
        assert texts(chunks) == ["Two."]
