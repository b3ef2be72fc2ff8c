"""Samples of apps: artifacts, memory, compaction, resumability, and custom agent classes."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent, InvocationContext, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events import Event, EventActions
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.tools import load_artifacts, preload_memory
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from typing_extensions import override

from stream_protocol.testing import Call, ScriptedLlm, token_usage
from tests.samples.agents.answers import ASK, ask_manager
from tests.samples.agents.confirmation import ALWAYS, refund_call, three_refunds
from tests.samples.agents.teams import LOOK, look
from tests.samples.sample import Sample, Turn, answer, approve, deny, scripted

NOTE = {"type": "file", "mediaType": "text/plain", "filename": "note.txt", "url": "data:text/plain;base64,aGk="}


async def draw(name: str, tool_context: ToolContext) -> dict[str, str]:
    """Draws, and saves the picture."""
    picture = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")
    version = await tool_context.save_artifact(f"{name}.png", picture)
    return {"saved": f"{name}.png", "version": str(version)}


def artifacts(_at: str) -> LlmAgent:
    said = [
        Call("draw", {"name": "cat"}),
        "A cat.",
        [Call("draw", {"name": "cat"}), Call("draw", {"name": "dog"})],
        "Both.",
        Call("load_artifacts", {"artifact_names": ["cat.png"]}),
        "I see a cat.",
    ]
    return scripted("root", *said, tools=[draw, load_artifacts])


def uploads(_at: str) -> App:
    """App that saves the user's files as artifacts."""
    root = scripted("root", "A note.", "Again.", "Bye.")
    return App(name="app", root_agent=root, plugins=[SaveFilesAsArtifactsPlugin()])


def compacted(_at: str) -> App:
    """App that summarises the chat after every second turn."""
    summarizer = LlmEventSummarizer(llm=ScriptedLlm(respond=lambda request: "A summary."))
    config = EventsCompactionConfig(summarizer=summarizer, compaction_interval=1, overlap_size=1)
    root = scripted("root", LOOK, "One.", "Two.", "Three.", tools=[look])
    return App(name="app", root_agent=root, events_compaction_config=config)


def compacted_by_tokens(_at: str) -> App:
    summarizer = LlmEventSummarizer(llm=ScriptedLlm(respond=lambda request: "A summary."))
    config = EventsCompactionConfig(summarizer=summarizer, token_threshold=50, event_retention_size=1)
    many = token_usage(prompt=100, answer=1)
    said = [refund_call(1), ["Refunded.", many], ["Two.", many], refund_call(3), ["Refunded.", many]]
    return App(name="app", root_agent=scripted("root", *said, tools=[ALWAYS]), events_compaction_config=config)


def resumable_app(root: BaseAgent) -> App:
    return App(name="app", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True))


def resumable(_at: str) -> App:
    said = [refund_call(1), "Refunded.", ["I ask. ", ASK], "Allowed.", "Bye."]
    root = scripted("root", *said, tools=[ALWAYS, LongRunningFunctionTool(ask_manager)])
    return resumable_app(root)


def resumable_parallel(_at: str) -> App:
    left = scripted("left", refund_call(1), "Left paid.", refund_call(1), "Left did not.", "Left.", tools=[ALWAYS])
    right = scripted("right", refund_call(2), "Right paid.", refund_call(2), "Right paid.", "Right.", tools=[ALWAYS])
    merger = scripted("merger", "Merged.", "Merged, too.", "Merged again.")
    root = SequentialAgent(name="root", sub_agents=[ParallelAgent(name="both", sub_agents=[left, right]), merger])
    return resumable_app(root)


def resumable_sub_agent(_at: str) -> App:
    clerk = scripted(
        "clerk",
        refund_call(1),
        "Refunded.",
        refund_call(2),
        "Not refunded.",
        refund_call(3),
        "Refunded.",
        tools=[ALWAYS],
    )
    root = scripted("root", Call("transfer_to_agent", {"agent_name": "clerk"}), sub_agents=[clerk])
    return resumable_app(root)


def remembers(_at: str) -> LlmAgent:
    return scripted("root", "One.", "Two.", "Three.", tools=[preload_memory])


def event_of(agent: BaseAgent, ctx: InvocationContext, text: str, *, partial: bool | None = None) -> Event:
    content = types.ModelContent(text)
    return Event(author=agent.name, invocation_id=ctx.invocation_id, content=content, partial=partial)


class Counter(BaseAgent):
    """Custom agent with complete replies, streamed replies, state, and a sub-agent."""

    @override
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        count = ctx.session.state.get("count", 0) + 1
        actions = EventActions(state_delta={"count": count})
        yield Event(author=self.name, invocation_id=ctx.invocation_id, actions=actions)
        yield event_of(self, ctx, f"Number {count}. ")
        for word in ("In ", "pieces. "):
            yield event_of(self, ctx, word, partial=True)
        yield event_of(self, ctx, "In pieces. ")
        (helper,) = self.sub_agents
        async for event in helper.run_async(ctx):
            yield event


