"""Events that ADK's ``RemoteA2aAgent`` makes from the messages of an agent behind A2A."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from google.adk.events import Event
from google.genai.types import Blob, FileData, Part

from stream_protocol.adk import a2a_markers
from stream_protocol.adk._readable_events import unwrap_a2a
from tests.batch import batch
from tests.stream.building import REJECTED, WAIT_FOR_APPROVAL, call, decision, event, response, text, thought, user
from tests.stream.running import Fields, kinds, message_of, only, outputs, run, texts

Json = dict[str, Any]

ADK = {"adk_app_name": "far", "adk_author": "far"}
"""The metadata by which an ADK agent names itself."""


def said(*texts: str, message_id: str = "m1", **more: Any) -> Json:
    """A message."""
    return {"messageId": message_id, "role": "ROLE_AGENT", "parts": [{"text": text} for text in texts], **more}


def artifact(*parts: Json | str, **more: Any) -> Json:
    return {"artifactId": "a1", "parts": [{"text": part} if isinstance(part, str) else part for part in parts], **more}


def update(
    *parts: Part,
    state: str = "WORKING",
    message: Json | None = None,
    artifacts: Sequence[Json] = (),
    metadata: Json = ADK,
    past: Sequence[Json] = (),
    **fields: Any,
) -> Event:
    """An event of an update: ``message`` is the newest of the status, ``past`` the ones before it."""
    status = {"state": f"TASK_STATE_{state}", **({"message": message} if message else {})}
    history = [*past, *([message] if message else [])]
    task = {"id": "t", "status": status, "artifacts": list(artifacts), "history": history, "metadata": metadata}
    return event(*parts, author="far", custom_metadata={"a2a:response": task, "a2a:task_id": "t"}, **fields)


def piece(value: str, **fields: Any) -> Event:
    """A piece of an artifact."""
    return update(text(value), metadata={}, partial=True, **fields)


def shown(events: Sequence[Event], **options: Any) -> list[Fields]:
    """The parts of the message, without steps and without keys that all of them have."""
    message = cast("Json", message_of(run(events, **options)))
    own = (
        "type",
        "text",
        "state",
        "url",
        "mediaType",
        "data",
        "toolCallId",
        "input",
        "output",
        "errorText",
        "approval",
    )
    parts = [
        {key: part[key] for key in own if key in part} for part in message["parts"] if part["type"] != "step-start"
    ]
    return [{key: value for key, value in part.items() if value != "done"} for part in parts]


ANSWER = [{"type": "text", "text": "Hello."}]


# An ADK agent's texts


def test_its_words_are_text_and_stand_once() -> None:
    working = update(thought("Hello."), message=said("Hello."))
    result = update(text("Hello."), message=said("Hello."), artifacts=[artifact("Hello.")], partial=False)
    done = update(state="COMPLETED", artifacts=[artifact("Hello.")], past=[said("Hello.")])
    assert shown([working, result, done]) == ANSWER


def test_its_thoughts_stay_thoughts() -> None:
    parts: list[Json] = [{"text": "Hm.", "metadata": {"adk_thought": True}}, {"text": "Hello."}]
    message = {**said(), "parts": parts}
    working = update(thought("Hm."), thought("Hello."), message=message)
    result = update(text("Hello."), message=message, artifacts=[artifact(*parts)], partial=False)
    assert shown([working, result]) == [{"type": "reasoning", "text": "Hm."}, *ANSWER]


def test_the_thoughts_of_an_artifact_stay_thoughts() -> None:
    parts: list[Json] = [{"text": "Hm.", "metadata": {"adk_thought": True}}, {"text": "Hello."}]
    result = update(thought("Hm."), text("Hello."), artifacts=[artifact(*parts)], partial=False)
    assert shown([result]) == [{"type": "reasoning", "text": "Hm."}, *ANSWER]


def test_a_message_that_pauses_the_task_is_one_that_was_sent() -> None:
    asks = call("where", {"question": "city"}, "A")
    message = said("Tell me: ")
    working = update(thought("Tell me: "), asks, message=message, long_running_tool_ids={"A"})
    pause = update(
        text("Tell me: "), asks, state="INPUT_REQUIRED", message=message, past=[message], long_running_tool_ids={"A"}
    )
    parts = shown([working, pause])
    assert [part["type"] for part in parts] == ["text", "tool-where"]
    assert parts[1]["state"] == "input-available"


def asked(call_id: str = "A") -> Json:
    """The metadata of a response that is a placeholder."""
    return {**ADK, "adk_actions": {"requestedToolConfirmations": {call_id: {"hint": "?", "confirmed": False}}}}


def gated(*, artifacts: bool) -> list[Event]:
    """A call that needs approval, from both of ADK's executors: with messages, and with artifacts."""
    confirm = call("adk_request_confirmation", {"originalFunctionCall": {"id": "A", "name": "pay", "args": {}}}, "P")
    wait = response("pay", WAIT_FOR_APPROVAL, "A")
    if artifacts:
        return [
            update(call("pay", {}, "A"), artifacts=[artifact({"data": {}})]),
            update(wait, artifacts=[artifact({"data": {}}, metadata=asked())]),
            update(confirm, state="INPUT_REQUIRED", message=said("?"), long_running_tool_ids={"P"}),
        ]
    return [
        update(call("pay", {}, "A"), message=said("call")),
        update(confirm, message=said("confirm", message_id="m2"), long_running_tool_ids={"P"}),
        update(wait, message=said("wait", message_id="m3"), metadata=asked()),
        update(
            confirm,
            state="INPUT_REQUIRED",
            message=said("confirm", message_id="m2"),
            past=[said("confirm", message_id="m2")],
            long_running_tool_ids={"P"},
        ),
    ]


