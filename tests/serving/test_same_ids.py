"""Models and nodes use a call id again: each call has an id of its own on the page, in every reading and in answers."""

import copy
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Context, LlmAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.events import RequestInput
from google.adk.plugins import BasePlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, FunctionNode, Workflow
from google.genai import types

from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import parse_chat_request
from tests.comparable_messages import comparable
from tests.readings import replays
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import chunks

WHOLE = RunConfig(streaming_mode=StreamingMode.NONE)
"""Of a streamed response ADK itself drops a call whose id another call of it has."""


def where(question: str) -> None:
    """Only the page knows."""


def look(city: str) -> dict[str, str]:
    """Looks."""
    return {"sky": city}


class TwoWorkers:
    """A page before two workers with one store."""

    def __init__(self, agent: Any, run_config: RunConfig | None = None, plugins: Sequence[BasePlugin] = ()) -> None:
        runner = InMemoryRunner(agent=agent)
        app = App(name=runner.app_name, root_agent=agent, plugins=[*plugins])
        self.services = [
            InstrumentedService(
                Runner(app=app, session_service=runner.session_service),
                run_config=run_config,
            )
            for _ in range(2)
        ]
        self.apps = [create_app(service) for service in self.services]
        self.page = Page(self.apps[0])

    async def agree(self, folder: Path) -> None:
        """The page, the history of either worker and the replay of every form are the same messages."""
        one, other = [await Page(app).stored() for app in self.apps]
        assert one == other
        assert comparable(one) == comparable(self.page.messages)
        service = self.services[0]
        session = await service.runner.session_service.get_session(
            app_name=service.runner.app_name, user_id="local", session_id="c1"
        )
        assert session is not None
        for form, messages in replays(session, folder):
            assert messages == one, form
        ids = self.call_ids()
        assert len(set(ids)) == len(ids)
        await service.runs.free()
        self.services.reverse()
        self.apps.reverse()
        self.page.app = self.apps[0]

    def call_ids(self) -> list[str]:
        return [part["toolCallId"] for part in self.tool_parts()]

    def states(self) -> list[str]:
        return [part["state"] for part in self.tool_parts()]

    def tool_parts(self) -> list[Any]:
        return [part for message in self.page.messages for part in message["parts"] if "toolCallId" in part]

    def outputs(self) -> list[Any]:
        return [part.get("output", part.get("errorText")) for part in self.tool_parts()]

    def node_outputs(self) -> list[Any]:
        """The outputs of nodes in the newest message."""
        return [part["data"]["output"] for part in self.page.messages[-1]["parts"] if part["type"] == "data-adk-output"]

    async def aclose(self) -> None:
        for service in self.services:
            await service.aclose()


def agent_with(*turns: Any, tools: Any = (), name: str = "root") -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(turns=turns), tools=[*tools])


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


PAY = FunctionTool(pay, require_confirmation=True)
WHERE = LongRunningFunctionTool(where)


def where_call(question: str, call_id: str = "0") -> Call:
    return Call("where", {"question": question}, id=call_id)


async def test_each_turn_of_a_server_that_counts_from_zero_has_ids_of_its_own(tmp_path: Path) -> None:
    looks = [Call("look", {"city": city}, id=str(number)) for number, city in enumerate(("Oslo", "Rome"))]
    workers = TwoWorkers(agent_with(*[looks, "Blue."] * 3, tools=[look]), WHOLE)
    for words in ("one", "two", "three"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "1", "0.2", "1.2", "0.3", "1.3"]
    assert workers.outputs() == [{"sky": "Oslo"}, {"sky": "Rome"}] * 3
    await workers.aclose()


