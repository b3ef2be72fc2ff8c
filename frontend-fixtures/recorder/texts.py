"""Scenarios with texts of a model: text, thoughts, code, structured output."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel

from recorder.functions import get_weather
from recorder.model import GeminiScript, ResponseScript, call, calls, chunk, end, fragment_of, text, thought, whole_of
from recorder.scenario import Scenario
from recorder.user import say

SIGNATURE = b"\xfb\xef\xbesignature"


def agent(*replies: Any, **config: Any) -> LlmAgent:
    """Return the root agent of most scenarios."""
    return LlmAgent(name="root", model=GeminiScript(*replies), **config)


def named(name: str, *replies: Any, **config: Any) -> LlmAgent:
    """Return an agent with a name, for scenarios with several agents."""
    return LlmAgent(name=name, model=GeminiScript(*replies), description=f"Does {name}.", **config)


def _greeting() -> LlmAgent:
    return agent(text("Grüße aus ", "Tōkyō 🌸, ", "\u2028Ann."))


def _redact(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
    if llm_response.partial:
        return None
    return llm_response.model_copy(
        update={"content": types.Content(role="model", parts=[types.Part(text="The code is ****.")])}
    )


def _refuse(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Not today.")]))


def _goodbye(callback_context: CallbackContext) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text="Goodbye.")])


class _Calculator(BaseCodeExecutor):
    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        return CodeExecutionResult(stdout="42\n")


class _City(BaseModel):
    name: str
    people: int


def _code() -> LlmAgent:
    return agent(
        [
            chunk(types.Part(text="I compute: ")),
            chunk(types.Part(executable_code=types.ExecutableCode(code="print(6*7)", language=types.Language.PYTHON))),
            chunk(
                types.Part(
                    code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="42\n")
                )
            ),
            chunk(types.Part(text="it is 42.")),
            end(),
        ]
    )


def _server_tool() -> LlmAgent:
    kind = types.ToolType.GOOGLE_SEARCH_WEB
    return agent(
        [
            chunk(types.Part(tool_call=types.ToolCall(id="s1", tool_type=kind, args={"queries": ["paris"]}))),
            chunk(types.Part(tool_response=types.ToolResponse(id="s1", tool_type=kind, response={"found": 3}))),
            chunk(types.Part(text="Paris is big.")),
            end(),
        ]
    )


def _failing_code() -> LlmAgent:
    return agent(
        [
            chunk(types.Part(executable_code=types.ExecutableCode(code="1/0", language=types.Language.PYTHON))),
            chunk(
                types.Part(
                    code_execution_result=types.CodeExecutionResult(
                        outcome=types.Outcome.OUTCOME_FAILED, output="ZeroDivisionError: division by zero"
                    )
                )
            ),
            chunk(types.Part(text="That does not work.")),
            end(),
        ]
    )


def _code_executor() -> LlmAgent:
    return agent(
        text("Let me run:\n", "```python\nprint(6*7)\n```"),
        text("It is ", "42."),
        code_executor=_Calculator(),
    )


def _thoughts() -> LlmAgent:
    return agent(
        [
            chunk(thought("Paris is ")),
            chunk(thought("in France.")),
            chunk(types.Part(text="The capital ")),
            chunk(types.Part(text="is Paris.")),
            end(signature=SIGNATURE),
        ]
    )


def _other_adapter(*responses: LlmResponse) -> LlmAgent:
    return LlmAgent(name="root", model=ResponseScript(responses))


def _longer() -> LlmAgent:
    return _other_adapter(fragment_of(types.Part(text="Hello")), whole_of(types.Part(text="Hello, Ann.")))


def _reordered() -> LlmAgent:
    words, idea = types.Part(text="Hello."), thought("Greet her.")
    return _other_adapter(fragment_of(words), fragment_of(idea), whole_of(idea, words))


def _whole_adds() -> LlmAgent:
    picture = types.Part(file_data=types.FileData(file_uri="https://files.example/rose.png", mime_type="image/png"))
    one, two = types.Part(text="Here: "), types.Part(text="a rose.")
    return _other_adapter(fragment_of(one), whole_of(one, picture, two))


def _thought_then_call() -> LlmAgent:
    return agent(
        [
            chunk(thought("I need the weather.")),
            chunk(
                types.Part(
                    function_call=types.FunctionCall(name="get_weather", args={"city": "Paris"}),
                    thought_signature=SIGNATURE,
                )
            ),
            end(),
        ],
        text("It is 21 °C."),
        tools=[get_weather],
    )


TEXTS = (
    Scenario(
        name="text",
        description="Text in fragments and a last empty one; the aggregate repeats it. Non-ASCII, a line separator.",
        build=_greeting,
        turns=[say("hi")],
    ),
    Scenario(
        name="text_none",
        description="The same without streaming: one event.",
        build=_greeting,
        turns=[say("hi")],
        streaming=False,
    ),
    Scenario(
        name="two_turns",
        description="Two user messages: two assistant messages.",
        build=lambda: agent(text("Hello."), text("Hello ", "again.")),
        turns=[say("hi"), say("hi again")],
    ),
    Scenario(
        name="thoughts",
        description="Thoughts become reasoning; the signature comes on a last empty text.",
        build=_thoughts,
        turns=[say("capital of France?")],
    ),
    Scenario(
        name="thoughts_hidden",
        description="The same with send_reasoning off.",
        build=_thoughts,
        turns=[say("capital of France?")],
        options={"send_reasoning": False},
    ),
    Scenario(
        name="thought_then_call",
        description="A thought, then a call with a thought signature of its own.",
        build=_thought_then_call,
        turns=[say("weather in Paris?")],
    ),
    Scenario(
        name="text_tool_text",
        description="Text, a call in the same response, its output, text in a second step.",
        build=lambda: agent(
            [
                chunk(types.Part(text="I look ")),
                chunk(types.Part(text="it up.")),
                chunk(call("get_weather", {"city": "Paris"})),
                end(),
            ],
            text("It is ", "21 °C."),
            tools=[get_weather],
        ),
        turns=[say("weather in Paris?")],
    ),
    Scenario(
        name="text_around_thought",
        description="Text, thought, text in one response: the order stays.",
        build=lambda: agent(
            [chunk(types.Part(text="One. ")), chunk(thought("Go on.")), chunk(types.Part(text="Two.")), end()]
        ),
        turns=[say("count")],
    ),
    Scenario(
        name="aggregate_longer",
        description="The aggregate says more than was streamed: only the rest is added.",
        build=_longer,
        turns=[say("hi")],
    ),
    Scenario(
        name="aggregate_reordered",
        description="The aggregate has thought and text the other way round: nothing is said twice.",
        build=_reordered,
        turns=[say("hi")],
    ),
    Scenario(
        name="aggregate_adds_parts",
        description="Only the aggregate has the picture and the text behind it.",
        build=_whole_adds,
        turns=[say("a rose")],
    ),
    Scenario(
        name="redacted",
        description="A callback replaced the aggregate only: what was streamed stays, nothing is put on top.",
        build=lambda: agent(text("The code ", "is 1234."), after_model_callback=_redact),
        turns=[say("the code?")],
    ),
    Scenario(
        name="redacted_none",
        description="The same without streaming: only the redacted text exists.",
        build=lambda: agent(text("The code ", "is 1234."), after_model_callback=_redact),
        turns=[say("the code?")],
        streaming=False,
    ),
    Scenario(
        name="callback_answers",
        description="A callback answers in place of the model: one whole event, no fragments.",
        build=lambda: agent(before_model_callback=_refuse),
        turns=[say("hi")],
    ),
    Scenario(
        name="callback_adds",
        description="A callback adds a whole event behind the model's streamed answer.",
        build=lambda: agent(text("Hello", "."), after_agent_callback=_goodbye),
        turns=[say("hi")],
    ),
    Scenario(
        name="code_execution",
        description="Gemini runs code itself: text, code, result, text in one response.",
        build=_code,
        turns=[say("6*7?")],
    ),
    Scenario(
        name="code_execution_fails",
        description="Gemini's code fails.",
        build=_failing_code,
        turns=[say("1/0?")],
    ),
    Scenario(
        name="server_tool",
        description="Gemini searches itself and tells of it: a provider-executed call with its output.",
        build=_server_tool,
        turns=[say("Paris?")],
    ),
    Scenario(
        name="code_executor",
        description="ADK's code executor: the streamed code block comes again as code, its result in its own event.",
        build=_code_executor,
        turns=[say("6*7?")],
    ),
    Scenario(
        name="output_schema",
        description="Structured output is streamed as its JSON text.",
        build=lambda: agent(text('{"name":"Paris",', '"people":2100000}'), output_schema=_City),
        turns=[say("a city")],
    ),
    Scenario(
        name="output_schema_with_tools",
        description="With tools, structured output is a hidden call of set_model_response and a whole text behind it.",
        build=lambda: agent(
            calls(call("get_weather", {"city": "Paris"})),
            calls(call("set_model_response", {"name": "Paris", "people": 2_100_000})),
            tools=[get_weather],
            output_schema=_City,
        ),
        turns=[say("a city")],
    ),
)