@batch(artifacts=[True, False])
def test_an_approval_is_asked_once_and_its_placeholder_is_no_result(artifacts: bool) -> None:
    chunks = run(gated(artifacts=artifacts))
    assert kinds(chunks).count("tool-approval-request") == 1
    assert outputs(chunks) == {}
    (part,) = shown(gated(artifacts=artifacts))
    assert part == {
        "type": "tool-pay",
        "toolCallId": "A",
        "state": "approval-requested",
        "input": {},
        "approval": {"id": "P"},
    }


@batch(artifacts=[True, False])
def test_a_denial_is_a_denial(artifacts: bool) -> None:
    past = gated(artifacts=artifacts)
    answered = [decision(("P", False)), update(response("pay", REJECTED, "A"), message=said("no", message_id="m4"))]
    chunks = run(answered, past=past, onto=message_of(run(past)))
    assert kinds(only(chunks, "tool-output")) == ["tool-output-denied"]


def test_a_peer_that_asks_for_nonsense_is_shown_as_it_is() -> None:
    actions = {**ADK, "adk_actions": {"requestedToolConfirmations": {"A": "?"}}, "adk_grounding_metadata": 3}
    events = [
        update(call("look", {}, "A"), message=said("call")),
        update(response("look", {"sky": "blue"}, "A"), message=said("result"), metadata=actions),
    ]
    assert outputs(run(events)) == {"A": {"sky": "blue"}}


def test_its_sources_are_shown() -> None:
    grounding = {"groundingChunks": [{"web": {"uri": "https://example.com", "title": "E"}}]}
    working = update(thought("Hello."), message=said("Hello."), metadata={**ADK, "adk_grounding_metadata": grounding})
    (source,) = only(run([working]), "source-url")
    assert source["url"] == "https://example.com"
    known = unwrap_a2a(working)
    assert (
        unwrap_a2a(known.model_copy(update={"content": working.content})).grounding_metadata == known.grounding_metadata
    )


def relayed_by_a_peer(*parts: Part, behind: Event, as_text: bool = True, **fields: Any) -> Event:
    """An event of an ADK peer that relays a text of an agent behind it."""
    own: Any = json.dumps(behind.custom_metadata) if as_text else behind.custom_metadata
    return update(*parts, metadata={**ADK, "adk_custom_metadata": own}, **fields)


