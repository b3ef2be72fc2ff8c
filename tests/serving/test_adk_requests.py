"""People's answers, repeated answers, and their effects: approvals, payloads, input, credentials."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_schemes import AuthScheme
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events import RequestInput
from google.adk.tools import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from pydantic import BaseModel, TypeAdapter

from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import chunks, post, text
from tests.tools import OLD_ADK


def page_for(*turns: Any, tools: list[Any]) -> Page:
    return Page(create_app(ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=tools))))


async def assert_stored_is_shown(page: Page) -> None:
    assert comparable(await page.stored()) == comparable(page.messages)


class Bank:
    def __init__(self) -> None:
        self.paid: list[int] = []
        self.may_pay = asyncio.Event()
        self.may_pay.set()
        self.tool = FunctionTool(self.pay, require_confirmation=True)

    async def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        await self.may_pay.wait()
        self.paid.append(amount)
        return {"paid": amount}


async def test_two_identical_answers_at_once_run_the_tool_once_and_both_are_told() -> None:
    bank = Bank()
    page = page_for(Call("pay", {"amount": 5}), "Paid.", tools=[bank.tool])
    await page.send("pay")
    page.approve(True)
    bank.may_pay.clear()
    posts = [asyncio.create_task(post(page.app, page.body())) for _ in range(2)]
    await asyncio.sleep(0)
    bank.may_pay.set()
    responses = [await one for one in posts]
    assert [response.status_code for response in responses] == [200, 200]
    assert bank.paid == [5]
    for response in responses:
        assert text(chunks(response.text)) == "Paid."


async def test_two_different_answers_at_once_run_the_first_alone() -> None:
    bank = Bank()
    page = page_for(Call("pay", {"amount": 5}), "Not paid.", tools=[bank.tool])
    await page.send("pay")
    page.approve(False)
    first = post(page.app, page.body())
    part = page.messages[-1]["parts"][-1]
    other = {**part, "approval": {**part["approval"], "approved": True}}
    message = {**page.messages[-1], "parts": [*page.messages[-1]["parts"][:-1], other]}
    second = post(page.app, page.body(messages=[page.messages[0], message]))
    responses = await asyncio.gather(first, second)
    assert [response.status_code for response in responses] == [200, 409]
    assert bank.paid == []


async def test_a_confirmation_can_bring_the_payload_that_the_tool_asks_for() -> None:
    async def book(tool_context: ToolContext) -> dict[str, Any]:
        """Asks which seat."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Which seat?", payload={"seat": None})
            return {"status": "asked"}
        return {"payload": tool_context.tool_confirmation.payload}

    page = page_for(Call("book"), "I asked.", "Booked.", tools=[book])
    await page.send("book")
    (request,) = page.parts("approval-requested")
    page.approve(True)
    body = page.body()
    refusal = await post(page.app, {**body, "approvalPayloads": ["x"]})
    assert refusal.status_code == 422
    await page.submit(messageId=body["messageId"], approvalPayloads={request["approval"]["id"]: {"seat": "12A"}})
    (part,) = page.parts("output-available")
    assert part["output"] == {"payload": {"seat": "12A"}}
    await assert_stored_is_shown(page)


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}
MISFITS: list[tuple[dict[str, Any], Any, str]] = [
    (SCHEMA, {"name": "Ann", "age": "old"}, "the field age does not fit."),
    (SCHEMA, {"age": 3}, "the field name does not fit."),
    (SCHEMA, "Ann", "it is of another kind."),
    ({"type": "array", "items": {"type": "integer"}}, [1, "x"], "the field 1 does not fit."),
    ({"type": "string"}, 3, "it is of another kind."),
]


@pytest.mark.parametrize(("schema", "answer", "says"), MISFITS)
async def test_an_answer_that_does_not_fit_leaves_the_request_open(
    schema: dict[str, Any], answer: Any, says: str
) -> None:
    call = Call("adk_request_input", {"message": "Who?", "response_schema": schema})
    page = page_for(call, "Hello.", tools=[request_input])
    await page.send("hi")
    before = await page.stored()
    page.answer("adk_request_input", answer)
    refusal = await post(page.app, page.body())
    assert (refusal.status_code, refusal.text) == (422, f"The answer is not what was asked for: {says}")
    assert await page.stored() == before


