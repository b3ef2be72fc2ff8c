"""Agents side by side that wait at a time, answered in one request: ADK gives the answers of a run to one of them."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, JoinNode, Workflow

from stream_protocol.serving import Target, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.tools import OLD_ADK

pytestmark = [
    pytest.mark.filterwarnings("ignore:(Parallel|Sequential)Agent is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.EXPERIMENTAL. ResumabilityConfig:UserWarning"),
]

TOGETHER = [Call("left", {"request": "go"}), Call("right", {"request": "go"})]


def where(question: str) -> None:
    """Only the page knows."""


def resumable(agent: Any) -> App:
    return App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))


def merger() -> LlmAgent:
    return LlmAgent(name="merger", model=ScriptedLlm(turns=["Merged."]))


def lead(left: LlmAgent, right: LlmAgent) -> LlmAgent:
    left.mode = right.mode = "single_turn"
    return LlmAgent(name="lead", model=ScriptedLlm(turns=[TOGETHER, "Both."]), sub_agents=[left, right])


Team: TypeAlias = Callable[[LlmAgent, LlmAgent], Target]

TEAMS: dict[str, Team] = {
    "side by side": lambda *agents: ParallelAgent(name="root", sub_agents=[*agents]),
    "resumable": lambda *agents: resumable(ParallelAgent(name="root", sub_agents=[*agents])),
    "resumable, with one that merges": lambda *agents: resumable(
        SequentialAgent(name="root", sub_agents=[ParallelAgent(name="both", sub_agents=[*agents]), merger()])
    ),
    "called like functions": lead,
    "called like functions, resumable": lambda *agents: resumable(lead(*agents)),
    "a workflow": lambda *agents: Workflow(name="root", edges=[(START, agents, JoinNode(name="join"))]),
}

RESUMED_ALONE = {"side by side", "called like functions", "called like functions, resumable"}
"""Teams of which ADK 2.11 resumes one agent alone."""

if OLD_ADK:
    TEAMS = {name: team for name, team in TEAMS.items() if name not in RESUMED_ALONE}


class PayingAgents:
    """Two agents that ask before they pay."""

    def __init__(self, team: Team) -> None:
        self.paid: list[int] = []
        self.page = Page(create_app(team(self._payer("left", 1), self._payer("right", 2))))

    def _payer(self, name: str, amount: int) -> LlmAgent:
        model = ScriptedLlm(turns=[Call("pay", {"amount": amount}), f"{name} paid."])
        return LlmAgent(name=name, model=model, tools=[FunctionTool(self.pay, require_confirmation=True)])

    def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        self.paid.append(amount)
        return {"paid": amount}


def in_any_order(messages: Any) -> list[Any]:
    """The texts of parallel agents. The page has them in the order of the stream, in steps; history has them in the
    order of completion.
    """
    return [
        {**one, "parts": sorted((part for part in one["parts"] if part["type"] != "step-start"), key=repr)}
        for one in comparable(messages)
    ]


@batch(team=TEAMS)
async def test_each_approved_call_runs(team: Team) -> None:
    paying_agents = PayingAgents(team)
    page = paying_agents.page
    await page.send("pay")
    page.approve(True)
    page.approve(True)
    await page.submit()
    assert sorted(paying_agents.paid) == [1, 2]
    assert [part["output"] for part in page.messages[-1]["parts"] if part["type"] == "tool-pay"] == [
        {"paid": amount} for amount in (1, 2)
    ]
    assert in_any_order(await page.stored()) == in_any_order(page.messages)


@batch(team=TEAMS)
async def test_of_two_approvals_one_alone_is_not_lost_on_the_other(team: Team) -> None:
    """It runs at once, or waits for the other where ADK would go on without it."""
    paying_agents = PayingAgents(team)
    page = paying_agents.page
    await page.send("pay")
    page.approve(True)
    await page.submit()
    assert paying_agents.paid in ([], [1])
    page.messages = await page.stored()
    while page.parts("approval-requested"):
        page.approve(True)
    await page.submit()
    assert sorted(paying_agents.paid) == [1, 2]
    assert in_any_order(await page.stored()) == in_any_order(page.messages)


@batch(team=TEAMS)
async def test_the_reason_of_each_denial_is_stored(team: Team) -> None:
    paying_agents = PayingAgents(team)
    page = paying_agents.page
    await page.send("pay")
    page.approve(False, "too much")
    page.approve(False, "too late")
    await page.submit()
    assert paying_agents.paid == []
    [*_, last] = await page.stored()
    reasons = [part["approval"]["reason"] for part in last["parts"] if part["type"] == "tool-pay"]
    assert sorted(reasons) == ["too late", "too much"]


@batch(team=TEAMS)
async def test_each_agent_reads_its_own_answer(team: Team) -> None:
    models = {name: ScriptedLlm(turns=[Call("where", {"question": "?"}), "Thanks."]) for name in ("left", "right")}
    agents = [
        LlmAgent(name=name, model=model, tools=[LongRunningFunctionTool(where)]) for name, model in models.items()
    ]
    page = Page(create_app(team(agents[0], agents[1])))
    await page.send("go")
    for part in page.parts("input-available"):
        author = part["callProviderMetadata"]["adk"]["author"]
        part |= {"state": "output-available", "output": author}
    await page.submit()
    for name, model in models.items():
        asked = [part for content in model.requests[-1].contents for part in content.parts or []]
        assert [part.function_response.response for part in asked if part.function_response] == [{"result": name}]