@batch(as_text=[True, False])
def test_what_an_agent_behind_a_peer_says_stands_once_too(as_text: bool) -> None:
    hello = {**said(), "parts": [{"text": "Hello.", "metadata": {"adk_thought": True}}]}
    first = update(thought("Hello."), message=said("Hello."))
    again = update(text("Hello."), message=said("Hello."), artifacts=[artifact("Hello.")], partial=False)
    events = [
        relayed_by_a_peer(thought("Hello."), behind=first, as_text=as_text, message=hello),
        relayed_by_a_peer(thought("Hello."), behind=again, as_text=as_text, message=said("Hello.", message_id="m2")),
    ]
    assert shown(events) == ANSWER
    assert [unwrap_a2a(one).custom_metadata for one in events] == [one.custom_metadata for one in events]


def test_a_task_keeps_metadata_of_earlier_events_which_say_nothing_of_later_ones() -> None:
    failed = update(text("No."), state="FAILED", message=said("No."), metadata={})
    assert shown([relayed_by_a_peer(thought("Hello."), behind=failed, message=said("Hello."))]) == ANSWER


@batch(metadata=["{", "3"])
def test_custom_metadata_of_another_form_says_nothing(metadata: str) -> None:
    of_peer = {**ADK, "adk_custom_metadata": metadata}
    assert shown([update(thought("Hello."), message=said("Hello."), metadata=of_peer)]) == ANSWER


# Content that has no exact form in a message: docs/decisions/what-a-message-cannot-show.md


def test_an_answer_that_another_agent_says_first_as_progress_is_reasoning_and_text() -> None:
    working = update(thought("Hello."), message=said("Hello."), metadata={})
    done = update(text("Hello."), state="COMPLETED", message=said("Hello.", message_id="m2"), metadata={})
    assert shown([working, done]) == [{"type": "reasoning", "text": "Hello."}, *ANSWER]


def test_fragments_that_an_adk_agent_sends_as_messages_stand_beside_their_whole() -> None:
    sent = ["Hel", "lo.", "Hello."]
    events = [update(thought(one), message=said(one, message_id=one)) for one in sent]
    assert [part["text"] for part in shown(events)] == sent


def test_a_call_that_was_approved_has_no_result_if_its_peer_does_not_stream() -> None:
    past = gated(artifacts=False)
    done = update(text("Paid."), state="COMPLETED", artifacts=[artifact("Paid.")])
    chunks = run([decision(("P", True)), done], past=past, onto=message_of(run(past)))
    assert (outputs(chunks), texts(chunks)) == ({"A": "The tool gave no result."}, ["Paid."])


def test_a_peer_that_does_not_stream_says_again_after_an_answer_what_it_said_before() -> None:
    whole = [artifact("Tell me. "), artifact("Rome.", artifactId="a2")]
    asks = update(text("Tell me. "), state="INPUT_REQUIRED", artifacts=whole[:1], message=said())
    done = update(text("Tell me. "), text("Rome."), state="COMPLETED", artifacts=whole)
    assert texts(run([asks, done])) == ["Tell me. ", "Tell me. Rome."]


# Texts of an agent of another framework


def test_progress_is_reasoning_and_the_artifact_the_answer() -> None:
    working = update(thought("Looking"), message=said("Looking"), metadata={})
    result = update(text("Hello."), message=said("Looking"), artifacts=[artifact("Hello.")], metadata={}, partial=False)
    assert shown([working, result]) == [{"type": "reasoning", "text": "Looking"}, *ANSWER]