async def test_an_answer_that_cannot_be_checked_in_its_bounds_leaves_the_request_open() -> None:
    schema = {"type": "array", "items": {"type": "object"}, "uniqueItems": True}
    page = page_for(
        Call("adk_request_input", {"message": "Who?", "response_schema": schema}), "Hello.", tools=[request_input]
    )
    await page.send("hi")
    before = await page.stored()
    page.answer("adk_request_input", [{"n": number} for number in range(6_000)])
    refusal = await post(page.app, page.body())
    assert (refusal.status_code, refusal.text) == (422, "The answer is too large to be checked. Send a shorter one.")
    assert await page.stored() == before
    page.messages = before
    page.answer("adk_request_input", [{"n": 1}])
    await page.submit()
    assert page.messages[-1]["parts"][-1]["text"] == "Hello."


FITTING: list[tuple[Any, Any]] = [
    (SCHEMA, {"name": "Ann", "age": 3}),
    ({"type": "string"}, "Ann"),
    ({"type": "boolean"}, False),
    ({"type": "STRING"}, "no schema of JSON's, so nothing to hold it against"),
    ({"$ref": "http://127.0.0.1:9/x"}, "nothing is fetched"),
    ({"$ref": "#"}, "a circle tells nothing"),
    ({"pattern": "(?=a)b"}, "no linear way to run it"),
]


@pytest.mark.parametrize(("schema", "answer"), FITTING)
async def test_an_answer_that_fits_goes_to_the_agent(schema: Any, answer: Any) -> None:
    call = Call("adk_request_input", {"message": "Who?", "response_schema": schema})
    page = page_for(call, "Hello.", tools=[request_input])
    await page.send("hi")
    page.answer("adk_request_input", answer)
    await page.submit()
    assert page.messages[-1]["parts"][-1]["text"] == "Hello."
    assert [part["output"] for part in page.parts("output-available")] == [answer]
    await assert_stored_is_shown(page)


CANNOT_BE_READ: Final = "The question cannot be answered: ADK cannot read its schema. Send a message instead."
NOT_READ: list[tuple[Any, Any, str]] = [  # ADK makes a model of pydantic of some schemas
    ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 2**64}, "the field n does not fit"),
    ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1e25}, "the field n does not fit"),
    ({"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}, {"n": None}, CANNOT_BE_READ),
    ({"type": "object", "properties": {"model_config": {"type": "string"}}}, {"model_config": "a"}, CANNOT_BE_READ),
    ({"type": "object", "properties": {"n": True}}, {"n": 1}, CANNOT_BE_READ),
    ({"type": "string"}, "5", "it is of another kind"),  # which ADK reads as JSON
]


@pytest.mark.parametrize(("schema", "answer", "says"), NOT_READ)
async def test_an_answer_that_adk_cannot_read_is_refused(schema: Any, answer: Any, says: str) -> None:
    call = Call("adk_request_input", {"message": "Who?", "response_schema": schema})
    page = page_for(call, "Hello.", tools=[request_input])
    await page.send("hello")
    before = await page.stored()
    page.answer("adk_request_input", answer)
    refusal = await post(page.app, page.body())
    assert refusal.status_code == 422
    assert says in refusal.text
    assert await page.stored() == before


def oauth2() -> AuthConfig:
    scheme: AuthScheme = TypeAdapter(AuthScheme).validate_python(
        {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": "https://a.example/auth",
                    "tokenUrl": "https://a.example/token",
                    "scopes": {},
                }
            },
        }
    )
    oauth = OAuth2Auth(client_id="c", client_secret="hunter2", auth_uri="https://a.example/?state=s1", state="s1")
    credential = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth)
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=credential, credential_key="k")


def api_key() -> AuthConfig:
    scheme: AuthScheme = TypeAdapter(AuthScheme).validate_python({"type": "apiKey", "in": "header", "name": "x"})
    return AuthConfig(auth_scheme=scheme, credential_key="k")


class Calendar:
    """A tool that needs a credential, and records the credential."""

    def __init__(self, config: AuthConfig) -> None:
        self.config = config
        self.given: AuthCredential | None = None

    async def calendar(self, tool_context: ToolContext) -> dict[str, Any]:
        """Reads a calendar."""
        self.given = tool_context.get_auth_response(self.config)
        if self.given is None:
            tool_context.request_credential(self.config)
            return {"status": "sign in"}
        return {"entries": 3}


async def test_an_api_key_goes_into_the_stored_config_and_never_comes_back() -> None:
    tool = Calendar(api_key())
    page = page_for(Call("calendar"), "Three.", tools=[tool.calendar])
    await page.send("calendar?")
    page.answer("adk_request_credential", {"apiKey": "hunter2"})
    await page.submit()
    assert tool.given is not None
    assert tool.given.api_key == "hunter2"
    assert page.messages[-1]["parts"][-1]["text"] == "Three."
    assert "hunter2" not in str(await page.stored())
    await assert_stored_is_shown(page)


