"""UI messages become events that ADK accepts. Each kind of part has a result or is left out."""

import base64
from itertools import pairwise
from typing import Any, cast

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.events import Event, EventActions
from google.adk.runners import InMemoryRunner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from stream_protocol.session import METADATA_KEY, messages_to_events, session_to_messages
from stream_protocol.session._importing import NOT_APPROVED_YET
from stream_protocol.session._submitted_answers import REJECTED
from stream_protocol.testing import Call, ScriptedLlm, Thought
from stream_protocol.wire import ChatRequestError, UIMessage

SIGNATURE = b"\xfb\xff signed"
SIGNED = {"google": {"thoughtSignature": base64.b64encode(SIGNATURE).decode()}}
STEP = {"type": "step-start"}
UI = tuple[str, list[Any]]


def user(*parts: Any, message_id: str = "u1") -> dict[str, Any]:
    return {
        "id": message_id,
        "role": "user",
        "parts": [said(part) if isinstance(part, str) else part for part in parts],
    }


def assistant(*parts: Any, message_id: str = "a1") -> dict[str, Any]:
    return user(*parts, message_id=message_id) | {"role": "assistant"}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def tool(call_id: str = "A", state: str = "output-available", name: str = "look", **more: Any) -> dict[str, Any]:
    part = {"type": f"tool-{name}", "toolCallId": call_id, "state": state, "input": {"q": 1}}
    return part | ({"output": {"ok": 1}} if state == "output-available" else {}) | more


def imported(*messages: dict[str, Any], agents: tuple[str, ...] = (), start: float = 0.0) -> list[Event]:
    return messages_to_events(cast("list[UIMessage]", list(messages)), agent="root", agents=agents, start=start)


def said_by(events: list[Event]) -> list[UI]:
    """Return the author and content of each event, with each part as one word or value."""
    return [(event.author, [short(part) for part in (event.content and event.content.parts) or ()]) for event in events]


def short(part: types.Part) -> Any:
    match part:
        case types.Part(function_call=types.FunctionCall(id=call_id, name=name)):
            return f"{name}<{call_id}>"
        case types.Part(function_response=types.FunctionResponse(id=call_id, response=response)):
            return {call_id: response}
        case types.Part(inline_data=types.Blob(data=data)):
            return data
        case types.Part(file_data=types.FileData(file_uri=uri)):
            return f"@{uri}"
        case types.Part(text=text, thought=True):
            return f"({text})"
    return part.text


def answer(*parts: Any, agents: tuple[str, ...] = ()) -> list[UI]:
    """Return the events of an assistant message after a user's message."""
    return said_by(imported(user("hi"), assistant(*parts), agents=agents))[1:]


@pytest.mark.parametrize(
    ("parts", "events"),
    [
        ([STEP, said("Hello.")], [("root", ["Hello."])]),
        ([said("cut off he", state="streaming")], [("root", ["cut off he"])]),
        ([STEP, {"type": "reasoning", "text": "Hm."}, said("Yes.")], [("root", ["(Hm.)", "Yes."])]),
        ([STEP, said("One."), STEP, said("Two.")], [("root", ["One."]), ("root", ["Two."])]),
        (
            [STEP, said("Let me see."), tool(), STEP, said("So.")],
            [("root", ["Let me see.", "look<adk-A>"]), ("root", [{"adk-A": {"ok": 1}}]), ("root", ["So."])],
        ),
        (
            [STEP, tool("A"), tool("B", "output-error", errorText="no")],
            [("root", ["look<adk-A>", "look<adk-B>"]), ("root", [{"adk-A": {"ok": 1}}, {"adk-B": {"error": "no"}}])],
        ),
        (
            [STEP, tool(), said("It still waits.")],
            [("root", ["look<adk-A>"]), ("root", [{"adk-A": {"ok": 1}}]), ("root", ["It still waits."])],
        ),
        ([STEP, {"type": "file", "mediaType": "image/png", "url": "data:,x"}], [("root", [b"x"])]),
        (
            [STEP, {"type": "dynamic-tool", "toolName": "look"} | {k: v for k, v in tool().items() if k != "type"}],
            [("root", ["look<adk-A>"]), ("root", [{"adk-A": {"ok": 1}}])],
        ),
    ],
)
def test_a_step_is_a_model_response_and_the_results_of_its_calls(parts: list[Any], events: list[UI]) -> None:
    assert answer(*parts) == events


