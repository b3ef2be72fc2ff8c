"""Samples with answers of a user or a page: long-running tools, questions of the agent, credentials."""

from typing import Any

from fastapi.openapi.models import APIKey
from google.adk.agents import LlmAgent
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext

from stream_protocol.testing import Call
from tests.samples.sample import Sample, Turn, answer, approve, scripted

KEY = AuthConfig(
    auth_scheme=APIKey.model_validate({"type": "apiKey", "in": "header", "name": "x-key"}), credential_key="mail"
)


def ask_manager(amount: int) -> None:
    """A call that the user answers on the page."""


def order_parts(part: str) -> dict[str, str]:
    """Takes days, and returns a placeholder at once."""
    return {"status": "ordered", "part": part}


def read_mail(tool_context: ToolContext) -> dict[str, Any]:
    """Reads mail with the user's key."""
    credential = tool_context.get_auth_response(KEY)
    if credential is None:
        tool_context.request_credential(KEY)
        return {"status": "sign in first"}
    return {"mails": 2}


ASK = Call("ask_manager", {"amount": 5})
MAIL = Call("read_mail")
REQUEST_INPUT = "adk_request_input"
CREDENTIAL = "adk_request_credential"


def question(message: str, schema: dict[str, Any] | None = None) -> Call:
    return Call(REQUEST_INPUT, {"message": message, **({"response_schema": schema} if schema else {})})


def page_tool(_at: str) -> LlmAgent:
    said = [["I ask. ", ASK], "Allowed.", ASK, "Refused.", "Bye."]
    return scripted("root", *said, tools=[LongRunningFunctionTool(ask_manager)])


def page_tools(_at: str) -> LlmAgent:
    """Two client tools at once, then a client tool beside a normal tool."""

    def look(part: str) -> str:
        """Looks."""
        return f"no {part}"

    look_call = Call("look", {"part": "wheel"})
    said = [[ASK, ASK], "Both.", [look_call, ASK], "No wheel.", "Allowed.", "Bye."]
    return scripted("root", *said, tools=[look, LongRunningFunctionTool(ask_manager)])


def interim_result(_at: str) -> LlmAgent:
    order = Call("order_parts", {"part": "wheel"})
    return scripted("root", order, "Ordered.", order, "Again.", "Bye.", tools=[LongRunningFunctionTool(order_parts)])


def asks_for_input(_at: str) -> LlmAgent:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    said = [question("Who are you?"), "Hello Ada.", question("How old?", schema), "Old enough.", "Bye."]
    return scripted("root", *said, tools=[request_input])


def asks_twice(_at: str) -> LlmAgent:
    said = [question("Name?"), question("Town?"), "Ada of Oslo.", [question("A?"), question("B?")], "Both.", "Bye."]
    return scripted("root", *said, tools=[request_input])


def signs_in(_at: str) -> LlmAgent:
    return scripted("root", MAIL, "Two mails.", MAIL, "Still two.", "Bye.", tools=[read_mail])


def signs_in_and_approves(_at: str) -> LlmAgent:
    def send(text: str) -> str:
        """Sends."""
        return "sent"

    both = [MAIL, Call("send", {"text": "hi"})]
    said = [both, "Read and sent.", "Yes.", "Bye."]
    return scripted("root", *said, tools=[read_mail, FunctionTool(send, require_confirmation=True)])


ASKED = "ask_manager input-available"
DONE = "ask_manager output-available"
INPUT_ASKED = "adk_request_input input-available"
INPUT_GIVEN = "adk_request_input output-available"
MAIL_ASKED = "read_mail input-available, adk_request_credential input-available"
MAIL_READ = "read_mail output-available, adk_request_credential output-available"

SAMPLES = [
    Sample(
        "a tool that the page answers",
        page_tool,
        [
            Turn("one", f"I ask. , {DONE}, Allowed.", f"I ask. , {ASKED}", [answer("ask_manager", {"ok": True})]),
            Turn(
                "two",
                "ask_manager output-error, Refused.",
                ASKED,
                [{"answer": "ask_manager", "state": "output-error", "errorText": "not here"}],
            ),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "tools that the page answers at a time",
        page_tools,
        [
            Turn(
                "one",
                f"{DONE}, {DONE}, Both.",
                f"{ASKED}, {ASKED}",
                [answer("ask_manager", 1), answer("ask_manager", 2)],
            ),
            Turn(
                "two",
                f"look output-available, {DONE}, No wheel., Allowed.",
                f"look output-available, {ASKED}, No wheel.",
                [answer("ask_manager", "yes")],
            ),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a tool that takes long and says so",
        interim_result,
        [
            Turn("one", "order_parts output-available, Ordered."),
            Turn("two", "order_parts output-available, Again."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "questions of the agent",
        asks_for_input,
        [
            Turn("one", f"{INPUT_GIVEN}, Hello Ada.", INPUT_ASKED, [answer(REQUEST_INPUT, "Ada")]),
            Turn("two", f"{INPUT_GIVEN}, Old enough.", INPUT_ASKED, [answer(REQUEST_INPUT, {"age": 36})]),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "several questions of the agent",
        asks_twice,
        [
            Turn(
                "one",
                f"{INPUT_GIVEN}, {INPUT_GIVEN}, Ada of Oslo.",
                INPUT_ASKED,
                [answer(REQUEST_INPUT, "Ada"), answer(REQUEST_INPUT, "Oslo")],
            ),
            Turn(
                "two",
                f"{INPUT_GIVEN}, {INPUT_GIVEN}, Both.",
                f"{INPUT_ASKED}, {INPUT_ASKED}",
                [answer(REQUEST_INPUT, "a"), answer(REQUEST_INPUT, "b")],
            ),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a tool with the user's key",
        signs_in,
        [
            Turn("one", f"{MAIL_READ}, Two mails.", MAIL_ASKED, [answer(CREDENTIAL, {"apiKey": "secret"})]),
            Turn("two", f"{MAIL_READ}, Still two.", MAIL_ASKED, [answer(CREDENTIAL, {"apiKey": "secret"})]),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a key and an approval at a time",
        signs_in_and_approves,
        [
            Turn(
                "one",
                "read_mail output-available, send output-available, adk_request_credential output-available, "
                "Read and sent.",
                "read_mail input-available, send approval-requested, adk_request_credential input-available",
                [approve("send"), answer(CREDENTIAL, {"apiKey": "secret"})],
            ),
            Turn("two", "Yes."),
            Turn("three", "Bye."),
        ],
    ),
]
