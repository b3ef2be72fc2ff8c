"""Scenarios in which the run waits for the user: approvals, client tools, questions, credentials."""

from typing import Any

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import RequestInput
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from recorder.credential import SECRET, calendar, sign_in
from recorder.fixture import JsonEvent
from recorder.functions import explode, get_weather, order, pay, pick_colour, transfer
from recorder.model import Hang, call, calls, chunk, end, text
from recorder.scenario import Scenario, Turn
from recorder.texts import agent, named
from recorder.tools import weather_stream
from recorder.user import after_reload, answer, both, decide, say


def adk_request_input(message: str, response_schema: dict[str, Any]) -> None:
    """Stands for ADK's tool for questions, which has no stable public name."""


def _leak_secret(events: list[JsonEvent]) -> list[JsonEvent]:
    """Put the client secret into the events, as ADK before 2.9 does."""
    for event in events:
        for part in event.get("content", {}).get("parts", []):
            config = part.get("functionCall", {}).get("args", {}).get("authConfig")
            if config is not None:
                for key in ("rawAuthCredential", "exchangedAuthCredential"):
                    config[key]["oauth2"]["clientSecret"] = SECRET
    return events


def _note_for_users(events: list[JsonEvent]) -> list[JsonEvent]:
    """Store the tool's declared reason for its approval, as a chat service does."""
    for event in events:
        for part in event.get("content", {}).get("parts", []):
            name, args = (part.get("functionCall", {}).get(key) for key in ("name", "args"))
            if name == "pay":
                event["customMetadata"] = {"adk_ui_stream_cards": {"titles": {"pay": "Pay an invoice"}}}
            elif name == "adk_request_confirmation":
                note = {"reason": "5 € leave your account.", "descriptor": {"risk": "high"}}
                event["customMetadata"] = {
                    "adk_ui_stream_cards": {"approvals": {args["originalFunctionCall"]["id"]: note}}
                }
    return events


def _asking() -> Any:
    yield RequestInput(interrupt_id="ask-1", message="Which day?", response_schema={"type": "object"})


def _tell(node_input: Any) -> dict[str, Any]:
    return {"day": node_input}


def _gated(*parts: types.Part, words: str = "Paid.") -> LlmAgent:
    tools = [FunctionTool(pay, require_confirmation=True), get_weather]
    return agent(calls(*parts), text(words), tools=tools)


def _dynamic() -> LlmAgent:
    return agent(calls(call("transfer", {"amount": 5})), text("I asked."), text("All ", "settled."), tools=[transfer])


def _payer(name: str) -> LlmAgent:
    tools = [FunctionTool(pay, require_confirmation=True)]
    return named(name, calls(call("pay", {"amount": 5})), text("Paid."), tools=tools)


def _delegating_payer(mode: str) -> LlmAgent:
    tools = [FunctionTool(pay, require_confirmation=True)]
    done = calls(call("finish_task", {"result": "paid"})) if mode == "task" else text("Paid 5.")
    payer = named("payer", calls(call("pay", {"amount": 5})), done, mode=mode, tools=tools)
    return agent(calls(call("payer", {"request": "pay 5"})), text("Done."), sub_agents=[payer])


def _delegating_picker() -> LlmAgent:
    picker = named(
        "picker",
        calls(call("pick_colour", {"colours": ["red"]})),
        calls(call("finish_task", {"result": "red"})),
        mode="task",
        tools=[LongRunningFunctionTool(pick_colour)],
    )
    return agent(calls(call("picker", {"request": "a colour"})), text("Red it is."), sub_agents=[picker])


def _resumable_sequence() -> App:
    sequence = SequentialAgent(name="seq", sub_agents=[_payer("payer"), named("thanker", text("Thank ", "you."))])
    return App(name="app", root_agent=sequence, resumability_config=ResumabilityConfig(is_resumable=True))


def _resumable_branches() -> App:
    branches = ParallelAgent(name="par", sub_agents=[_payer("payer"), named("talker", text("T1 ", "T2 ", "T3"))])
    return App(name="app", root_agent=branches, resumability_config=ResumabilityConfig(is_resumable=True))


def _gated_after_stream() -> LlmAgent:
    return agent(
        [chunk(types.Part(text="Let me pay.")), *weather_stream("Paris"), chunk(call("pay", {"amount": 5})), end()],
        text("Paid."),
        tools=[FunctionTool(pay, require_confirmation=True), get_weather],
    )


