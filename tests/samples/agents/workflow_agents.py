"""Samples of ADK's first workflow agents: sequential, parallel, and in a loop."""

from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.tools import exit_loop
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from stream_protocol.testing import Call, Thought
from tests.samples.agents.answers import ASK, ask_manager
from tests.samples.agents.confirmation import ALWAYS, refund_call
from tests.samples.agents.teams import LOOK, look
from tests.samples.sample import Sample, Turn, answer, approve, deny, scripted


def sequence(_at: str) -> BaseAgent:
    writer = scripted("writer", "A draft.", LOOK, "With sun.", "A third.", tools=[look], output_key="draft")
    editor = scripted("editor", [Thought("Hm."), " Edited."], " Edited, too.", " Done.", instruction="Edit {draft?}")
    return SequentialAgent(name="root", sub_agents=[writer, editor])


def side_by_side(_at: str) -> BaseAgent:
    left = scripted("left", "Left.", LOOK, "Left with sun.", "Left again.", tools=[look])
    right = scripted("right", "Right.", "Right, too.", "Right again.")
    return ParallelAgent(name="root", sub_agents=[left, right])


def side_by_side_and_merged(_at: str) -> BaseAgent:
    merger = scripted("merger", " Merged.", " Merged, too.", " Merged again.")
    together = side_by_side(_at)
    together.name = "together"
    return SequentialAgent(name="root", sub_agents=[together, merger])


def approvals_side_by_side(_at: str) -> BaseAgent:
    left = scripted("left", refund_call(1), "Left paid.", refund_call(1), "Left did not.", "Left.", tools=[ALWAYS])
    right = scripted("right", refund_call(2), "Right paid.", refund_call(2), "Right paid.", "Right.", tools=[ALWAYS])
    return ParallelAgent(name="root", sub_agents=[left, right])


def loop(_at: str) -> BaseAgent:
    leave = Call("exit_loop")
    writer = scripted("writer", "First. ", "Second. ", "Third. ", "Fourth. ")
    critic = scripted("critic", "Again. ", leave, leave, ["Fine. ", leave], tools=[exit_loop])
    return LoopAgent(name="root", sub_agents=[writer, critic], max_iterations=3)


def loop_to_its_end(_at: str) -> BaseAgent:
    writer = scripted("writer", *(f"{number} " for number in range(6)))
    return LoopAgent(name="root", sub_agents=[writer], max_iterations=2)


def page_tool_side_by_side(_at: str) -> BaseAgent:
    left = scripted("left", ASK, "Left done.", "Left.", "Left.", tools=[LongRunningFunctionTool(ask_manager)])
    right = scripted("right", "Right.", "Right.", "Right.")
    return ParallelAgent(name="root", sub_agents=[left, right])


SAMPLES = [
    Sample(
        "agents in a row",
        sequence,
        [
            Turn("one", "A draft., (Hm.),  Edited."),
            Turn("two", "look output-available, With sun.,  Edited, too."),
            Turn("three", "A third.,  Done."),
        ],
    ),
    Sample(
        "agents side by side",
        side_by_side,
        [
            Turn("one", "Left., Right."),
            Turn("two", "look output-available, Left with sun., Right, too."),
            Turn("three", "Left again., Right again."),
        ],
    ),
    Sample(
        "agents side by side and one that merges",
        side_by_side_and_merged,
        [
            Turn("one", "Left., Right.,  Merged."),
            Turn("two", "look output-available, Left with sun., Right, too.,  Merged, too."),
            Turn("three", "Left again., Right again.,  Merged again."),
        ],
    ),
    Sample(
        "approvals of agents side by side",
        approvals_side_by_side,
        [
            Turn(
                "one",
                "refund output-available, Left paid., refund output-available, Right paid.",
                "refund approval-requested, refund approval-requested",
                [approve("refund"), approve("refund")],
            ),
            Turn(
                "two",
                "refund output-denied, Left did not., refund output-available, Right paid.",
                "refund approval-requested, refund approval-requested",
                [deny("refund"), approve("refund")],
            ),
            Turn("three", "Left., Right."),
        ],
    ),
    Sample(
        "a page's tool of an agent beside another",
        page_tool_side_by_side,
        [
            Turn(
                "one",
                "ask_manager output-available, Left done., Right.",
                "ask_manager input-available, Right.",
                [answer("ask_manager", 1)],
            ),
            Turn("two", "Left., Right."),
            Turn("three", "Left., Right."),
        ],
    ),
    Sample(
        "a loop that an agent leaves",
        loop,
        [
            Turn("one", "First. , Again. , Second. "),
            Turn("two", "Third. "),
            Turn("three", "Fourth. , Fine. "),
        ],
    ),
    Sample(
        "a loop to its end",
        loop_to_its_end,
        [Turn("one", "0 , 1 "), Turn("two", "2 , 3 "), Turn("three", "4 , 5 ")],
    ),
]
