import json
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

from stream_protocol.serving import create_app, explain_error
from stream_protocol.serving.adk_runner import used_models
from tests.conformance.adapter_runs import check_streamed_arguments, turn
from tests.conformance.openai_replies import delta, openai_agent, piece, refused, streamed, usage, whole
from tests.serving.chat_client import Page

pytestmark = [
    pytest.mark.samples,
    pytest.mark.filterwarnings("ignore:Accessing the .model_(computed_)?fields. attribute"),
]  # litellm does
ANSWER = streamed(delta(role="assistant", content="It is "), delta(content="sunny."), delta("stop"))

CALL = [
    piece("", call_id="call_A", name="get_weather"),
    piece('{"ci'),
    piece('ty": "San '),
    piece("Fran"),
    piece('cisco", "da'),
    piece('ys": 1'),
]
"""A call but for its last piece."""

LAST = piece("2}")


class Tools:
    """A tool that records its arguments."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def get_weather(self, city: str, days: int = 1) -> str:
        """Tells the weather."""
        self.asked.append((city, days))
        return f"Sunny in {city}"


async def test_text_arrives_piece_by_piece_and_once() -> None:
    async with openai_agent(replies=[ANSWER]) as agent:
        told = await turn(agent)
    assert [chunk["delta"] for chunk in told.of_type("text-delta")] == ["It is ", "sunny."]
    assert told.outline() == ["step-start", "text"]
    assert told.finish_reason() == "stop"


async def test_litellm_stores_a_thought_before_the_text_around_it() -> None:
    """See ``docs/decisions/what-a-message-cannot-show.md``: if ADK stores the order, the row goes."""
    said = [delta(role="assistant", content="One. "), delta(reasoning_content="Hm. "), delta(content="Two.")]
    async with openai_agent(replies=[streamed(*said, delta("stop"))]) as agent:
        page = Page(create_app(agent))
        await page.send("Hi")
        stored = await page.stored()
    live, reloaded = (
        [(part["type"], part["text"]) for part in messages[-1]["parts"] if "text" in part]
        for messages in (page.messages, stored)
    )
    assert live == [("text", "One. "), ("reasoning", "Hm. "), ("text", "Two.")]
    assert reloaded == [("reasoning", "Hm. "), ("text", "One. Two.")]


ENDS: dict[str, list[dict[str, Any]]] = {
    "tool_calls": [LAST, delta("tool_calls")],
    "stop": [LAST, delta("stop")],
    "function_call": [LAST, delta("function_call")],
    "a reason of its own": [LAST, delta("weird")],
    "stop on the last piece": [piece("2}", finish="stop")],
    "tool_calls on the last piece": [piece("2}", finish="tool_calls")],
    "none at all": [LAST],
    "usage": [LAST, delta("tool_calls"), usage(3, 4)],
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_text_tool_and_follow_up_text_are_one_stream_however_the_call_ends(end: list[dict[str, Any]]) -> None:
    tools = Tools()
    asked = streamed(delta(role="assistant", content="Let me look."), *CALL, *end)
    async with openai_agent(tools.get_weather, replies=[asked, ANSWER]) as agent:
        told = await turn(agent)
    assert tools.asked == [("San Francisco", 12)], "the tool ran, once"
    check_streamed_arguments(told)
    assert told.outline() == ["step-start", "text", "tool-get_weather", "step-start", "text"]
    assert told.text() == "Let me look.It is sunny."
    tool = told.part("tool-get_weather")
    assert (tool["toolCallId"], tool["state"]) == ("call_A", "output-available")
    assert (tool["input"], tool["output"]) == (
        {"city": "San Francisco", "days": 12},
        {"result": "Sunny in San Francisco"},
    )
    assert told.finish_reason() == "stop"


async def test_arguments_arrive_as_they_are_written() -> None:
    tools = Tools()
    async with openai_agent(tools.get_weather, replies=[streamed(*CALL, LAST), ANSWER]) as agent:
        told = await turn(agent)
    assert told.deltas("call_A") == ['{"city":"San ', "Fran", 'cisco","days":12', "}"]


async def test_without_streaming_the_same_message_comes_whole() -> None:
    tools = Tools()
    call = {
        "id": "call_A",
        "type": "function",
        "function": {"name": "get_weather", "arguments": json.dumps({"city": "Rome", "days": 3})},
    }
    replies = [
        whole("tool_calls", content="Let me look.", tool_calls=[call]),
        whole("stop", content="It is sunny."),
    ]
    async with openai_agent(tools.get_weather, replies=replies) as agent:
        told = await turn(agent, streaming=False)
    assert tools.asked == [("Rome", 3)]
    assert told.outline() == ["step-start", "text", "tool-get_weather", "step-start", "text"]
    assert told.text() == "Let me look.It is sunny."
    assert told.part("tool-get_weather")["input"] == {"city": "Rome", "days": 3}
    assert told.part("tool-get_weather")["output"] == {"result": "Sunny in Rome"}
    assert told.message["metadata"]["usage"]["totalTokens"] == 14


async def test_parallel_calls_whose_fragments_interleave_stay_apart() -> None:
    tools = Tools()
    asked = streamed(
        piece("", call_id="call_A", name="get_weather"),
        piece("", index=1, call_id="call_B", name="get_weather"),
        piece('{"city": "Ro'),
        piece('{"days": 2, "ci', index=1),
        piece("me"),
        piece('ty": "Pa\\"', index=1),
        piece('", "days": 1}'),
        piece('ris"}', index=1),
        delta("tool_calls"),
    )
    async with openai_agent(tools.get_weather, replies=[asked, ANSWER]) as agent:
        told = await turn(agent)
    check_streamed_arguments(told)
    assert sorted(tools.asked) == [('Pa"ris', 2), ("Rome", 1)]
    calls = {tool["toolCallId"]: tool for tool in told.all_parts("tool-get_weather")}
    assert calls["call_A"]["input"] == {"city": "Rome", "days": 1}
    assert calls["call_B"]["input"] == {"days": 2, "city": 'Pa"ris'}
    assert calls["call_A"]["output"] == {"result": "Sunny in Rome"}
    assert calls["call_B"]["output"] == {"result": 'Sunny in Pa"ris'}


async def test_calls_without_ids_in_two_rounds_are_two_calls() -> None:
    tools = Tools()
    rounds = [
        streamed(piece("", name="get_weather"), piece(f'{{"city": "{city}"}}'), delta("tool_calls"))
        for city in ("Rome", "Paris")
    ]
    async with openai_agent(tools.get_weather, replies=[*rounds, ANSWER]) as agent:
        told = await turn(agent)
    assert [city for city, _ in tools.asked] == ["Rome", "Paris"]
    calls = told.all_parts("tool-get_weather")
    assert [tool["input"]["city"] for tool in calls] == ["Rome", "Paris"]
    assert [tool["output"]["result"] for tool in calls] == ["Sunny in Rome", "Sunny in Paris"]
    assert len({tool["toolCallId"] for tool in calls}) == 2
    check_streamed_arguments(told)


async def test_empty_containers_arrive_with_the_finished_call() -> None:
    planned: list[dict[str, Any]] = []

    def plan(trip: dict[str, Any]) -> str:
        """Plans a trip."""
        planned.append(trip)
        return "ok"

    trip = {"stops": [], "notes": {}, "to": "Rome"}
    text = json.dumps({"trip": trip})
    asked = streamed(
        piece("", call_id="call_A", name="plan"), *(piece(text[at : at + 3]) for at in range(0, len(text), 3))
    )
    async with openai_agent(plan, replies=[asked, ANSWER]) as agent:
        told = await turn(agent)
    assert planned == [trip]
    assert told.part("tool-plan")["input"] == {"trip": trip}
    assert json.loads("".join(told.deltas("call_A"))) == {"trip": trip}


async def test_an_emoji_that_is_cut_between_its_escapes_arrives_whole() -> None:
    tools = Tools()
    asked = streamed(
        piece("", call_id="call_A", name="get_weather"),
        piece('{"city": "Rome \\ud83d'),
        piece("\\ude00 and "),
        piece('Paris"}'),
    )
    async with openai_agent(tools.get_weather, replies=[asked, ANSWER]) as agent:
        told = await turn(agent)
    check_streamed_arguments(told)
    assert told.deltas("call_A") == ['{"city":"Rome ', "😀 and ", 'Paris"', "}"]


async def test_reasoning_is_reasoning() -> None:
    thinking = [delta(role="assistant", reasoning_content="Let me "), delta(reasoning_content="think.")]
    async with openai_agent(replies=[streamed(*thinking, delta(content="Yes."), delta("stop"))]) as agent:
        told = await turn(agent)
    assert told.outline() == ["step-start", "reasoning", "text"]
    assert told.part("reasoning")["text"] == "Let me think."
    assert told.text() == "Yes."


async def test_a_call_that_the_token_limit_cuts_is_ended_and_not_run() -> None:
    tools = Tools()
    asked = streamed(delta(role="assistant", content="Let me look."), *CALL[:4], delta("length"))
    async with openai_agent(tools.get_weather, replies=[asked]) as agent:
        told = await turn(agent)
    assert tools.asked == []
    tool = told.part("tool-get_weather")
    assert tool["state"] == "output-error"
    assert "".join(told.deltas("call_A")) == '{"city":"San Fran'
    assert told.text() == "Let me look."
    assert (told.finish_reason(), told.error) == ("length", None)


async def test_a_tool_that_the_model_calls_wrongly_is_an_output_error() -> None:
    tools = Tools()
    asked = streamed(piece("", call_id="call_A", name="get_weather"), piece('{"days": 3}'), delta("tool_calls"))
    async with openai_agent(tools.get_weather, replies=[asked, ANSWER]) as agent:
        told = await turn(agent)
    assert tools.asked == []
    tool = told.part("tool-get_weather")
    assert (tool["state"], tool["input"]) == ("output-error", {"days": 3})
    assert "city" in tool["errorText"]
    assert told.text() == "It is sunny."


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_refused_request_is_one_masked_error(streaming: bool) -> None:
    async with openai_agent(replies=[refused("400 Bad Request", "Bad schema in org-secret.")]) as agent:
        told = await turn(agent, streaming=streaming)
    assert told.error == "An error occurred."
    assert told.parts == []
    assert type(told.failure).__name__ == "BadRequestError"


TOLD = {
    "401 Unauthorized": (
        "Incorrect API key provided: sk-abcde*****wxyz.",
        "The API key for openai/gpt-x was refused (401: Incorrect API key provided: [redacted]): check OPENAI_API_KEY.",
    ),
    "404 Not Found": (
        "No such model.",
        "The provider does not know openai/gpt-x (404 invalid_request_error: No such model): check the model's name.",
    ),
    "400 Bad Request": (
        "This model's maximum context length is 8 tokens.",
        "The conversation is too long for openai/gpt-x: begin a new chat, or shorten what tools and files put into it.",
    ),
    "503 Service Unavailable": (
        "Overloaded.",
        "The provider of openai/gpt-x is overloaded (503 invalid_request_error: Overloaded). Try again in a moment.",
    ),
}


@pytest.mark.parametrize("status", TOLD)
async def test_a_developer_reads_the_cause_of_an_error(status: str) -> None:
    message, sentence = TOLD[status]
    async with openai_agent(replies=[refused(status, message)]) as agent:
        told = await turn(agent)
    assert told.failure is not None
    assert explain_error(told.failure) == sentence


UNREACHED: dict[str, tuple[dict[str, Any], str]] = {
    "no key": (
        {"model": "openai/gpt-x"},
        "No API key for openai/gpt-x: set OPENAI_API_KEY in the environment of this server.",
    ),
    "nobody there": (
        {"model": "openai/gpt-x", "api_key": "no-key", "api_base": "http://127.0.0.1:1/v1", "max_retries": 0},
        "Cannot reach the provider of openai/gpt-x: check the network, the proxy settings and the model's address.",
    ),
    "no provider": (
        {"model": "gpt-x"},
        "gpt-x is of no known provider: name it with its provider, as in openai/gpt-4o.",
    ),
}


@pytest.mark.parametrize("case", UNREACHED)
async def test_a_developer_reads_that_the_model_was_not_reached(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options, sentence = UNREACHED[case]
    model = LiteLlm(**options, _skip_mcp_handler=True)  # as in `openai_agent`
    told = await turn(LlmAgent(name="assistant", model=model))
    assert told.failure is not None
    assert explain_error(told.failure) == sentence


async def test_a_failing_tool_ends_its_call_and_the_run() -> None:
    def get_weather(city: str) -> str:
        """Tells the weather."""
        raise RuntimeError("no sky")

    async with openai_agent(get_weather, replies=[streamed(*CALL, LAST)]) as agent:
        told = await turn(agent)
    assert told.part("tool-get_weather")["state"] == "output-error"
    assert told.error == "An error occurred."


async def test_usage_is_summed_over_the_rounds() -> None:
    tools = Tools()
    asked = streamed(*CALL, LAST, delta("tool_calls"), usage(10, 5))
    answer = streamed(delta(role="assistant", content="Sunny."), delta("stop"), usage(20, 7))
    async with openai_agent(tools.get_weather, replies=[asked, answer]) as agent:
        told = await turn(agent)
    metadata: dict[str, Any] = told.message["metadata"]
    assert metadata["modelId"] == "gpt-x"
    assert (metadata["usage"]["inputTokens"], metadata["usage"]["outputTokens"]) == (30, 12)


def test_a_key_is_missing_where_litellm_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = LlmAgent(name="other", model=LiteLlm(model="openai/gpt-4o"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert used_models(agent).missing == (
        "No API key for openai/gpt-4o: set OPENAI_API_KEY in the environment of this server.",
    )
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert used_models(agent).missing == ()