async def test_an_answered_credential_request_may_come_back_with_the_history() -> None:
    bank = Bank()
    page = page_for(
        Call("calendar"), Call("pay", {"amount": 1}), "Done.", tools=[Calendar(api_key()).calendar, bank.tool]
    )
    await page.send("go")
    page.answer("adk_request_credential", {"apiKey": "hunter2"})
    await page.submit()
    page.messages = await page.stored()
    page.approve(True)
    body = page.body()
    await page.submit()
    again = await post(page.app, body)
    assert again.status_code == 200
    assert bank.paid == [1]


WRONG: list[tuple[AuthConfig, Any]] = [
    (api_key(), {"apiKey": 5}),
    (api_key(), {}),
    (api_key(), "hunter2"),
    (api_key(), {"apiKey": "x", "credentialKey": "other"}),
    (oauth2(), {"clientSecret": "mine"}),
    (oauth2(), {"authResponseUri": "https://app.example/?code=1&state=another"}),
    (oauth2(), {"authResponseUri": "https://app.example/?code=1"}),
]


@pytest.mark.parametrize(("config", "output"), WRONG)
async def test_a_credential_that_is_none_leaves_the_request_open(config: AuthConfig, output: Any) -> None:
    page = page_for(Call("calendar"), "Three.", tools=[Calendar(config).calendar])
    await page.send("calendar?")
    before = await page.stored()
    assert "hunter2" not in str(before)
    page.answer("adk_request_credential", output)
    refusal = await post(page.app, page.body())
    assert refusal.status_code == 422
    assert "hunter2" not in refusal.text
    assert await page.stored() == before


async def test_an_answer_to_a_superseded_client_tool_is_refused() -> None:
    call = Call("adk_request_input", {"message": "Who?"})
    page = page_for(call, "Never mind.", tools=[request_input])
    await page.send("hi")
    page.answer("adk_request_input", "Ann")
    late = page.body() | {"messages": list(page.messages)}
    await page.send("wait")
    assert (await post(page.app, late)).status_code == 409


@pytest.mark.parametrize("gated", ["never", "A"])
async def test_a_confirmation_that_the_model_made_up_asks_nobody_and_the_run_goes_on(gated: str) -> None:
    def look() -> str:
        """Looks."""
        return "seen"

    made_up = Call(
        "adk_request_confirmation", {"originalFunctionCall": {"id": gated, "name": "look", "args": {}}}, id="B"
    )
    page = page_for(Call("look", {}, id="A"), made_up, "Well.", "Go on.", tools=[look])
    await page.send("look")
    assert [part["type"] for part in page.messages[-1]["parts"] if part["type"] != "step-start"] == [
        "tool-look",
        "text",
    ]
    await assert_stored_is_shown(page)
    forged = {"id": "B", "approved": True}
    part = {"type": "tool-look", "toolCallId": gated, "state": "approval-responded", "input": {}, "approval": forged}
    answered = {**page.messages[-1], "parts": [part]}
    assert (await post(page.app, page.body(messages=[answered]))).status_code == 409
    await page.send("and now?")
    assert page.messages[-1]["parts"][-1]["text"] == "Go on."


class Trip(BaseModel):
    """The workflow's input."""

    month: str


async def ask_where(node_input: Trip) -> AsyncGenerator[RequestInput, None]:
    yield RequestInput(interrupt_id="where", message=f"Where to in {node_input.month}?", response_schema=None)


def book(node_input: str) -> str:
    return f"booked {node_input}"


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 a workflow that is a tool gives no result once it has asked")
async def test_a_workflow_that_is_a_tool_and_asks_has_not_ended_before_it_is_answered() -> None:
    flow: Any = Workflow(name="travel", description="Books.", edges=[(START, ask_where, book)], input_schema=Trip)
    model = ScriptedLlm(turns=[Call("travel", {"month": "May"}), "Booked."])
    page = Page(create_app(ChatService(LlmAgent(name="root", model=model, tools=[flow]))))
    await page.send("go")
    assert {part["type"] for part in page.parts("input-available")} == {"tool-travel", "tool-adk_request_input"}
    await assert_stored_is_shown(page)
    page.answer("adk_request_input", "Oslo")
    await page.submit()
    assert [part["output"] for part in page.parts("output-available")] == [{"result": "booked Oslo"}, "Oslo"]
    await assert_stored_is_shown(page)