PICTURE = {"raw": "aGk=", "mediaType": "image/png", "filename": "a.png"}
REPORT = {"url": "https://example.com/x.pdf", "mediaType": "application/pdf"}
OLD_PICTURE = {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png", "name": "a.png"}}
OLD_REPORT = {"kind": "file", "file": {"uri": "https://example.com/x.pdf", "mimeType": "application/pdf"}}

SHOWN_PICTURE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}
SHOWN_REPORT = {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/x.pdf"}


def pieces(*earlier: Json | str, last: str = "you.") -> Event:
    """The last piece of an artifact."""
    other = artifact("Another.", artifactId="a2")
    return update(text(last), artifacts=[artifact(*earlier, last), other], metadata={}, partial=False)


def test_an_artifact_in_pieces_is_whole_on_the_page_and_in_what_is_stored() -> None:
    last = pieces("Hel", "lo ")
    whole = [{"type": "text", "text": "Hello you."}]
    assert shown([piece("Hel"), piece("lo "), last]) == whole
    assert texts(run([last])) == ["Hello you."]


@batch(
    earlier={
        "a picture": (PICTURE, SHOWN_PICTURE),
        "a picture of a2a-sdk 0.3": (OLD_PICTURE, SHOWN_PICTURE),
        "a link": (REPORT, SHOWN_REPORT),
        "a link of a2a-sdk 0.3": (OLD_REPORT, SHOWN_REPORT),
        "data": ({"data": {"a": 1}}, {"type": "data-adk-data", "data": {"a": 1}}),
    }
)
def test_what_came_before_the_last_piece_of_an_artifact_is_in_what_is_stored(earlier: tuple[Json, Json]) -> None:
    piece, part = earlier
    assert shown([pieces("Hello ", piece)]) == [
        {"type": "text", "text": "Hello "},
        part,
        {"type": "text", "text": "you."},
    ]


def test_an_event_that_ends_no_artifact_is_as_it_is() -> None:
    last = update(text("Other."), artifacts=[artifact("Hel", "lo")], metadata={}, partial=False)
    assert unwrap_a2a(last) is last


def data(value: bytes) -> Part:
    return Part(inline_data=Blob(data=b"<a2a_datapart_json>" + value + b"</a2a_datapart_json>", mime_type="text/plain"))


@batch(
    given={
        "1.x": (b'{"a": 1}', {"a": 1}),
        "0.3": (b'{"kind": "data", "data": {"a": 1}, "metadata": {}}', {"a": 1}),
    }
)
def test_data_is_data(given: tuple[bytes, Json]) -> None:
    part, value = given
    assert shown([update(data(part), metadata={})]) == [{"type": "data-adk-data", "data": value}]


def test_what_only_looks_like_data_is_a_file() -> None:
    (part,) = shown([update(data(b"{"), metadata={})])
    assert part["type"] == "file"


def test_files_are_files() -> None:
    link = FileData(file_uri="https://example.com/x.pdf", mime_type="application/pdf")
    picture = Blob(data=b"hi", mime_type="image/png", display_name="a.png")
    sent = update(Part(inline_data=picture), Part(file_data=link), metadata={})
    assert shown([sent]) == [SHOWN_PICTURE, SHOWN_REPORT]


def test_a_question_waits_for_its_answer() -> None:
    question = call("mock_function_call_for_required_user_input", {"input_required": "Where?"}, "A")
    asks = update(question, state="INPUT_REQUIRED", message=said("Where?"), metadata={}, long_running_tool_ids={"A"})
    (part,) = shown([asks])
    assert (part["state"], part["input"]) == ("input-available", {"input_required": "Where?"})


@batch(prompt={"words": ("Sign in at x.", "Sign in at x."), "data": ({"at": "x"}, '{"at":"x"}')})
def test_a_request_to_sign_in_is_said_as_adk_would_not_send_an_answer_to_its_call(prompt: tuple[Any, str]) -> None:
    asked, words = prompt
    sign_in = call("mock_function_call_for_required_user_auth", {"auth_required": asked}, "A")
    asks = update(
        text("Wait. "), sign_in, state="AUTH_REQUIRED", message=said("?"), metadata={}, long_running_tool_ids={"A"}
    )
    assert shown([asks]) == [{"type": "text", "text": f"Wait. {words}"}]


# Failures


@batch(state=["FAILED", "REJECTED", "CANCELED"])
def test_a_task_that_failed_is_an_error_and_what_was_said_of_it_is_shown(state: str) -> None:
    failed = update(text("Not today."), state=state, message=said("Not today."), metadata={})
    chunks = run([failed], on_error=str)
    assert (texts(chunks), chunks[-1]) == (
        ["Not today."],
        {"type": "error", "errorText": f"A2A_TASK_{state}: Not today."},
    )
    assert run([update(state=state, metadata={})])[-1]["type"] == "error"


def test_an_old_client_names_states_otherwise() -> None:
    failed = update(state="?", metadata={})
    assert failed.custom_metadata is not None
    failed.custom_metadata["a2a:response"]["status"] = {"state": "failed"}
    assert run([failed])[-1]["type"] == "error"


def test_the_exception_of_an_adk_agent_is_for_the_app_alone() -> None:
    message = said("hunter2", metadata={"adk_error_code": "RuntimeError"})
    working = update(thought("hunter2"), message=message)
    failed = update(text("hunter2"), state="FAILED", message=message, past=[message])
    chunks = run([working, failed])
    assert kinds(chunks) == ["start", "error"]
    assert chunks[-1]["errorText"] == "An error occurred."
    assert run([working, failed], on_error=str)[-1]["errorText"] == "A2A_TASK_FAILED: hunter2"


def test_what_an_adk_agent_said_before_it_failed_is_shown() -> None:
    """Of a peer that does not stream, all comes at once."""
    failed = update(text("I try."), state="FAILED", message=said("hunter2"), artifacts=[artifact("I try.")])
    chunks = run([failed])
    assert (texts(chunks), chunks[-1]["type"]) == (["I try."], "error")


def test_an_agent_that_goes_on_after_a_failure_of_another_has_recovered() -> None:
    failed = update(text("No."), state="FAILED", message=said("No."), metadata={}, branch="root.far")
    chunks = run([failed, event(text("Then I do it."), branch="root")])
    assert chunks[-1]["type"] == "finish"


# Both


@pytest.mark.parametrize(
    "given",
    [
        update(thought("Hello."), message=said("Hello.")),
        update(text("Hello."), message=said("Hello."), artifacts=[artifact("Hello.")], partial=False),
        update(text("hunter2"), state="FAILED", message=said("hunter2")),
        update(text("No."), state="FAILED", message=said("No."), metadata={}),
        pieces("Hel", "lo "),
        gated(artifacts=False)[2],
    ],
)
def test_what_was_read_once_is_not_read_otherwise_again(given: Event) -> None:
    once = unwrap_a2a(given)
    assert once is not given
    assert unwrap_a2a(once) == once


def test_what_is_not_from_a_peer_is_as_it_is() -> None:
    own = [event(text("Hello.")), user(text("Hi.")), event(text("Hi."), custom_metadata={"a2a:response": "?"})]
    assert [unwrap_a2a(one) is one for one in own] == [True, True, True]
    broken = event(text("Hi."), custom_metadata={"a2a:response": {"status": 3, "history": 3, "artifacts": [3]}})
    assert unwrap_a2a(broken) is broken


# Content that must not be sent to the peer


def test_what_was_stored_in_the_name_of_a_peers_agent_is_behind_a_mark() -> None:
    made = update(call("dig", {}, "A"), message=said("dig"))
    assert made.custom_metadata is not None
    made.custom_metadata["a2a:context_id"] = "c"
    closing = event(response("dig", {"error": "stopped"}, "A"), author="far")
    (mark,) = a2a_markers([user(text("Dig.")), made, closing, event(text("Near."))])
    assert (mark.author, mark.content, mark.invocation_id) == ("far", None, made.invocation_id)
    assert mark.custom_metadata == {"a2a:response": {"id": "t"}, "a2a:context_id": "c"}
    assert unwrap_a2a(mark) is mark


def test_no_mark_is_needed_where_the_peer_has_said_it_all() -> None:
    made = update(thought("Hello."), message=said("Hello."))
    closing = event(response("dig", {"error": "stopped"}, "A"), author="far")
    assert [*a2a_markers([made])] == [*a2a_markers([made, closing, made])] == [*a2a_markers([closing])] == []
