"""Stored events are converted to messages, in cases that no recorded conversation covers."""

from pathlib import Path
from typing import Any, cast

from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.sessions import Session
from google.genai import types

from stream_protocol.session import Transcript, session_to_messages, transcript_to_messages
from stream_protocol.stream import DataUrl
from stream_protocol.wire import UIMessage
from tests.comparable_messages import comparable
from tests.readings import replays


def event(author: str, *parts: types.Part, invocation: str = "e-1", **more: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts))
    return Event(invocation_id=invocation, author=author, content=content, **more)


def words(text: str) -> types.Part:
    return types.Part(text=text)


def call(call_id: str, name: str) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args={}))


def response(call_id: str, name: str, **value: Any) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=value))


def messages(*events: Event, **options: Any) -> list[Any]:
    session = Session(id="c", app_name="a", user_id="u", events=list(events))
    return list(session_to_messages(session, **options))


def test_a_backends_late_result_replaces_the_preliminary_one_on_its_own_call() -> None:
    events = [
        event("user", words("report")),
        event("root", call("A", "report"), long_running_tool_ids={"A"}),
        event("root", response("A", "report", status="pending")),
        event("root", words("It is being made.")),
        event("user", words("thanks"), invocation="e-2"),
        event("root", words("Sure."), invocation="e-2"),
    ]
    before = messages(*events)
    late = event("user", response("A", "report", url="https://x.example/r"), invocation="e-1")
    after = messages(*events, late)
    assert [message["id"] for message in after] == [message["id"] for message in before]
    assert after[3]["parts"] == before[3]["parts"]
    shown = [part for part in after[1]["parts"] if part["type"] == "tool-report"]
    assert [(part["state"], part["output"], part.get("preliminary")) for part in shown] == [
        ("output-available", {"url": "https://x.example/r"}, None)
    ]


def test_an_id_that_a_model_uses_again_is_the_newest_calls() -> None:
    turn = [call("0", "look"), response("0", "look", n=1)]
    events = [
        event("user", words("a")),
        *(event("root", part) for part in turn),
        event("user", words("b"), invocation="e-2"),
        event("root", call("0", "look"), invocation="e-2"),
        event("root", response("0", "look", n=2), invocation="e-2"),
    ]
    outputs = [part["output"] for message in messages(*events) for part in message["parts"] if "output" in part]
    assert outputs == [{"n": 1}, {"n": 2}]


def test_messages_beside_an_answer_begin_a_message_and_the_answer_stays_with_its_call(tmp_path: Path) -> None:
    answer = response("A", "where", result="Oslo")
    asked = {"originalFunctionCall": {"id": "B", "name": "pay", "args": {}}, "toolConfirmation": {"confirmed": False}}
    approval = types.Part(function_call=types.FunctionCall(id="P", name="adk_request_confirmation", args=asked))
    events = [
        event("user", words("go")),
        event("root", call("A", "where"), call("B", "pay"), long_running_tool_ids={"A"}),
        event("root", approval, long_running_tool_ids={"P"}),
        event(
            "user", answer, response("P", "adk_request_confirmation", confirmed=True), words("Quick!"), invocation="e-2"
        ),
        event("root", response("B", "pay", paid=1), invocation="e-2"),
        event("root", words("Done."), invocation="e-2"),
    ]
    shown = messages(*events)
    assert [(message["role"], message["id"]) for message in shown] == [
        ("user", events[0].id),
        ("assistant", "e-1"),
        ("user", events[3].id),
        ("assistant", "e-2"),
    ]
    calls = {part["toolCallId"]: part.get("output") for part in shown[1]["parts"] if "toolCallId" in part}
    assert calls == {"A": "Oslo", "B": {"paid": 1}}
    assert [[part["text"] for part in one["parts"] if "text" in part] for one in shown[2:]] == [["Quick!"], ["Done."]]
    for form, replayed in replays(Session(id="c", app_name="a", user_id="u", events=events), tmp_path):
        assert replayed == shown, form


def test_rewinds_count_and_summaries_do_not() -> None:
    compaction = EventCompaction(
        start_timestamp=0, end_timestamp=1, compacted_content=types.Content(parts=[words("s")])
    )
    shown = messages(
        event("user", words("one")),
        event("root", words("1")),
        Event(author="user", invocation_id="e-c", actions=EventActions(compaction=compaction)),
        Event(author="model", invocation_id="e-d", actions=EventActions(compaction=compaction)),
        event("user", words("two"), invocation="e-2"),
        event("root", words("2"), invocation="e-2"),
        Event(author="user", invocation_id="e-3", actions=EventActions(rewind_before_invocation_id="e-2")),
        event("user", words("three"), invocation="e-4"),
        event("root", words("3"), invocation="e-4"),
    )
    assert [part["text"] for message in shown for part in message["parts"] if "text" in part] == [
        "one",
        "1",
        "three",
        "3",
    ]


def test_what_only_changes_the_session_is_no_message() -> None:
    assert messages() == []
    opening = Event(author="user", invocation_id="e-1", actions=EventActions(state_delta={"city": "Oslo"}))
    assert messages(opening) == []
    shown = messages(opening, event("user", words("one")), event("root", words("1")))
    assert [(message["role"], len(message["parts"])) for message in shown] == [("user", 1), ("assistant", 2)]