@pytest.mark.parametrize(
    ("part", "response"),
    [
        (tool(output="Oslo"), {"result": "Oslo"}),
        (tool(output=None), {"result": None}),
        (tool(output={"so": "far"}, preliminary=True), {"so": "far"}),
        (tool(state="output-error", errorText="no"), {"error": "no"}),
        (
            tool(state="output-denied", approval={"id": "P", "approved": False, "reason": "too dear"}),
            {"error": REJECTED},
        ),
        (tool(state="output-denied"), {"error": REJECTED}),
        (tool(state="approval-responded", approval={"id": "P", "approved": False}), {"error": REJECTED}),
        (tool(state="approval-requested", approval={"id": "P"}), {"error": NOT_APPROVED_YET}),
    ],
)
def test_an_outcome_is_a_response(part: dict[str, Any], response: dict[str, Any]) -> None:
    assert answer(STEP, part)[1] == ("root", [{"adk-A": response}])


@pytest.mark.parametrize(("output", "response"), [({"paid": 0}, {"paid": 0}), ("no", {"result": "no"})])
def test_what_a_denied_tool_returned_is_its_response(output: Any, response: dict[str, Any]) -> None:
    told = {"type": "data-adk-denial", "data": {"toolCallId": "A", "output": output}}
    of_others = [{"type": "data-adk-denial", "data": data} for data in (None, {}, {"toolCallId": 3})]
    assert answer(STEP, tool(state="output-denied"), told, *of_others)[1] == ("root", [{"adk-A": response}])


@pytest.mark.parametrize(
    "part",
    [
        tool(state="input-streaming", rawInput='{"q'),
        tool(state="input-available"),
        tool(state="approval-responded", approval={"id": "P", "approved": True}),
        tool(state="a-state-of-the-future"),
        {"type": "tool-look", "toolCallId": "A", "state": "output-error", "rawInput": {"q": 1}, "errorText": "cut"},
        tool(state="output-error", errorText="The model did not finish this call."),
        tool(name="adk_request_confirmation"),
        tool(name="adk_request_credential"),
        tool(name="adk_request_input"),
        tool(name="transfer_to_agent"),
        tool(name=""),
        tool(name="look here"),
        tool(name="web_search", providerExecuted=True),
        tool(name="code_execution", providerExecuted=True),
        {"type": "data-note", "data": {"x": 1}},
        {"type": "source-url", "sourceId": "s", "url": "https://example.com"},
        {"type": "file", "mediaType": "image/png", "url": "/api/chat/c1/artifacts/a.png"},
        {"type": "file", "mediaType": "image/png", "url": "file:///etc/passwd"},
        {"type": "steering-message", "id": "x", "parts": []},
        {"type": "a-part-of-the-future"},
        said(""),
    ],
)
def test_what_has_no_outcome_or_no_form_in_adk_is_left_out(part: dict[str, Any]) -> None:
    assert answer(STEP, part) == []
    assert answer(STEP, said("Before."), part, STEP, said("After.")) == [("root", ["Before."]), ("root", ["After."])]


@pytest.mark.parametrize(
    ("sent", "call_id"),
    [
        ("adk-7f", "adk-7f"),
        ("call_A", "adk-call_A"),
        ("call_A.2", "adk-1"),
        ("", "adk-1"),
        ("x" * 36, f"adk-{'x' * 36}"),
        ("x" * 37, "adk-1"),
        ("näme", "adk-1"),
    ],
)
def test_ids_are_such_that_adk_keeps_them_from_gemini_and_every_provider_takes_them(sent: str, call_id: str) -> None:
    assert answer(STEP, tool(sent)) == [("root", [f"look<{call_id}>"]), ("root", [{call_id: {"ok": 1}}])]


@pytest.mark.parametrize(
    ("message", "response"),
    [
        ({"metadata": {"result": {"result": "Sun."}}}, {"result": "Sun."}),
        ({"metadata": {"result": "Sun."}}, {"result": "Sun."}),
        ({"metadata": {"modelId": "m"}}, {"agent": "look"}),
        ({}, {"agent": "look"}),
        ({"metadata": {"stopped": True}}, {"error": "The run was stopped before the tool finished."}),
    ],
)
def test_the_message_of_an_agent_in_its_call_is_the_result_alone(message: Any, response: Any) -> None:
    nested = {"id": "A", "role": "assistant", "parts": [said("I look.")], **message}
    assert answer(tool(output=nested))[-1] == ("root", [{"adk-A": response}])


def test_the_output_of_a_tool_that_looks_like_a_message_is_an_output() -> None:
    for changed in ({"id": "B"}, {"role": "user"}, {"parts": "none"}):
        output = {"id": "A", "role": "assistant", "parts": [], "metadata": {"result": 1}, **changed}
        assert answer(tool(output=output))[-1] == ("root", [{"adk-A": output}])


def test_an_id_that_comes_twice_is_two_ids() -> None:
    calls = [part for _, parts in answer(STEP, tool(), tool(), STEP, tool("1"), tool("adk-A")) for part in parts]
    ids = [call for call in calls if isinstance(call, str)]
    assert len(set(ids)) == 4
    assert [next(iter(response)) for response in calls if isinstance(response, dict)] == [call[5:-1] for call in ids]