APPROVALS = (
    Scenario(
        name="approval_approved",
        description="A gated call waits; approved, it runs and the same message goes on.",
        build=lambda: _gated(call("pay", {"amount": 5})),
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="approval_with_reason",
        description="A gated call whose tool has a title, and says why it asks.",
        build=lambda: _gated(call("pay", {"amount": 5})),
        turns=[say("pay 5"), decide(True)],
        edit=_note_for_users,
    ),
    Scenario(
        name="approval_denied",
        description="A gated call is denied: the call says so, and no error is shown.",
        build=lambda: _gated(call("pay", {"amount": 5}), words="Not paid."),
        turns=[say("pay 5"), decide(False, reason="too much")],
    ),
    Scenario(
        name="approval_several",
        description="Two gated calls of one tool: one approved, one denied.",
        build=lambda: _gated(call("pay", {"amount": 5}), call("pay", {"amount": 500})),
        turns=[say("pay 5 and 500"), decide(True, False)],
    ),
    Scenario(
        name="approval_several_approved",
        description="Two gated calls of one tool, both approved: each has its own output.",
        build=lambda: _gated(call("pay", {"amount": 5}), call("pay", {"amount": 6}), words="Paid both."),
        turns=[say("pay 5 and 6"), decide(True, True)],
    ),
    Scenario(
        name="approval_after_reload",
        description="The page is loaded anew while an approval is pending, and approves what the history shows.",
        build=lambda: _gated(call("get_weather", {"city": "Paris"}), call("pay", {"amount": 5})),
        turns=[say("pay 5"), after_reload(decide(True))],
    ),
    Scenario(
        name="approval_denied_after_reload",
        description="The same with a tool that asked by itself, and denied.",
        build=_dynamic,
        turns=[say("transfer 5"), after_reload(decide(False))],
    ),
    Scenario(
        name="approval_beside_client_tool",
        description="A gated call and a browser tool in one response: the page answers both at once.",
        build=lambda: agent(
            calls(call("pay", {"amount": 5}), call("pick_colour", {"colours": ["red"]})),
            text("Paid, and red."),
            tools=[FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(pick_colour)],
        ),
        turns=[say("pay 5 and choose"), both(decide(True), answer("pick_colour", {"colour": "red"}))],
    ),
    Scenario(
        name="approval_then_tool_raises",
        description="The approved call raises: its message ends in an error.",
        build=lambda: agent(calls(call("explode")), tools=[FunctionTool(explode, require_confirmation=True)]),
        turns=[say("go"), decide(True)],
        raises=ValueError,
    ),
    Scenario(
        name="approval_then_abort",
        description="The run is stopped in the middle of what follows an approval.",
        build=lambda: agent(
            calls(call("pay", {"amount": 5})),
            [chunk(types.Part(text="I paid ")), Hang()],
            tools=[FunctionTool(pay, require_confirmation=True)],
        ),
        turns=[say("pay 5"), Turn(decide(True), abort_after=3)],
    ),
    Scenario(
        name="approval_beside_settled_sibling",
        description="A gated call beside one that runs at once: the placeholder comes before the question.",
        build=lambda: _gated(call("get_weather", {"city": "Paris"}), call("pay", {"amount": 5})),
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="approval_after_stream",
        description="Text, a streamed call and a gated call in one response.",
        build=_gated_after_stream,
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="approval_twice",
        description="What the model does after an approval needs an approval too.",
        build=lambda: agent(
            calls(call("pay", {"amount": 5})),
            calls(call("pay", {"amount": 6})),
            text("Paid both."),
            tools=[FunctionTool(pay, require_confirmation=True)],
        ),
        turns=[say("pay 5, then 6"), decide(True), decide(True)],
    ),
    Scenario(
        name="approval_superseded",
        description="The user types in place of answering: a new message, the old call left as it was.",
        build=lambda: _gated(call("pay", {"amount": 5}), words="As you like."),
        turns=[say("pay 5"), say("forget it")],
    ),
    Scenario(
        name="approval_of_hidden_tool",
        description="An approval of a hidden tool still shows.",
        build=lambda: _gated(call("pay", {"amount": 5})),
        turns=[say("pay 5"), decide(True)],
        options={"hidden_tools": ["pay"]},
    ),
    Scenario(
        name="approval_in_sequence",
        description="The first agent of a resumable sequence waits; approved, the second one speaks as well.",
        build=_resumable_sequence,
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="approval_denied_in_sequence",
        description="The same denied.",
        build=_resumable_sequence,
        turns=[say("pay 5"), decide(False)],
    ),
    Scenario(
        name="approval_in_task",
        description="A task agent waits for an approval: the delegation must not keep the answer from being sent.",
        build=lambda: _delegating_payer("task"),
        turns=[say("pay 5"), decide(True)],
        options={"hidden_tools": ["payer"]},
    ),
    Scenario(
        name="approval_in_single_turn_agent",
        description="So does a sub-agent that is called like a function.",
        build=lambda: _delegating_payer("single_turn"),
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="client_tool_in_task",
        description="A task agent calls a tool that runs in the browser.",
        build=_delegating_picker,
        turns=[say("a colour"), answer("pick_colour", {"colour": "red"})],
        options={"hidden_tools": ["picker"]},
    ),
    Scenario(
        name="delegation_shown",
        description="A converter that was not told of a task agent shows its call as handed over; the answer is sent.",
        build=lambda: _delegating_payer("task"),
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="approval_in_branch",
        description="One of two parallel branches waits for an approval while the other one speaks.",
        build=_resumable_branches,
        turns=[say("pay 5"), decide(True)],
    ),
    Scenario(
        name="approval_dynamic",
        description="A tool asks by itself; the model speaks before the answer; the tool's second output counts.",
        build=_dynamic,
        turns=[say("transfer 5"), decide(True)],
    ),
    Scenario(
        name="approval_dynamic_denied",
        description="A tool asks by itself and is denied: what it then returns is its output.",
        build=_dynamic,
        turns=[say("transfer 5"), decide(False)],
    ),
    Scenario(
        name="client_tool",
        description="A tool that runs in the browser: the call stays open until the page gives its output.",
        build=lambda: agent(
            calls(call("pick_colour", {"colours": ["red", "blue"]})),
            text("Blue it is."),
            tools=[LongRunningFunctionTool(pick_colour)],
        ),
        turns=[say("a colour"), answer("pick_colour", {"colour": "blue"})],
    ),
    Scenario(
        name="client_tool_beside_server_tool",
        description="A browser tool beside one that runs at once: the model goes on while one call is open.",
        build=lambda: agent(
            calls(call("pick_colour", {"colours": ["red"]}), call("get_weather", {"city": "Paris"})),
            text("Choose, please."),
            text("Red it is."),
            tools=[LongRunningFunctionTool(pick_colour), get_weather],
        ),
        turns=[say("a colour"), answer("pick_colour", {"colour": "red"})],
    ),
    Scenario(
        name="long_running_tool",
        description="A long-running tool with an interim output: the model goes on; nothing waits for the page.",
        build=lambda: agent(
            calls(call("order", {"item": "tea"})), text("Ordered."), tools=[LongRunningFunctionTool(order)]
        ),
        turns=[say("tea")],
    ),
    Scenario(
        name="request_input",
        description="The model asks the user: a pending client tool of ADK's own name.",
        build=lambda: agent(
            calls(call("adk_request_input", {"message": "Your name?", "response_schema": {"type": "string"}})),
            text("Hello Ann."),
            tools=[LongRunningFunctionTool(adk_request_input)],
        ),
        turns=[say("hi"), answer("adk_request_input", {"result": "Ann"})],
    ),
    Scenario(
        name="request_input_in_workflow",
        description="A workflow asks the user, and goes on with the answer.",
        build=lambda: Workflow(name="wf", edges=[(START, _asking, _tell)]),
        turns=[say("plan"), answer("adk_request_input", {"day": "Monday"})],
    ),
    Scenario(
        name="credential",
        description="A tool needs a credential: a pending client tool that shows the auth URI and no secret.",
        build=lambda: agent(calls(call("calendar")), text("Lunch."), tools=[calendar]),
        turns=[say("what is next?"), sign_in],
    ),
    Scenario(
        name="credential_with_secret",
        description="The same as ADK before 2.9 wrote it: the client secret is in the events, not in the stream.",
        build=lambda: agent(calls(call("calendar")), text("Lunch."), tools=[calendar]),
        turns=[say("what is next?"), sign_in],
        edit=_leak_secret,
    ),
)
