"""Samples of tools that need confirmation: always, by arguments, by the tool, several at once, in sub-agents."""

from typing import Any

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.tools import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from stream_protocol.testing import Call, Thought
from tests.samples.sample import Sample, Turn, approve, deny, scripted


def refund(order: str, amount: int) -> dict[str, Any]:
    """Pays money back."""
    return {"order": order, "refunded": amount}


def is_large(order: str, amount: int) -> bool:
    return amount > 100


def delete_account(name: str, tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself, and for how many days the name is kept."""
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint=f"Delete {name}?", payload={"keep_days": 0})
        return {"status": "waiting"}
    if not answer.confirmed:
        return {"status": "kept"}
    return {"status": "deleted", "keep_days": (answer.payload or {}).get("keep_days")}


ALWAYS = FunctionTool(refund, require_confirmation=True)
IF_LARGE = FunctionTool(refund, require_confirmation=is_large)


def refund_call(amount: int, order: str = "A1") -> Call:
    return Call("refund", {"order": order, "amount": amount})


DELETE = Call("delete_account", {"name": "ada"})

REFUND_ASKED = "refund approval-requested"
REFUNDED = "refund output-available, Refunded."
DENIED = "refund output-denied, Not refunded."
DELETE_ASKED = "delete_account approval-requested, Delete ada?, I have asked."
DELETED = "delete_account output-available, Delete ada?, I have asked., Gone."
KEPT = "delete_account output-denied, Delete ada?, I have asked., adk-denial, Kept."

THREE_REFUNDS = [refund_call(1), "Refunded.", refund_call(2), "Not refunded.", refund_call(3), "Refunded."]
"""A model's calls for three refunds. The second is denied."""


def three_refunds(before: str = "", after: str = "") -> list[Turn]:
    """Return turns with three refunds. ``before``: shown before the calls in the first turn. ``after``: shown after
    them.
    """
    return [
        Turn("one", before + REFUNDED + after, before + REFUND_ASKED, [approve("refund")]),
        Turn("two", DENIED + after, REFUND_ASKED, [deny("refund")]),
        Turn("three", REFUNDED + after, REFUND_ASKED, [approve("refund")]),
    ]


def static(_at: str) -> LlmAgent:
    return scripted("root", *THREE_REFUNDS, tools=[ALWAYS])


def by_arguments(_at: str) -> LlmAgent:
    said = [refund_call(5), "Refunded.", refund_call(500), "Refunded.", [refund_call(5), refund_call(500)], "Both."]
    return scripted("root", *said, tools=[IF_LARGE])


def dynamic(_at: str) -> LlmAgent:
    said = [DELETE, "I have asked.", "Gone.", DELETE, "I have asked.", "Kept.", "Bye."]
    return scripted("root", *said, tools=[delete_account])


def parallel(_at: str) -> LlmAgent:
    both = [Thought("Two."), "I refund both: ", refund_call(1, "A1"), refund_call(2, "B2")]
    said = [both, "Both.", both, "One.", both, "None."]
    return scripted("root", *said, tools=[ALWAYS])


def beside_others(_at: str) -> LlmAgent:
    """Three calls in one response: one waits, one does not, and one requests confirmation itself."""

    def look(order: str) -> str:
        """Looks."""
        return f"{order} was late"

    several = [Call("look", {"order": "A1"}), refund_call(1), DELETE]
    said = [several, "Done.", several, "As you like.", "Bye."]
    return scripted("root", *said, tools=[look, ALWAYS, delete_account])


def one_after_the_other(_at: str) -> LlmAgent:
    said = [refund_call(1), refund_call(2), refund_call(3), "All three.", refund_call(4), "Not refunded.", "Bye."]
    return scripted("root", *said, tools=[ALWAYS])


def in_sub_agent(_at: str) -> LlmAgent:
    clerk = scripted("clerk", *THREE_REFUNDS, tools=[ALWAYS])
    return scripted("root", Call("transfer_to_agent", {"agent_name": "clerk"}), sub_agents=[clerk])


def in_agent_tool(_at: str) -> LlmAgent:
    clerk = scripted("clerk", refund_call(1), refund_call(2), tools=[ALWAYS])
    ask = Call("clerk", {"request": "refund A1"})
    return scripted("root", ask, "It cannot ask you.", ask, "Still not.", "Bye.", tools=[AgentTool(clerk)])


def of_agent_tool(_at: str) -> LlmAgent:
    """An agent tool that needs confirmation."""

    def consult(question: str) -> str:
        """Asks a clerk."""
        return f"{question}: yes"

    gated = FunctionTool(consult, require_confirmation=True)
    ask = Call("consult", {"question": "late?"})
    return scripted("root", ask, "It was.", ask, "Then not.", "Bye.", tools=[gated])


def in_sequence(_at: str) -> App:
    """Sequence of agents in a resumable app, which continues with the next agent."""
    clerk = scripted("clerk", *THREE_REFUNDS, tools=[ALWAYS])
    writer = scripted("writer", "Noted.", "Noted.", "Noted.")
    root = SequentialAgent(name="root", sub_agents=[clerk, writer])
    return App(name="app", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True))