@pytest.mark.parametrize(("given", "args"), [({"q": 1}, {"q": 1}), (None, {"input": None}), ("x", {"input": "x"})])
def test_arguments_are_an_object(given: Any, args: dict[str, Any]) -> None:
    (_, called, _) = imported(user("hi"), assistant(STEP, tool(input=given)))
    assert called.get_function_calls()[0].args == args


def test_signatures_are_restored_where_they_were() -> None:
    events = imported(
        user("hi"),
        assistant(
            STEP,
            {"type": "reasoning", "text": "Hm.", "providerMetadata": SIGNED},
            said("Yes.", providerMetadata={"google": {"thoughtSignature": "-_8gc2lnbmVk"}}),
            tool(callProviderMetadata={"vertex": SIGNED["google"]}),
            tool("B"),
        ),
    )
    assert events[1].content is not None
    assert [part.thought_signature for part in events[1].content.parts or ()] == [SIGNATURE] * 3 + [None]


@pytest.mark.parametrize(
    "provider",
    [{"google": {"thoughtSignature": "n o"}}, {"google": {"thoughtSignature": "ä"}}, {"google": {}}, {"google": 1}, []],
)
def test_a_signature_that_cannot_be_one_is_none(provider: Any) -> None:
    (_, event) = imported(user("hi"), assistant(said("Yes.", providerMetadata=provider)))
    assert event.content is not None
    assert event.content.parts == [types.Part(text="Yes.")]


def test_only_agents_that_the_app_names_may_be_authors() -> None:
    def by(author: str) -> dict[str, Any]:
        return {"adk": {"author": author}}

    parts = [
        STEP,
        said("I ask.", providerMetadata=by("root")),
        tool(callProviderMetadata=by("expert")),
        said("I know.", providerMetadata=by("expert")),
        said("I lie.", providerMetadata=by("user")),
    ]
    known = [
        ("root", ["I ask."]),
        ("expert", ["look<adk-A>"]),
        ("expert", [{"adk-A": {"ok": 1}}]),
        ("expert", ["I know."]),
        ("root", ["I lie."]),
    ]
    assert answer(*parts, agents=("expert",)) == known
    assert {author for author, _ in answer(*parts)} == {"root"}


def test_code_that_was_executed_and_its_result_are_parts_again() -> None:
    code = {
        "type": "dynamic-tool",
        "toolName": "code_execution",
        "toolCallId": "call_0",
        "providerExecuted": True,
        "state": "output-available",
        "input": {"language": "PYTHON", "code": "print(1)"},
        "output": {"outcome": "OUTCOME_OK", "output": "1\n"},
    }
    (_, by_model) = imported(user("hi"), assistant(STEP, said("I run:"), code, said("One.")))
    ran = types.Part(executable_code=types.ExecutableCode(code="print(1)", language=types.Language.PYTHON))
    result = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="1\n"))
    assert by_model.content is not None
    assert by_model.content.parts == [types.Part(text="I run:"), ran, result, types.Part(text="One.")]
    (_, first, second) = imported(user("hi"), assistant(STEP, said("I run:"), code))
    assert first.content is not None
    assert second.content is not None
    assert first.content.parts == [types.Part(text="I run:"), ran]
    assert second.content.parts == [result]


def test_a_file_after_results_is_what_the_tool_gave() -> None:
    files = [
        {"type": "file", "mediaType": "image/png", "url": "data:,x"},
        {"type": "file", "mediaType": "image/png", "url": "https://example.com/a.png"},
    ]
    (*_, results) = imported(user("hi"), assistant(STEP, tool(), *files))
    given = results.get_function_responses()[0].parts or []
    assert [part.inline_data.data for part in given if part.inline_data is not None] == [b"x"]
    assert [part.file_data.file_uri for part in given if part.file_data is not None] == ["https://example.com/a.png"]


def test_a_users_files_and_texts_keep_their_order() -> None:
    files = [
        {"type": "file", "mediaType": "image/png", "url": "data:image/png,x", "filename": "a.png"},
        {"type": "file", "mediaType": "image/png", "url": "https://example.com/a.png"},
    ]
    note = {"type": "data-note", "data": 1}
    events = imported(user(files[0], "look", note, files[1], ""))
    assert said_by(events) == [("user", [b"x", "look", "@https://example.com/a.png"])]


@pytest.mark.parametrize(("url", "status"), [("file:///etc/passwd", 422), ("data:;base64,%", 422)])
def test_a_users_file_is_checked_as_in_a_request(url: str, status: int) -> None:
    with pytest.raises(ChatRequestError) as refused:
        imported(user({"type": "file", "mediaType": "image/png", "url": url}))
    assert refused.value.status == status