class Router(BaseAgent):
    """Custom agent that selects the replying agent, without a text."""

    @override
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        turn = sum(event.author == "user" for event in ctx.session.events)
        agent = self.sub_agents[(turn - 1) % len(self.sub_agents)]
        async for event in agent.run_async(ctx):
            yield event


class Failing(BaseAgent):
    """Custom agent that fails in its second turn, in the middle of a text."""

    @override
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield event_of(self, ctx, "Half ", partial=True)
        if sum(event.author == "user" for event in ctx.session.events) == 2:
            raise RuntimeError("hunter2")
        yield event_of(self, ctx, "Half and half.")


def by_hand(_at: str) -> BaseAgent:
    return Counter(name="counter", sub_agents=[scripted("helper", "Helped.", LOOK, "Sun.", "Bye.", tools=[look])])


def router(_at: str) -> BaseAgent:
    return Router(name="router", sub_agents=[scripted("left", "Left.", "Left again."), scripted("right", "Right.")])


def failing(_at: str) -> BaseAgent:
    return Failing(name="failing")


SAMPLES = [
    Sample(
        "a tool that keeps artifacts",
        artifacts,
        [
            Turn("one", "draw output-available, adk-artifact, A cat."),
            Turn("two", "draw output-available, draw output-available, adk-artifact, adk-artifact, Both."),
            Turn("three", "load_artifacts output-available, I see a cat."),
        ],
    ),
    Sample(
        "files of the user that become artifacts",
        uploads,
        [
            Turn("one", "A note., adk-artifact", files=[NOTE], stored=["text/plain, one", "A note., adk-artifact"]),
            Turn("two", "Again., adk-artifact", files=[NOTE], stored=["text/plain, two", "Again., adk-artifact"]),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a chat that is summed up",
        compacted,
        [
            Turn("one", "look output-available, One., adk-compaction"),
            Turn("two", "Two., adk-compaction"),
            Turn("three", "Three., adk-compaction"),
        ],
    ),
    Sample(
        "a chat that is summed up by its tokens",
        compacted_by_tokens,
        [
            Turn(
                "one",
                "refund output-available, adk-compaction, Refunded., adk-compaction",
                "refund approval-requested, adk-compaction",
                [approve("refund")],
            ),
            Turn("two", "Two., adk-compaction"),
            Turn(
                "three",
                "refund output-available, adk-compaction, Refunded., adk-compaction",
                "refund approval-requested, adk-compaction",
                [approve("refund")],
            ),
        ],
        logs=["Dropping function calls with no matching function response"],  # ADK of the request that it has summed up
    ),
    Sample(
        "a resumable app",
        resumable,
        [
            Turn("one", "refund output-available, Refunded.", "refund approval-requested", [approve("refund")]),
            Turn(
                "two",
                "I ask. , ask_manager output-available, Allowed.",
                "I ask. , ask_manager input-available",
                [answer("ask_manager", 1)],
            ),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a resumable app of agents side by side",
        resumable_parallel,
        [
            Turn(
                "one",
                "refund output-available, Left paid., refund output-available, Right paid., Merged.",
                "refund approval-requested, refund approval-requested",
                [approve("refund"), approve("refund")],
            ),
            Turn(
                "two",
                "refund output-denied, Left did not., refund output-available, Right paid., Merged, too.",
                "refund approval-requested, refund approval-requested",
                [deny("refund"), approve("refund")],
            ),
            Turn("three", "Left., Right., Merged again."),
        ],
    ),
    Sample("a resumable app with a sub-agent", resumable_sub_agent, three_refunds("adk-agent, ")),
    Sample("a memory", remembers, [Turn("one", "One."), Turn("two", "Two."), Turn("three", "Three.")]),
    Sample(
        "an agent written by hand",
        by_hand,
        [
            Turn("one", "Number 1. , In pieces. , Helped."),
            Turn("two", "Number 2. , In pieces. , look output-available, Sun."),
            Turn("three", "Number 3. , In pieces. , Bye."),
        ],
    ),
    Sample(
        "an agent that chooses who answers",
        router,
        [Turn("one", "Left."), Turn("two", "Right."), Turn("three", "Left again.")],
    ),
    Sample(
        "an agent that fails",
        failing,
        [
            Turn("one", "Half and half."),
            Turn("two", "Half ", error="An error occurred."),
            Turn("three", "Half and half."),
        ],
        logs=["hunter2"],
    ),
]
