"""For any messages from a browser, ADK and every provider accept the imported history."""

from itertools import pairwise
from typing import Any, cast, get_args

from google.adk.events import EventActions
from hypothesis import given, strategies as st

from stream_protocol import ChatRequest, ChatRequestError
from stream_protocol.session import AnsweredCalls, messages_to_events, restore_client_history
from stream_protocol.wire import UIMessage
from stream_protocol.wire._ui_messages import ToolState
from tests.examples import examples

AGENTS = ("root", "expert")

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
ids = st.sampled_from(["", "A", "adk-A", "adk-1", "call_1", "x" * 50, "ä"])
provider = values | st.fixed_dictionaries(
    {"adk": st.fixed_dictionaries({"author": st.sampled_from([*AGENTS, "user", "stranger"])})},
    optional={"google": values | st.fixed_dictionaries({"thoughtSignature": st.sampled_from(["YQ==", "?", "a"])})},
)
approvals = st.fixed_dictionaries({"id": ids}, optional={"approved": st.booleans()})
states = st.sampled_from([*get_args(ToolState), "a-state-of-the-future"])
tools = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["tool-look", "tool-", "tool-adk_request_confirmation", "dynamic-tool"]),
        "toolName": st.sampled_from(["look", "code_execution", "transfer_to_agent", ""]),
        "toolCallId": ids,
        "state": states,
    },
    optional={
        "input": values | st.fixed_dictionaries({"code": st.text(max_size=3), "language": values}),
        "output": values | st.fixed_dictionaries({"outcome": values, "output": values}),
        "errorText": st.text(max_size=3),
        "approval": approvals,
        "providerExecuted": st.booleans(),
        "callProviderMetadata": provider,
    },
)
texts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "reasoning"]), "text": st.text(max_size=3)},
    optional={"providerMetadata": provider},
)
files = st.fixed_dictionaries(
    {
        "type": st.just("file"),
        "mediaType": st.sampled_from(["image/png", "image", ""]),
        "url": st.sampled_from(["data:image/png,x", "https://example.com/a", "file:///a", "/a", "data:"]),
    },
    optional={"providerMetadata": provider},
)
others = st.sampled_from(
    [{"type": "step-start"}, {"type": "data-x", "data": 1}, {"type": "future"}, {"type": "source-url"}]
)
parts = st.lists(tools | texts | files | others, max_size=8)
messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "odd"]), "parts": parts}, optional={"id": ids}
    ),
    min_size=1,
    max_size=4,
)


def check(events: list[Any]) -> None:
    assert len({event.id for event in events}) == len(events)
    assert all(earlier.timestamp < later.timestamp for earlier, later in pairwise(events))
    called = [[call.id for call in event.get_function_calls()] for event in events]
    answered = [[response.id for response in event.get_function_responses()] for event in events]
    assert [*called, []] == [*answered[1:], [], []] if events else True
    every = [call_id for ids in called for call_id in ids]
    assert len(set(every)) == len(every)
    assert all(call_id.startswith("adk-") for call_id in every)
    for event in events:
        assert event.author in ("user", *AGENTS)
        assert (event.content.role == "model") is (event.author != "user" and not event.get_function_responses())
        assert event.actions == EventActions()
        assert not event.long_running_tool_ids
        assert event.invocation_id


@examples(150)
@given(messages)
def test_an_imported_history_is_sound(chat: list[Any]) -> None:
    try:
        events = messages_to_events(chat, agent="root", agents=AGENTS)
    except ChatRequestError:
        return
    check(events)
    assert messages_to_events(chat, agent="root", agents=AGENTS) == events


@examples(150)
@given(messages)
def test_a_request_that_brings_its_history_is_refused_or_leaves_no_call_open(chat: list[Any]) -> None:
    told = tuple(cast("UIMessage", {"id": "", **message}) for message in chat)
    try:
        restored = restore_client_history(ChatRequest(id="c1", messages=told), agent="root")
    except ChatRequestError:
        return
    if isinstance(restored.request_plan, AnsweredCalls):
        open_calls = [call.id for call in restored.events[-1].get_function_calls()]
        assert open_calls == [answer.id for answer in restored.request_plan.answers] != []
    else:
        check(restored.events)
