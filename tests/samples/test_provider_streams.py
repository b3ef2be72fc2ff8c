"""Streams of models, in all shapes and cut anywhere, through ADK's own adapters and LiteLLM."""

import json
import re

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from tests.conformance.adapter_runs import turn
from tests.samples.provider_streams import ADAPTERS, BROKEN_RESPONSES, CUT_ANSWERS, GEMINI_ONE_ID

pytestmark = [
    pytest.mark.samples,
    pytest.mark.filterwarnings("ignore:Accessing the .model_(computed_)?fields. attribute"),  # litellm does
]

each_stream = pytest.mark.parametrize(
    ("adapter", "shape"), [(adapter, shape) for adapter, (_, shapes, _) in ADAPTERS.items() for shape in shapes]
)

APART = 100
"""Bytes between two cuts: about the length of an event. With as many first cuts, there is one at each byte."""

MADE_IDS = re.compile(r"(adk-|call_)[0-9a-f][0-9a-f-]{15,}")
"""Ids that an adapter draws where the model gives none."""


def request(model: str) -> LlmRequest:
    city = types.Schema(type=types.Type.OBJECT, properties={"city": types.Schema(type=types.Type.STRING)})
    tool = types.FunctionDeclaration(name="look", description="Looks.", parameters=city)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[tool])])
    return LlmRequest(model=model, contents=[types.UserContent("hi")], config=config)


async def responses(adapter: str, pieces: list[bytes]) -> list[str]:
    """ADK's responses for a stream that comes in these pieces: each becomes one event, and there are no others."""
    make, _, _ = ADAPTERS[adapter]
    model = make([pieces])
    given = [answer async for answer in model.generate_content_async(request(model.model), stream=True)]
    names: dict[str, str] = {}
    text = "\n".join(answer.model_dump_json(exclude_none=True) for answer in given)
    return MADE_IDS.sub(lambda made: names.setdefault(made[0], f"made-{len(names)}"), text).split("\n")


@each_stream
async def test_a_stream_says_the_same_wherever_it_is_cut(adapter: str, shape: str) -> None:
    body = ADAPTERS[adapter][1][shape]
    whole = await responses(adapter, [body])
    assert whole
    assert await responses(adapter, [bytes([byte]) for byte in body]) == whole
    for first in range(1, APART + 1):
        assert await responses(adapter, cut(body, first)) == whole, first


def cut(body: bytes, first: int) -> list[bytes]:
    """The body, cut at this byte and at each one that is so many behind it."""
    ends = [*range(first, len(body), APART), len(body)]
    return [body[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


WITHOUT_THOUGHTS = {"OpenAILlm"}
"""ADK does not read the thoughts of these."""


class Tools:
    """A tool that records its arguments."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def look(self, city: str) -> str:
        """Looks at the weather."""
        self.asked.append(city)
        return f"Sun in {city}"


@each_stream
async def test_what_a_stream_says_is_shown(adapter: str, shape: str) -> None:
    make, shapes, answer = ADAPTERS[adapter]
    tools = Tools()
    told = await turn(LlmAgent(name="root", model=make([[shapes[shape]], [answer]]), tools=[tools.look]))
    assert (told.error, told.finish_reason()) == (None, "stop")
    calls = told.all_parts("tool-look")
    match shape:
        case "text":
            assert (told.outline(), told.text()) == (["step-start", "text"], "Hé… 😀.")
        case "thinking":
            thoughts = [] if adapter in WITHOUT_THOUGHTS else ["reasoning"]
            assert (told.outline(), told.text()) == (["step-start", *thoughts, "text"], "Yes.")
        case "two calls" | "two calls at a time" | "two calls under one id" | "two calls without ids":
            assert told.outline() == ["step-start", "tool-look", "tool-look", "step-start", "text"]
            assert sorted(tools.asked) == ["Paris", "Rome"]
            assert [call["input"] for call in calls] == [{"city": "Rome"}, {"city": "Paris"}]
            assert [call["output"] for call in calls] == [{"result": "Sun in Rome"}, {"result": "Sun in Paris"}]
            assert len({call["toolCallId"] for call in calls}) == 2
        case _:
            assert told.outline() == ["step-start", "text", "tool-look", "step-start", "text"]
            assert told.text() == "Hé… Sunny."
            assert (tools.asked, calls[0]["output"]) == (["Rome"], {"result": "Sun in Rome"})
    for call in calls:
        streamed = "".join(told.deltas(call["toolCallId"]))
        assert not streamed or json.loads(streamed) == call["input"]


async def test_of_two_gemini_calls_under_one_id_adk_runs_the_first() -> None:
    make, _, answer = ADAPTERS["Gemini"]
    tools = Tools()
    told = await turn(LlmAgent(name="root", model=make([[GEMINI_ONE_ID], [answer]]), tools=[tools.look]))
    assert tools.asked == ["Rome"]
    assert [call["output"] for call in told.all_parts("tool-look")] == [{"result": "Sun in Rome"}]


@pytest.mark.parametrize(
    ("adapter", "reason"), [(adapter, reason) for adapter, answers in CUT_ANSWERS.items() for reason in answers]
)
async def test_an_answer_that_a_provider_has_cut_says_why(adapter: str, reason: str) -> None:
    make, _, _ = ADAPTERS[adapter]
    told = await turn(LlmAgent(name="root", model=make([[CUT_ANSWERS[adapter][reason]]])))
    assert (told.error, told.finish_reason(), told.text()) == (None, reason, "Hé… 😀.")


@pytest.mark.parametrize("body", BROKEN_RESPONSES.values(), ids=BROKEN_RESPONSES)
async def test_an_answer_that_fails_in_the_middle_is_an_error(body: bytes) -> None:
    make, _, _ = ADAPTERS["OpenAIResponsesLlm"]
    seen: list[str] = []

    def on_error(error: BaseException) -> str:
        seen.append(str(error))
        return "It failed."

    told = await turn(LlmAgent(name="root", model=make([[body]])), on_error=on_error)
    assert (told.error, told.of_type("finish")) == ("It failed.", [])
    assert told.text() == "Hé… 😀."
    assert all("boom" in text for text in seen)
    assert seen
