"""``ScriptedLlm``, tested with ADK's own Runner."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner
from google.genai import types
from hypothesis import given, strategies as st

from stream_protocol import StreamProtocolError
from stream_protocol.testing import (
    Call,
    ScriptedLlm,
    ScriptExhaustedError,
    Thought,
    Wait,
    token_usage,
    web_sources,
    words,
)


def look_up(**query: Any) -> dict[str, Any]:
    """Looks something up."""
    return {"seen": query}


class Chat:
    """One session of an agent with the model."""

    def __init__(self, llm: ScriptedLlm, mode: StreamingMode = StreamingMode.SSE) -> None:
        agent = LlmAgent(name="root", model=llm, tools=[look_up])
        self._runner = InMemoryRunner(agent=agent, app_name="test")
        self._config = RunConfig(streaming_mode=mode)

    async def say(self, text: str, session: str = "s") -> list[Event]:
        service = self._runner.session_service
        if await service.get_session(app_name="test", user_id="u", session_id=session) is None:
            await service.create_session(app_name="test", user_id="u", session_id=session)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        run = self._runner.run_async(user_id="u", session_id=session, new_message=message, run_config=self._config)
        return [event async for event in run]


async def answer(*turns: Any, mode: StreamingMode = StreamingMode.SSE) -> list[Event]:
    return await Chat(ScriptedLlm(turns=turns), mode).say("hi")


def parts(event: Event) -> list[types.Part]:
    return (event.content and event.content.parts) or []


def texts(event: Event) -> list[tuple[bool, str]]:
    return [(bool(part.thought), part.text) for part in parts(event) if part.text]


def calls(events: list[Event]) -> list[types.FunctionCall]:
    return [call for event in events for call in event.get_function_calls()]


async def test_text_streams_in_words_and_the_aggregate_is_the_whole() -> None:
    *fragments, aggregate = await answer("One two\nthree.")
    assert [texts(event) for event in fragments] == [[(False, "One")], [(False, " two")], [(False, "\nthree.")], []]
    assert all(event.partial for event in fragments)
    assert (aggregate.partial, texts(aggregate)) == (False, [(False, "One two\nthree.")])
    assert {event.id for event in fragments} == {aggregate.id}


async def test_without_streaming_the_answer_is_one_response() -> None:
    (event,) = await answer([Thought("Hm."), "One two."], mode=StreamingMode.NONE)
    assert (event.partial, texts(event)) == (None, [(True, "Hm."), (False, "One two.")])
    assert event.finish_reason == types.FinishReason.STOP


async def test_a_thought_streams_before_the_text_and_keeps_its_signature() -> None:
    *fragments, aggregate = await answer([Thought("Let me see.", signature=b"sig"), "Yes."])
    assert [text for event in fragments for text in texts(event)] == [
        (True, "Let"),
        (True, " me"),
        (True, " see."),
        (False, "Yes."),
    ]
    assert texts(aggregate) == [(True, "Let me see."), (False, "Yes.")]
    assert parts(aggregate)[0].thought_signature == b"sig"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("call_id", [None, "call_7"])
async def test_a_call_keeps_one_id_from_its_first_fragment_to_its_response(call_id: str | None, streamed: bool) -> None:
    events = await answer(Call("look_up", {"query": "a b"}, id=call_id, streamed=streamed), "Done.")
    responses = [response for event in events for response in event.get_function_responses()]
    ids = {call.id for call in calls(events)} | {response.id for response in responses}
    assert len(ids) == 1
    (found,) = ids
    assert found == call_id if call_id else (found or "").startswith("adk-")
    assert responses[0].response == {"seen": {"query": "a b"}}


async def test_calls_of_one_turn_are_parallel_also_of_the_same_tool() -> None:
    events = await answer(
        [Call("look_up", {"n": "1"}, streamed=True), Call("look_up", {"n": "2"}, streamed=True)], "Ok"
    )
    (aggregate,) = [event for event in events if event.get_function_calls() and not event.partial]
    assert [call.args for call in aggregate.get_function_calls()] == [{"n": "1"}, {"n": "2"}]
    assert len({call.id for call in aggregate.get_function_calls()}) == 2


async def test_streamed_arguments_come_as_fragments_by_path() -> None:
    args = {"day": {"stops": ["the old town", 3]}, "odd 'key'": True, "none": None}
    events = await answer(Call("look_up", args, streamed=True, signature=b"sig"), "Done.")
    fragments = [call for event in events if event.partial for call in event.get_function_calls()]
    sent = [(arg.json_path, arg.string_value) for call in fragments for arg in call.partial_args or []]
    assert sent == [
        ("$.day.stops[0]", "the"),
        ("$.day.stops[0]", " old"),
        ("$.day.stops[0]", " town"),
        ("$.day.stops[0]", ""),
        ("$.day.stops[1]", None),
        ("$['odd \\'key\\'']", None),
        ("$.none", None),
    ]
    assert [call.name for call in fragments if call.name] == ["look_up"]
    (aggregate,) = [event for event in events if event.get_function_calls() and not event.partial]
    assert aggregate.get_function_calls()[0].args == args
    assert parts(aggregate)[0].thought_signature == b"sig"


keys = st.text(min_size=1, max_size=6)
scalars = st.text(max_size=12) | st.booleans() | st.none() | st.integers(-(2**31), 2**31)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(keys, inner, min_size=1, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keys, values, max_size=4))
def test_any_arguments_without_empty_containers_survive_streaming(args: dict[str, Any]) -> None:
    async def aggregate() -> list[types.FunctionCall]:
        llm = ScriptedLlm(turns=[Call("look_up", args, streamed=True)])
        responses = [response async for response in llm.generate_content_async(LlmRequest(), stream=True)]
        content = responses[-1].content
        return [part.function_call for part in (content and content.parts) or [] if part.function_call]

    (call,) = asyncio.run(aggregate())
    assert call.args == args


async def test_a_call_without_arguments_has_none() -> None:
    events = await answer(Call("look_up"), "Done.")
    assert [call.args for call in calls(events) if call.name] == [None, None]


async def test_an_argument_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\$\.when"):
        await answer(Call("look_up", {"when": object()}, streamed=True))


async def test_an_image_is_sent_whole_and_again_in_the_aggregate() -> None:
    image = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")
    *fragments, aggregate = await answer(["Look:", image])
    assert [part.inline_data for event in [*fragments, aggregate] for part in parts(event) if part.inline_data] == [
        image.inline_data,
        image.inline_data,
    ]


async def test_usage_sources_and_finish_reason_ride_on_the_last_fragment_and_the_aggregate() -> None:
    usage = token_usage(prompt=10, answer=4, thoughts=2)
    sources = web_sources({"https://example.com/a": "A"})
    *fragments, last, aggregate = await answer([sources, usage, types.FinishReason.MAX_TOKENS, "Cut o"])
    assert all(event.usage_metadata is None and event.finish_reason is None for event in fragments)
    for event in (last, aggregate):
        assert event.usage_metadata == usage
        assert event.grounding_metadata == sources
        assert event.finish_reason == types.FinishReason.MAX_TOKENS
    assert aggregate.error_code == "MAX_TOKENS"
    assert usage.total_token_count == 16


async def test_an_exception_is_raised_after_what_stands_before_it() -> None:
    chat = Chat(ScriptedLlm(turns=[["Half an", ConnectionError("reset")], "Again."]))
    with pytest.raises(ConnectionError, match="reset"):
        await chat.say("hi")
    assert texts((await chat.say("again?"))[-1]) == [(False, "Again.")]


@pytest.mark.parametrize("mode", [StreamingMode.SSE, StreamingMode.NONE])
async def test_a_wait_holds_the_stream_until_its_event_is_set(mode: StreamingMode) -> None:
    gate = asyncio.Event()
    run = asyncio.create_task(answer(["One", Wait(gate), " two"], mode=mode))
    for _ in range(50):
        await asyncio.sleep(0)
    assert not run.done()
    gate.set()
    assert texts((await run)[-1])[0][1].startswith("One")


async def test_an_empty_turn_ends_with_the_error_code_of_an_empty_answer() -> None:
    events = await answer([])
    assert events[-1].error_code == "MODEL_RETURNED_NO_CONTENT"


async def test_turns_are_given_out_in_order_and_the_requests_are_kept() -> None:
    llm = ScriptedLlm(turns=["One.", lambda request: f"{len(request.contents)} contents."])
    chat = Chat(llm)
    assert texts((await chat.say("first"))[-1]) == [(False, "One.")]
    assert texts((await chat.say("second"))[-1]) == [(False, "3 contents.")]
    assert len(llm.requests) == 2
    with pytest.raises(ScriptExhaustedError, match="2 turns"):
        await chat.say("third")


async def test_respond_serves_several_chats_of_one_agent_at_once() -> None:
    def echo(request: LlmRequest) -> str:
        last = request.contents[-1]
        return f"You said: {(last.parts or [types.Part()])[0].text}"

    llm = ScriptedLlm(respond=echo)
    chat = Chat(llm)
    runs = await asyncio.gather(chat.say("one", session="a"), chat.say("two", session="b"))
    assert [texts(run[-1]) for run in runs] == [[(False, "You said: one")], [(False, "You said: two")]]
    assert not llm.requests


async def test_cut_decides_the_fragments() -> None:
    llm = ScriptedLlm(turns=["abc"], cut=list)
    *fragments, _ = await Chat(llm).say("hi")
    assert [text for event in fragments for _, text in texts(event)] == ["a", "b", "c"]


@given(st.text())
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text


@pytest.mark.parametrize("script", [{}, {"turns": ["a"], "respond": lambda request: "b"}])
def test_one_script_is_needed_and_only_one(script: dict[str, Any]) -> None:
    with pytest.raises(StreamProtocolError, match=r"^Give either `turns` or `respond`"):
        ScriptedLlm(**script)