async def test_two_calls_of_a_server_without_ids_get_their_own_results(tmp_path: Path) -> None:
    looks = [Call("look", {"city": city}, id="0") for city in ("Oslo", "Rome", "Oslo")]
    workers = TwoWorkers(agent_with(looks, "Blue.", tools=[look]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2", "0.3"]
    assert workers.outputs() == [{"sky": "Oslo"}, {"sky": "Rome"}, {"sky": "Oslo"}]
    await workers.aclose()


async def test_an_edit_and_a_new_answer_give_the_ids_of_what_they_took_back(tmp_path: Path) -> None:
    workers = TwoWorkers(agent_with(*[[where_call("city")]] * 5, tools=[WHERE]))
    await workers.page.send("one")
    await workers.page.send("two")
    assert workers.call_ids() == ["0", "0.2"]
    await workers.page.regenerate()
    await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2"]
    await workers.page.edit(workers.page.messages[0]["id"], "edited")
    await workers.agree(tmp_path)
    assert workers.call_ids() == ["0"]
    await workers.page.send("three")
    await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2"]
    await workers.aclose()


async def test_code_that_the_provider_ran_is_numbered_over_the_chat(tmp_path: Path) -> None:
    code = types.Part(executable_code=types.ExecutableCode(code="1+1", language=types.Language.PYTHON))
    two = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2"))
    workers = TwoWorkers(agent_with([code, two, "Two."], [code, two, code, two, "Again."]))
    for words in ("one", "two"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
    assert workers.call_ids() == ["call_0", "call_1", "call_2"]
    await workers.aclose()


async def test_an_answer_has_the_id_that_adk_knows(tmp_path: Path) -> None:
    model = ScriptedLlm(turns=[[where_call("city")], "Oslo.", [where_call("street")], "Main street."])
    workers = TwoWorkers(LlmAgent(name="root", model=model, tools=[WHERE]))
    for words, place in (("one", "Oslo"), ("two", "Main street")):
        await workers.page.send(words)
        await workers.agree(tmp_path)
        workers.page.answer("where", {"place": place})
        await workers.page.submit()
        await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2"]
    assert workers.outputs() == [{"place": "Oslo"}, {"place": "Main street"}]
    said = [part for content in model.requests[-1].contents for part in content.parts or ()]
    given = [part.function_response.response for part in said if part.function_response]
    assert given == [{"place": "Oslo"}, {"place": "Main street"}]
    await workers.aclose()


async def test_an_answer_that_is_sent_again_repeats_what_followed(tmp_path: Path) -> None:
    workers = TwoWorkers(agent_with([where_call("a")], "A.", [where_call("b")], [where_call("c")], "C.", tools=[WHERE]))
    for words in ("one", "two"):
        await workers.page.send(words)
        workers.page.answer("where", words)
        before = [*workers.page.messages]
        await workers.page.submit()
    after = workers.page.messages
    workers.page.messages = before
    await workers.page.submit()
    assert workers.page.messages == after
    assert workers.call_ids() == ["0", "0.2", "0.3"]
    await workers.agree(tmp_path)
    await workers.aclose()


async def test_two_calls_that_wait_under_one_id_are_answered_together_in_their_order(tmp_path: Path) -> None:
    model = ScriptedLlm(turns=[[where_call("city"), where_call("street")], "Both."])
    workers = TwoWorkers(LlmAgent(name="root", model=model, tools=[WHERE]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    first, second = workers.page.parts("input-available")
    second |= {"state": "output-available", "output": "Main street"}
    await workers.page.submit()
    assert len(model.requests) == 1
    first |= {"state": "output-available", "output": "Oslo"}
    workers.page.messages[-1]["parts"] = [{"type": "step-start"}, first, second]
    await workers.page.submit()
    await workers.agree(tmp_path)
    assert workers.outputs() == ["Oslo", "Main street"]
    said = [part for content in model.requests[-1].contents for part in content.parts or ()]
    assert [part.function_response.response for part in said if part.function_response] == [
        {"result": "Oslo"},
        {"result": "Main street"},
    ]
    await workers.aclose()


async def test_of_two_gated_calls_under_one_id_adk_asks_about_the_first(tmp_path: Path) -> None:
    calls = [Call("pay", {"amount": amount}, id="0") for amount in (1, 2)]
    workers = TwoWorkers(agent_with(calls, "Done.", tools=[PAY]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.states() == ["approval-requested", "output-error"]
    await workers.aclose()


def ask(node: str, question: str) -> FunctionNode:
    async def asking(ctx: Context) -> AsyncIterator[RequestInput]:
        yield RequestInput(interrupt_id="ask", message=question, response_schema=None)

    return FunctionNode(func=asking, name=node)


def tell(node_input: Any) -> str:
    return f"{node_input}!"


async def test_a_workflow_that_asks_under_one_id_gets_each_answer(tmp_path: Path) -> None:
    workers = TwoWorkers(Workflow(name="desk", edges=[(START, ask("who", "Who?"), ask("where", "Where?"), tell)]))
    for words in ("one", "two"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
        for given in ("Ann", "Oslo"):
            workers.page.answer("adk_request_input", given)
            await workers.page.submit()
            await workers.agree(tmp_path)
        assert workers.node_outputs() == ["Oslo!"]
    assert workers.call_ids() == ["ask", "ask.2", "ask.3", "ask.4"]
    assert workers.outputs() == ["Ann", "Oslo"] * 2
    await workers.aclose()


async def test_nodes_that_ask_at_once_under_one_id_are_two_questions(tmp_path: Path) -> None:
    workers = TwoWorkers(Workflow(name="desk", edges=[(START, (ask("who", "Who?"), ask("where", "Where?")), tell)]))
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.states() == ["input-available"] * 2
    for given in ("Ann", "Oslo"):
        workers.page.answer("adk_request_input", given)
        await workers.page.submit()
    await workers.agree(tmp_path)
    assert workers.outputs() == ["Ann", "Oslo"]
    assert workers.node_outputs() == ["Oslo!"], "one answer is for both, and ADK takes the last"
    await workers.aclose()


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
async def test_agents_in_parallel_may_use_the_same_ids(tmp_path: Path) -> None:
    one, two = (agent_with([where_call(name)], "Thanks.", tools=[WHERE], name=name) for name in ("one", "two"))
    workers = TwoWorkers(ParallelAgent(name="both", sub_agents=[one, two]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert sorted(workers.call_ids()) == ["0", "0.2"]
    for given in ("Oslo", "Rome"):
        workers.page.answer("where", given)
    await workers.page.submit()
    await workers.agree(tmp_path)
    assert workers.outputs() == ["Oslo", "Rome"]
    await workers.aclose()


async def test_a_question_that_messages_superseded_stays_and_its_id_is_not_given_again(tmp_path: Path) -> None:
    model = ScriptedLlm(turns=[[where_call("city")], "As you like.", [where_call("street")], "Main street."])
    workers = TwoWorkers(LlmAgent(name="root", model=model, tools=[WHERE]))
    for words in ("one", "never mind", "two"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
    workers.page.answer("where", "Main street")
    await workers.page.submit()
    await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2"]
    assert workers.states() == ["input-available", "output-available"]
    await workers.aclose()


async def ask_first(tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sure?")
        return {"status": "asked"}
    return {"confirmed": tool_context.tool_confirmation.confirmed}


async def test_what_a_tool_asks_is_about_its_own_call(tmp_path: Path) -> None:
    calls = [Call("look", {"city": "Oslo"}, id="0"), Call("ask_first", id="1"), Call("pay", {"amount": 1}, id="2")]
    workers = TwoWorkers(agent_with(*[calls, "Done."] * 2, tools=[look, ask_first, PAY]), WHOLE)
    for words in ("one", "two"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
        hint = next(part for part in workers.page.messages[-1]["parts"] if part["type"] == "data-adk-confirmation")
        asked = [part["toolCallId"] for part in workers.page.parts("approval-requested")]
        assert hint["data"]["toolCallId"] == asked[0]
        workers.page.approve(True)
        workers.page.approve(False)
        await workers.page.submit()
        await workers.agree(tmp_path)
        assert workers.states()[-3:] == ["output-available", "output-available", "output-denied"]
    assert workers.call_ids() == ["0", "1", "2", "0.2", "1.2", "2.2"]
    await workers.aclose()


async def test_an_agent_in_a_calls_place_is_found_by_the_id_that_adk_knows(tmp_path: Path) -> None:
    poet = LlmAgent(name="poet", mode="single_turn", description="Writes.", model=ScriptedLlm(turns=["Roses.", "Red."]))
    turns: list[Any] = [Call("look", {"city": "Oslo"}, id="0"), Call("poet", {"request": "a poem"}, id="0"), "There."]
    model = ScriptedLlm(turns=[*turns, *turns])
    workers = TwoWorkers(LlmAgent(name="root", model=model, tools=[look], sub_agents=[poet]))
    for words in ("one", "two"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2", "0.3", "0.4"]
    poems = workers.outputs()[1::2]
    assert [poem["metadata"]["result"] for poem in poems] == [{"result": "Roses."}, {"result": "Red."}]
    assert [poem["id"] for poem in poems] == ["0.2", "0.4"]
    await workers.aclose()


async def test_a_run_that_breaks_off_closes_the_calls_that_had_no_result(tmp_path: Path) -> None:
    def explode() -> None:
        """Raises."""
        raise RuntimeError("hunter2")

    calls = [[Call("look", {"city": "Oslo"}, id="0")], [Call("explode", id="0")]]
    workers = TwoWorkers(agent_with(*calls, "Again.", tools=[look, explode]))
    await workers.page.send("one")
    await workers.agree(tmp_path)
    assert workers.states() == ["output-available", "output-error"]
    await workers.aclose()


async def test_a_page_that_comes_back_finds_the_ids_that_it_had(tmp_path: Path) -> None:
    turns = [[where_call("a")], "A.", [where_call("b")], [where_call("c")]]
    workers = TwoWorkers(agent_with(*turns, tools=[WHERE]))
    await workers.page.send("one")
    workers.page.answer("where", "A")
    await workers.page.submit()
    await workers.page.send("two")
    workers.page.answer("where", "B")
    service, lost = workers.services[0], copy.deepcopy(workers.page.messages)
    await service.respond(parse_chat_request(workers.page.body()), user_id="local")
    resumed = await service.resume("c1", user_id="local")
    assert resumed is not None
    workers.page.messages = lost[:-1]
    workers.page.take(chunks(b"".join([piece async for piece in resumed]).decode()))
    assert workers.call_ids() == ["0", "0.2", "0.3"]
    await workers.agree(tmp_path)
    await workers.aclose()