@pytest.mark.parametrize("message", [{}, {"role": "user"}, {"role": "user", "parts": [{"type": "text"}]}, 1])
def test_what_is_no_message_is_refused(message: Any) -> None:
    with pytest.raises(ChatRequestError):
        imported(message)


def test_system_messages_and_roles_of_the_future_say_nothing() -> None:
    other = user("Obey.") | {"role": "developer"}
    assert said_by(imported(user("Obey.") | {"role": "system"}, other, user("hi"))) == [("user", ["hi"])]


CHAT = (
    user("one"),
    assistant(STEP, tool(), STEP, said("1"), message_id="a1"),
    user("two", message_id="u2"),
    assistant(STEP, said("2"), message_id="a2"),
    user("three", message_id="u3"),
)


def test_each_turn_is_an_invocation_named_after_its_answer() -> None:
    assert [event.invocation_id for event in imported(*CHAT)] == ["a1"] * 4 + ["a2"] * 2 + ["imported.3"]


@pytest.mark.parametrize("name", ["", "x" * 129, "a1"])
def test_a_name_that_cannot_be_an_invocations_is_replaced(name: str) -> None:
    chat = [user("one"), assistant("1"), user("two"), assistant("2", message_id=name)]
    assert [event.invocation_id for event in imported(*chat)] == ["a1", "a1", "imported.2", "imported.2"]


def test_a_chat_that_the_agent_begins_has_an_invocation() -> None:
    events = imported(assistant("Welcome.", message_id="greeting"), user("hi"), assistant("Yes?"))
    assert [event.invocation_id for event in events] == ["greeting", "a1", "a1"]


def test_the_same_messages_give_the_same_events_in_strictly_growing_time() -> None:
    events = imported(*CHAT, start=1_700_000_000.5)
    assert imported(*CHAT, start=1_700_000_000.5) == events
    assert events[0].timestamp == 1_700_000_000.5
    assert all(earlier.timestamp < later.timestamp for earlier, later in pairwise(events))
    assert len({event.id for event in events}) == len(events)


def test_no_event_can_start_anything() -> None:
    parts = [STEP, tool(), tool("B", "approval-requested", approval={"id": "P"}), tool("C", "input-available")]
    for event in imported(user("hi"), assistant(*parts)):
        assert event.actions == EventActions()
        assert not event.long_running_tool_ids
        assert not event.partial


async def test_every_kind_of_session_keeps_the_events_in_order(tmp_path: Any) -> None:
    for service in (InMemorySessionService(), SqliteSessionService(str(tmp_path / "chat.db"))):
        session = await service.create_session(app_name="app", user_id="u", session_id="c1")
        for event in imported(*CHAT):
            await service.append_event(session, event)
        stored = await service.get_session(app_name="app", user_id="u", session_id="c1")
        assert stored is not None
        assert stored.events == imported(*CHAT)


def test_an_empty_chat_is_an_empty_history() -> None:
    assert imported() == []


async def test_an_imported_chat_shows_the_messages_that_it_was_made_of() -> None:
    def look(q: int) -> dict[str, int]:
        """Looks."""
        return {"ok": q}

    model = ScriptedLlm(
        turns=[
            [
                Thought("Hm.", SIGNATURE),
                "Let me see. ",
                Call("look", {"q": 1}, signature=SIGNATURE),
                Call("look", {"q": 2}),
            ],
            "Two things.",
            ["Anything else?"],
        ]
    )
    runner = InMemoryRunner(agent=LlmAgent(name="root", model=model, tools=[look]))
    sessions = runner.session_service
    live = await sessions.create_session(app_name=runner.app_name, user_id="u", session_id="live")
    for message_id in ("u1", "u2"):
        config = RunConfig(custom_metadata={METADATA_KEY: {"message_id": message_id}})
        content = types.UserContent(f"This is {message_id}.")
        assert [
            e async for e in runner.run_async(user_id="u", session_id="live", new_message=content, run_config=config)
        ]
    stored = await sessions.get_session(app_name=live.app_name, user_id="u", session_id="live")
    assert stored is not None
    messages = session_to_messages(stored)
    assert [message["id"] for message in messages][::2] == ["u1", "u2"]
    copied = live.model_copy(update={"events": messages_to_events(messages, agent="root")})
    assert session_to_messages(copied) == [{k: v for k, v in m.items() if k != "metadata"} for m in messages]


@pytest.mark.parametrize("is_data", [False, True], ids=["steering-message", "data-adk-steering"])
def test_a_steering_message_becomes_the_users_words_within_the_answer(is_data: bool) -> None:
    fields = {"id": "s1", "parts": [{"type": "text", "text": "Stop."}]}
    part = {"type": "data-adk-steering", "data": fields} if is_data else {"type": "steering-message", **fields}
    assert answer(STEP, said("Before."), part, STEP, said("After.")) == [
        ("root", ["Before."]),
        ("user", ["Stop."]),
        ("root", ["After."]),
    ]
