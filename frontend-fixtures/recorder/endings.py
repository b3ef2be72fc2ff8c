"""Scenarios with unusual ends of a run: limits, filters, failures, aborts, empty replies."""

import asyncio
from typing import Any

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.workflow import START, RetryConfig, Workflow
from google.genai import types

from recorder.fixture import JsonEvent
from recorder.functions import explode, get_weather
from recorder.model import Hang, Reply, call, calls, chunk, end, text, thought
from recorder.scenario import Scenario, Turn
from recorder.texts import agent, named
from recorder.tools import weather_stream
from recorder.user import say


class ServiceUnavailableError(Exception):
    """Error of a model backend."""


def fail(node_input: Any) -> None:
    """Fails."""
    raise ValueError("the key is hunter2")


async def sleep() -> dict[str, str]:
    """Never ends."""
    await asyncio.Event().wait()
    return {}


def _said(*pieces: str) -> list[types.GenerateContentResponse]:
    return [chunk(types.Part(text=piece)) for piece in pieces]


def _dies(*before: Any) -> Reply:
    return [*before, ServiceUnavailableError("503 from https://backend.internal/key=hunter2")]


def _nested_workflows() -> Workflow:
    second = named("second", _dies(*_said("Wor")))
    return Workflow(name="outer", edges=[(START, Workflow(name="inner", edges=[(START, second)]))])


def _tell_twice(events: list[JsonEvent]) -> list[JsonEvent]:
    last = events[-1]
    return [*events, {**last, "id": "told-again", "author": "outer", "nodeInfo": {"path": "outer@1"}}]


def _retried() -> Workflow:
    shaky = agent(_dies(*_said("Half ")), text("A whole ", "answer."), retry_config=RetryConfig(initial_delay=0.0))
    return Workflow(name="wf", edges=[(START, shaky)])


def _compact(events: list[JsonEvent]) -> list[JsonEvent]:
    summary = {"role": "model", "parts": [{"text": "We said hello."}]}
    compaction = {"startTimestamp": 1700000000.002, "endTimestamp": 1700000000.003, "compactedContent": summary}
    return [
        *events,
        {
            **events[-1],
            "id": "compacted",
            "author": "user",
            "invocationId": "e-c",
            "content": None,
            "nodeInfo": {"path": ""},
            "actions": {"compaction": compaction},
        },
    ]


def _calls_poet(*replies: Reply, **config: Any) -> LlmAgent:
    poet = named("poet", *replies, mode="single_turn", **config)
    return agent(calls(call("poet", {"request": "a poem"})), text("No poem today."), sub_agents=[poet])


def _interrupt(events: list[JsonEvent]) -> list[JsonEvent]:
    return [*events[:-1], {**events[-1], "interrupted": True}]


def _blocked() -> types.GenerateContentResponse:
    feedback = types.GenerateContentResponsePromptFeedback(
        block_reason=types.BlockedReason.PROHIBITED_CONTENT, block_reason_message="No."
    )
    return types.GenerateContentResponse(prompt_feedback=feedback)


