"""Samples of model output besides text: plans, code, structured data, sources, pictures."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from google.adk.planners import BuiltInPlanner, PlanReActPlanner
from google.genai import types
from pydantic import BaseModel

from stream_protocol.testing import Call, Thought, token_usage, web_sources
from tests.samples.agents.teams import LOOK, look
from tests.samples.sample import Sample, Turn, scripted

PNG = b"\x89PNG\r\n\x1a\n"


class Weather(BaseModel):
    city: str
    sunny: bool


def plans(_at: str) -> LlmAgent:
    """Agent that writes plans as text, which ADK turns into thoughts."""
    said = [
        ["/*PLANNING*/ I look. ", "/*ACTION*/ Looking.", LOOK],
        "/*REASONING*/ It is sun. /*FINAL_ANSWER*/ Sun.",
        "/*PLANNING*/ Nothing to do. /*FINAL_ANSWER*/ Nothing.",
        "Bye.",
    ]
    return scripted("root", *said, tools=[look], planner=PlanReActPlanner())


def thinks(_at: str) -> LlmAgent:
    said = [
        [Thought("I look. "), LOOK],
        [Thought("It is sun. "), "Sun.", token_usage(prompt=9, answer=2, thoughts=4)],
        [Thought("Hm. ", signature=b"1"), "So ", Thought("And. "), "it is."],
        [Thought("Only. "), "Bye."],
    ]
    planner = BuiltInPlanner(thinking_config=types.ThinkingConfig(include_thoughts=True))
    return scripted("root", *said, tools=[look], planner=planner)


class Calculator(BaseCodeExecutor):
    """Code executor with one fixed sum, and a picture of it."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        if "1 / 0" in code_execution_input.code:
            return CodeExecutionResult(stderr="division by zero")
        files = [File("plot.png", PNG, "image/png")] if "plot" in code_execution_input.code else []
        return CodeExecutionResult(stdout="2\n", output_files=files)


def executes(_at: str) -> LlmAgent:
    """Agent that runs code in its reply."""
    said = [
        "I count.\n```python\n1 + 1\n```",
        "Two.",
        "I plot.\n```python\nplot()\n```",
        "There.",
        "I try.\n```python\n1 / 0\n```",
        "Not so.",
    ]
    return scripted("root", *said, code_executor=Calculator())


def executed(_at: str) -> LlmAgent:
    """Agent whose model provider runs code."""
    code = types.Part(executable_code=types.ExecutableCode(code="1 + 1", language=types.Language.PYTHON))
    result = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2\n"))
    failed = types.Part(
        code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_FAILED, output="no")
    )
    said = [["I count. ", code, result, "Two."], [code, failed, code, result, "At last."], "Bye."]
    return scripted("root", *said)


def schema(_at: str) -> LlmAgent:
    said = ['{"city": "Oslo", "sunny": true}', '{"city": "Rome", "sunny": false}', '{"city": "Bonn", "sunny": true}']
    return scripted("root", *said, output_schema=Weather, output_key="weather")


def schema_with_tools(_at: str) -> LlmAgent:
    done = Call("set_model_response", {"city": "Oslo", "sunny": True})
    return scripted("root", LOOK, done, done, LOOK, done, tools=[look], output_schema=Weather)


def sources(_at: str) -> LlmAgent:
    found = web_sources({"https://a.example/": "A", "https://b.example/": "B"})
    said = [["It is so.", found], ["Again.", found], [LOOK, found], ["Once more.", found]]
    return scripted("root", *said, tools=[look])


def pictures(_at: str) -> LlmAgent:
    picture = types.Part.from_bytes(data=PNG, mime_type="image/png")
    linked = types.Part.from_uri(file_uri="https://a.example/b.pdf", mime_type="application/pdf")
    return scripted("root", ["Here: ", picture, " and here: ", picture], [picture], ["See ", linked])


def streamed_calls(_at: str) -> LlmAgent:
    """Agent with streamed arguments."""

    def book(stay: dict[str, Any], days: int) -> str:
        """Books."""
        return "booked"

    call = Call("book", {"stay": {"city": "San Francisco", "beds": [1, 2]}, "days": 3}, streamed=True)
    said = [["I book. ", call], "Booked.", [call, call], "Twice.", "Bye."]
    return scripted("root", *said, tools=[book])


LOOKED = "look output-available"

SAMPLES = [
    Sample(
        "a model that plans in words",
        plans,
        [
            Turn(
                "one",
                f" I look.  Looking., {LOOKED},  It is sun., ( ),  Sun.",
                stored=["one", f"( I look.  Looking.), {LOOKED}, ( It is sun. ),  Sun."],
            ),
            Turn("two", " Nothing to do., ( ),  Nothing.", stored=["two", "( Nothing to do. ),  Nothing."]),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a model that thinks",
        thinks,
        [
            Turn("one", f"(I look. ), {LOOKED}, (It is sun. ), Sun."),
            Turn("two", "(Hm. ), So , (And. ), it is."),
            Turn("three", "(Only. ), Bye."),
        ],
    ),
    Sample(
        "code that the agent runs",
        executes,
        [
            Turn(
                "one",
                "I count.\n```python\n1 + 1\n```, code_execution output-available, Two.",
                stored=["one", "I count.\n, code_execution output-available, Two."],
            ),
            Turn(
                "two",
                "I plot.\n```python\nplot()\n```, code_execution output-available, adk-artifact, There.",
                stored=["two", "I plot.\n, code_execution output-available, adk-artifact, There."],
            ),
            Turn(
                "three",
                "I try.\n```python\n1 / 0\n```, code_execution output-available, Not so.",
                stored=["three", "I try.\n, code_execution output-available, Not so."],
            ),
        ],
    ),
    Sample(
        "code that the provider runs",
        executed,
        [
            Turn("one", "I count. , code_execution output-available, Two."),
            Turn("two", "code_execution output-available, code_execution output-available, At last."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "an answer in a schema",
        schema,
        [
            Turn("one", '{"city": "Oslo", "sunny": true}'),
            Turn("two", '{"city": "Rome", "sunny": false}'),
            Turn("three", '{"city": "Bonn", "sunny": true}'),
        ],
    ),
    Sample(
        "an answer in a schema, with tools",
        schema_with_tools,
        [
            Turn("one", LOOKED + ', {"city": "Oslo", "sunny": true}'),
            Turn("two", '{"city": "Oslo", "sunny": true}'),
            Turn("three", LOOKED + ', {"city": "Oslo", "sunny": true}'),
        ],
    ),
    Sample(
        "an answer with sources",
        sources,
        [
            Turn("one", "It is so., source-url, source-url"),
            Turn("two", "Again., source-url, source-url"),
            Turn("three", f"{LOOKED}, source-url, source-url, Once more."),
        ],
    ),
    Sample(
        "an answer with pictures",
        pictures,
        [
            Turn("one", "Here: , image/png,  and here: , image/png"),
            Turn("two", "image/png"),
            Turn("three", "See , application/pdf"),
        ],
    ),
    Sample(
        "arguments in pieces",
        streamed_calls,
        [
            Turn("one", "I book. , book output-available, Booked."),
            Turn("two", "book output-available, book output-available, Twice."),
            Turn("three", "Bye."),
        ],
    ),
]