def in_sequence_for_good(_at: str) -> SequentialAgent:
    """Sequence of agents without a resumable app. After the answer, only the agent that asked continues."""
    clerk = scripted("clerk", *THREE_REFUNDS, tools=[ALWAYS])
    return SequentialAgent(name="root", sub_agents=[clerk, scripted("writer", "Never.")])


def two_levels(_at: str) -> LlmAgent:
    clerk = scripted("clerk", *THREE_REFUNDS, tools=[ALWAYS])
    desk = scripted("desk", Call("transfer_to_agent", {"agent_name": "clerk"}), sub_agents=[clerk])
    return scripted("root", Call("transfer_to_agent", {"agent_name": "desk"}), sub_agents=[desk])


BOTH_ASKED = f"(Two.), I refund both: , {REFUND_ASKED}, {REFUND_ASKED}"
SEVERAL = "look output-available, {refund}, {delete}, Delete ada?"

SAMPLES = [
    Sample("a tool that is always asked for", static, three_refunds()),
    Sample(
        "a tool that is asked for by its arguments",
        by_arguments,
        [
            Turn("five", REFUNDED),
            Turn("five hundred", REFUNDED, REFUND_ASKED, [approve("refund")]),
            Turn(
                "both",
                "refund output-available, refund output-available, Both.",
                "refund output-available, refund approval-requested",
                [approve("refund")],
            ),
        ],
    ),
    Sample(
        "a tool that asks by itself",
        dynamic,
        [
            Turn("go", DELETED, DELETE_ASKED, [approve("delete_account", payload={"keep_days": 7})]),
            Turn("again", KEPT, DELETE_ASKED, [deny("delete_account")]),
            Turn("bye", "Bye."),
        ],
    ),
    Sample(
        "two approvals at a time",
        parallel,
        [
            Turn(
                "one",
                "(Two.), I refund both: , refund output-available, refund output-available, Both.",
                BOTH_ASKED,
                [approve("refund"), approve("refund")],
            ),
            Turn(
                "two",
                "(Two.), I refund both: , refund output-denied, refund output-available, One.",
                BOTH_ASKED,
                [deny("refund"), approve("refund")],
            ),
            Turn(
                "three",
                "(Two.), I refund both: , refund output-denied (no), refund output-denied, None.",
                BOTH_ASKED,
                [deny("refund", reason="no"), deny("refund")],
            ),
        ],
    ),
    Sample(
        "approvals beside a tool that runs",
        beside_others,
        [
            Turn(
                "one",
                SEVERAL.format(refund="refund output-available", delete="delete_account output-available") + ", Done.",
                SEVERAL.format(refund="refund approval-requested", delete="delete_account approval-requested"),
                [approve("delete_account"), approve("refund")],
            ),
            Turn(
                "two",
                SEVERAL.format(refund="refund output-denied", delete="delete_account output-denied")
                + ", adk-denial, As you like.",
                SEVERAL.format(refund="refund approval-requested", delete="delete_account approval-requested"),
                [deny("refund"), deny("delete_account")],
            ),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "approvals one after the other",
        one_after_the_other,
        [
            Turn(
                "one",
                "refund output-available, refund output-available, refund output-available, All three.",
                REFUND_ASKED,
                [approve("refund"), approve("refund"), approve("refund")],
            ),
            Turn("two", DENIED, REFUND_ASKED, [deny("refund")]),
            Turn("three", "Bye."),
        ],
    ),
    Sample("an approval in a sub-agent", in_sub_agent, three_refunds("adk-agent, ")),
    Sample(
        "an approval in an agent that is a tool",
        in_agent_tool,
        [
            Turn("one", "clerk output-available, It cannot ask you."),
            Turn("two", "clerk output-available, Still not."),
            Turn("three", "Bye."),
        ],
        logs=["which AgentTool cannot resume"],
    ),
    Sample(
        "an approval of a tool that asks another",
        of_agent_tool,
        [
            Turn("one", "consult output-available, It was.", "consult approval-requested", [approve("consult")]),
            Turn("two", "consult output-denied, Then not.", "consult approval-requested", [deny("consult")]),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "an approval in a sequence",
        in_sequence,
        three_refunds(after=", Noted."),
    ),
    Sample("an approval in a sequence that cannot resume", in_sequence_for_good, three_refunds()),
    Sample("an approval two agents below", two_levels, three_refunds("adk-agent, adk-agent, ")),
]