ENDINGS = (
    Scenario(
        name="max_tokens",
        description="The token limit after some text: finish reason length, no error.",
        build=lambda: agent([*_said("It was a dark "), end(types.FinishReason.MAX_TOKENS)]),
        turns=[say("a story")],
    ),
    Scenario(
        name="max_tokens_in_call",
        description="The token limit in the middle of a streamed call.",
        build=lambda: agent(
            [*weather_stream("Bordeaux")[:2], end(types.FinishReason.MAX_TOKENS)], text("Sorry."), tools=[get_weather]
        ),
        turns=[say("weather?")],
    ),
    Scenario(
        name="safety",
        description="The filter stops the model after some text: finish reason content-filter, no error.",
        build=lambda: agent([*_said("First you "), end(types.FinishReason.SAFETY)]),
        turns=[say("how?")],
    ),
    Scenario(
        name="safety_at_once",
        description="The filter stops the model before it said anything.",
        build=lambda: agent([chunk(finish=types.FinishReason.SAFETY)]),
        turns=[say("how?")],
    ),
    Scenario(
        name="prompt_blocked",
        description="The prompt itself is blocked: no candidates at all.",
        build=lambda: agent([_blocked()]),
        turns=[say("how?")],
    ),
    Scenario(
        name="malformed_call",
        description="The model wrote a call that its backend could not read.",
        build=lambda: agent([chunk(finish=types.FinishReason.MALFORMED_FUNCTION_CALL)]),
        turns=[say("weather?")],
    ),
    Scenario(
        name="unknown_finish_reason",
        description="A finish reason of no kind that the client has.",
        build=lambda: agent([*_said("Hm."), end(types.FinishReason.LANGUAGE)]),
        turns=[say("hm")],
    ),
    Scenario(
        name="error_at_once",
        description="The model fails before it says anything: start, then one masked error.",
        build=lambda: agent(_dies()),
        raises=ServiceUnavailableError,
        turns=[say("hi")],
    ),
    Scenario(
        name="error_in_text",
        description="The model fails in the middle of its text: the text stays and is closed.",
        build=lambda: agent(_dies(*_said("Hel"))),
        raises=ServiceUnavailableError,
        turns=[say("hi")],
    ),
    Scenario(
        name="error_in_call",
        description="The model fails in the middle of a streamed call: the call ends too.",
        build=lambda: agent(_dies(*weather_stream("Bordeaux")[:3]), tools=[get_weather]),
        raises=ServiceUnavailableError,
        turns=[say("weather?")],
    ),
    Scenario(
        name="error_in_second_agent",
        description="The second agent of a sequence fails: no event says so, the run just raises.",
        build=lambda: SequentialAgent(
            name="outer",
            sub_agents=[
                named("first", text("Fine.")),
                named("second", _dies(*_said("Wor"))),
            ],
        ),
        raises=ServiceUnavailableError,
        turns=[say("go")],
    ),
    Scenario(
        name="error_in_workflow_agent",
        description="A failing agent inside nested workflows is told by several error events: one error.",
        build=_nested_workflows,
        raises=ServiceUnavailableError,
        turns=[say("go")],
    ),
    Scenario(
        name="retry",
        description="A node fails in the middle of its text and tries again: the text so far stays.",
        build=_retried,
        turns=[say("go")],
    ),
    Scenario(
        name="compaction",
        description="ADK has summarized the chat for the model, as a stored session tells it.",
        build=lambda: agent(text("Hello.")),
        turns=[say("hi")],
        edit=_compact,
    ),
    Scenario(
        name="error_in_workflow",
        description="A workflow's function node fails: one error.",
        build=lambda: Workflow(name="wf", edges=[(START, fail)]),
        raises=ValueError,
        turns=[say("go")],
    ),
    Scenario(
        name="error_told_twice",
        description="Every node on the way up tells the failure: one error.",
        build=_nested_workflows,
        raises=ServiceUnavailableError,
        turns=[say("go")],
        edit=_tell_twice,
    ),
    Scenario(
        name="error_beside_branch",
        description="One branch fails, the other speaks on, then the run dies: the error comes last.",
        build=lambda: Workflow(name="wf", edges=[(START, (fail, named("b", text("B1 ", "B2"))))]),
        raises=ValueError,
        turns=[say("go")],
    ),
    Scenario(
        name="error_recovered",
        description="A sub-agent fails, and the agent that called it goes on: the run ends well, no error is shown.",
        build=lambda: _calls_poet(_dies(*_said("Ro"))),
        turns=[say("a poem")],
    ),
    Scenario(
        name="error_recovered_in_tool",
        description="A tool of a sub-agent raises, and the agent above goes on: the tool's call still ends.",
        build=lambda: _calls_poet(calls(call("explode")), tools=[explode]),
        turns=[say("a poem")],
    ),
    Scenario(
        name="error_then_next_turn",
        description="After an error the next message is answered as ever.",
        build=lambda: agent(_dies(*_said("Hel")), text("Hello.")),
        raises=ServiceUnavailableError,
        turns=[say("hi"), say("again")],
    ),
    Scenario(
        name="abort_at_once",
        description="The run is stopped before the model says anything.",
        build=lambda: agent([Hang()]),
        turns=[Turn(say("a story"), abort_after=1)],
    ),
    Scenario(
        name="abort_in_text",
        description="The run is stopped in the middle of a text.",
        build=lambda: agent([*_said("Once upon ", "a time "), Hang()]),
        turns=[Turn(say("a story"), abort_after=3)],
    ),
    Scenario(
        name="abort_in_call",
        description="The run is stopped in the middle of a streamed call.",
        build=lambda: agent([*weather_stream("Bordeaux")[:3], Hang()], tools=[get_weather]),
        turns=[Turn(say("weather?"), abort_after=4)],
    ),
    Scenario(
        name="abort_in_tool",
        description="The run is stopped while a tool works; the next message is answered as ever.",
        build=lambda: agent(calls(call("sleep")), text("Slept well."), tools=[sleep]),
        turns=[Turn(say("sleep"), abort_after=4), say("awake?")],
    ),
    Scenario(
        name="interrupted",
        description="The last event says that the model was interrupted.",
        build=lambda: agent(text("Once upon ", "a time")),
        turns=[say("a story")],
        edit=_interrupt,
    ),
    Scenario(
        name="empty_stream",
        description="The model's stream is empty: no events, and an empty message.",
        build=lambda: agent([]),
        turns=[say("hi")],
    ),
    Scenario(
        name="no_parts",
        description="The model stops without a word: a fragment and no aggregate.",
        build=lambda: agent([chunk(finish=types.FinishReason.STOP, content=types.Content(role="model"))]),
        turns=[say("hi")],
    ),
    Scenario(
        name="no_content",
        description="The model says an empty text: MODEL_RETURNED_NO_CONTENT.",
        build=lambda: agent([end()]),
        turns=[say("hi")],
    ),
    Scenario(
        name="thought_only",
        description="The model thinks and says nothing.",
        build=lambda: agent([chunk(thought("Hm.")), end()]),
        turns=[say("hi")],
    ),
)