def test_messages_are_named_after_their_invocation_and_place_in_it() -> None:
    events = [
        event("user", words("a")),
        event("root", words("1")),
        event("user", words("b")),
        event("root", words("2")),
    ]
    shown = messages(*events)
    assert [message["id"] for message in shown] == [events[0].id, "e-1", events[2].id, "e-1.2"]


def test_a_session_in_which_nothing_was_said_has_no_messages() -> None:
    assert messages() == []


def test_an_agent_may_speak_first() -> None:
    shown = messages(event("root", words("Welcome.")), event("user", words("hi"), invocation="e-2"), running=True)
    assert [message["role"] for message in shown] == ["assistant", "user"]


def test_the_hooks_for_errors_are_not_called_again() -> None:
    def fail(error: BaseException) -> str:
        raise AssertionError(error)

    failed = event("root", words("Half"), error_code="X")
    shown = messages(event("user", words("a")), failed, on_error=fail)
    assert [part["text"] for part in shown[1]["parts"] if "text" in part] == ["Half"]


def part(kind: str, branch: str | None = None, **more: Any) -> dict[str, Any]:
    speaker = {} if branch is None else {"providerMetadata": {"adk": {"author": "a", "branch": branch}}}
    return {"type": kind, **speaker, **more}


STEP = part("step-start")


def comparable_parts(*parts: dict[str, Any]) -> list[Any]:
    given = cast("UIMessage", {"id": "m", "role": "assistant", "parts": list(parts)})
    return [part for message in comparable([given]) for part in message["parts"]]


def test_a_comparison_drops_calls_that_never_completed_and_the_step_that_was_theirs() -> None:
    cut = part("tool-f", toolCallId="A", state="input-streaming", rawInput="{")
    text = part("text", text="x")
    assert comparable_parts(STEP, text, cut) == [STEP, text]
    assert comparable_parts(STEP, cut) == []
    assert comparable_parts(STEP, cut, STEP, text) == [STEP, text]
    assert comparable_parts(STEP, text, STEP) == [STEP, text, STEP]
    done = part("tool-f", toolCallId="A", state="output-error", errorText="no", rawInput="{")
    assert comparable_parts(done) == [{key: value for key, value in done.items() if key != "rawInput"}]


def test_a_comparison_orders_parallel_speakers_and_nothing_else() -> None:
    a, b, own = part("text", "p.a", text="a"), part("text", "p.b", text="b"), part("text", text="own")
    data = part("data-x", data=1)
    assert comparable_parts(STEP, b, STEP, a, STEP, own) == [STEP, a, b, STEP, own]
    assert comparable_parts(STEP, b, data, a, own) == [STEP, a, b, data, own]
    assert comparable_parts(STEP, b, own, STEP, a) == [STEP, b, own, STEP, a]
    assert comparable_parts(STEP, a, data, STEP, a, own) == [STEP, a, data, STEP, a, own]


def test_a_users_message_has_a_part_whatever_it_holds() -> None:
    """The client refuses messages without parts (``validateUIMessages``)."""
    code = types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON))
    message, *_ = messages(event("user", code))
    assert message["parts"] == [{"type": "text", "text": ""}]


def test_a_denied_call_with_an_output_keeps_both() -> None:
    asked = {"originalFunctionCall": {"id": "A", "name": "pay", "args": {}}, "toolConfirmation": {"confirmed": False}}
    approval = types.Part(function_call=types.FunctionCall(id="P", name="adk_request_confirmation", args=asked))
    message = messages(
        event("user", words("go")),
        event("root", call("A", "pay")),
        event("root", approval, long_running_tool_ids={"P"}),
        event("user", response("P", "adk_request_confirmation", confirmed=False)),
        event("root", response("A", "pay", paid=0)),
    )[1]
    (shown,) = [part for part in message["parts"] if "toolCallId" in part]
    assert (shown["state"], shown["approval"]) == ("output-denied", {"id": "P", "approved": False})
    (told,) = [part["data"] for part in message["parts"] if part["type"] == "data-adk-denial"]
    assert told == {"toolCallId": "A", "output": {"paid": 0}}


def test_a_hook_sees_the_url_of_a_file_and_the_message_holds_no_encoded_copy() -> None:
    image = types.Part(inline_data=types.Blob(data=b"pixels", mime_type="image/png"))
    transcript = Transcript([event("user", words("draw")), event("root", image)])
    seen: list[Any] = []

    def keep(chunk: Any) -> Any:
        seen.extend([chunk["url"]] if chunk["type"] == "file" else [])
        return [chunk]

    def move(chunk: Any) -> Any:
        return {**chunk, "url": "https://x.example/1"} if chunk["type"] == "file" else chunk

    messages = [transcript_to_messages(transcript, encoded=False, transform=hook)[1] for hook in (keep, move)]
    parts: list[Any] = [part for message in messages for part in message["parts"] if part["type"] == "file"]
    kept, moved = (part["url"] for part in parts)
    assert isinstance(kept, DataUrl)
    assert seen == [str(kept)]
    assert moved == "https://x.example/1"
