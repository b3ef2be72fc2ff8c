"""Texts that tools declare for their users: titles of cards, and reasons for an approval. ADK's hint is not used."""

import logging
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import BaseTool, ToolContext
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from stream_protocol.agents import for_users
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import AiSdkOption
from tests.serving.chat_client import Page
from tests.serving.support import chunks, only

PAY = Call("pay", {"to": "Max", "amount": 5}, streamed=True)


@for_users(
    title="Pay an invoice",
    approval_reason=lambda args: f"Pays {int(args['amount'])} € to {args['to']}.",
    approval_descriptor={"risk": "high"},
)
def pay(to: str, amount: int) -> str:
    """Pays."""
    return f"paid {amount} to {to}"


@for_users(title="Ask twice", approval_reason="Because it matters.")
def ask(tool_context: ToolContext) -> str:
    """Asks by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sure?")
        return "asked"
    return "done"


def agent(*tools: Any, turns: tuple[Any, ...] = (PAY, "Done.")) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=[*turns]), tools=[*tools])


def replayed(recordings: Path) -> list[Any]:
    (file,) = recordings.glob("*.jsonl")
    return chunks(b"".join(replay(load_recording(file))).decode())


async def asked(service: ChatService, recordings: Path | None = None) -> Page:
    """The page when it is asked. The history, and the replay of the recording, must show the same."""
    page = Page(create_app(service), ai_sdk=7)
    await page.send("hi")
    assert await page.stored() == page.messages
    if recordings is not None:
        assert replayed(recordings) == page.responses[0]
    return page


async def test_a_v7_client_gets_title_reason_and_descriptor_in_the_card(tmp_path: Path) -> None:
    tool = FunctionTool(pay, require_confirmation=True)
    service = ChatService(agent(tool), ai_sdk="7.0.120", recorder=ChatRecorder(tmp_path))
    page = await asked(service, tmp_path)
    assert only(page.responses[0], "tool-input-start")[0]["title"] == "Pay an invoice"
    (part,) = page.parts("approval-requested")
    assert part["title"] == "Pay an invoice"
    assert part["approval"]["requestReason"] == "Pays 5 € to Max."
    assert part["approval"]["descriptor"] == {"risk": "high"}
    assert not only(page.responses[0], "data-adk-approval")
    page.approve(approved=True)
    await page.submit()
    assert page.parts("output-available")[0]["output"] == {"result": "paid 5 to Max"}
    assert page.parts("output-available")[0]["title"] == "Pay an invoice"
    assert await page.stored() == page.messages


@pytest.mark.parametrize(("ai_sdk", "has_keys"), [(6, False), ("6.0.300", False), (7, True), ("7.0.82", True)])
async def test_older_clients_get_them_in_a_data_part(ai_sdk: AiSdkOption, has_keys: bool) -> None:
    page = await asked(ChatService(agent(FunctionTool(pay, require_confirmation=True)), ai_sdk=ai_sdk))
    (request,) = only(page.responses[0], "tool-approval-request")
    assert ("reason" in request) == ("approvalDescriptor" in request) == has_keys
    assert [chunk["data"] for chunk in only(page.responses[0], "data-adk-approval")] == [
        {"toolCallId": request["toolCallId"], "reason": "Pays 5 € to Max.", "descriptor": {"risk": "high"}}
    ]


async def test_a_tool_that_asks_while_it_runs_says_why_beside_its_hint() -> None:
    page = await asked(ChatService(agent(ask, turns=(Call("ask", {}), "Done.")), ai_sdk="7.0.120"))
    (part,) = page.parts("approval-requested")
    assert part["approval"]["requestReason"] == "Because it matters."
    assert only(page.responses[0], "data-adk-confirmation")[0]["data"]["hint"] == "Sure?"


async def test_without_a_declaration_the_card_has_neither() -> None:
    def plain() -> None:
        """Runs."""

    tool = FunctionTool(plain, require_confirmation=True)
    page = await asked(ChatService(agent(tool, turns=(Call("plain", {}), "Done.")), ai_sdk="7.0.120"))
    (part,) = page.parts("approval-requested")
    assert set(part["approval"]) == {"id"}
    assert "title" not in part


async def test_what_raises_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    @for_users(title="Run", approval_reason=lambda args: args["nothing"], approval_descriptor=len)
    def run() -> None:
        """Runs."""

    tool = FunctionTool(run, require_confirmation=True)
    with caplog.at_level(logging.ERROR):
        page = await asked(ChatService(agent(tool, turns=(Call("run", {}), "Done.")), ai_sdk="7.0.120"))
    (part,) = page.parts("approval-requested")
    assert "requestReason" not in part["approval"]
    assert part["approval"]["descriptor"] == 0
    assert "What `for_users` of the tool `run` declares raised" in caplog.text


async def test_the_services_own_titles_come_first() -> None:
    service = ChatService(agent(pay), tool_titles={"pay": "Overweisung"})
    page = Page(create_app(service))
    await page.send("hi")
    assert page.parts("output-available")[0]["title"] == "Overweisung"


class Untold(BaseTool):
    """A tool that is no function."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        return "run"


async def test_a_tool_object_can_be_declared_too() -> None:
    tool = for_users(title="Told")(Untold(name="untold", description="Runs."))
    page = Page(create_app(agent(tool, turns=(Call("untold", {}), "Done."))))
    await page.send("hi")
    assert page.parts("output-available")[0]["title"] == "Told"


async def test_the_title_of_an_mcp_tool_is_its_own_or_that_of_its_annotations() -> None:
    from mcp.types import ToolAnnotations  # noqa: PLC0415 - to import MCP takes a second

    from tests.typescript.mcp_tools import listed_tools  # noqa: PLC0415 - likewise

    tools = listed_tools()
    tools[0].raw_mcp_tool.title = "Price of a book"  # type: ignore[attr-defined]
    tools[1].raw_mcp_tool.annotations = ToolAnnotations(title="About a book")  # type: ignore[attr-defined]
    turns = (Call("price", {"item": "book"}), Call("tell", {"item": "book"}), "Done.")
    page = Page(create_app(agent(*tools, turns=turns)))
    await page.send("hi")
    assert [part["title"] for part in page.parts("output-available")] == ["Price of a book", "About a book"]
    assert await page.stored() == page.messages


@pytest.mark.parametrize(
    ("declared", "error"),
    [
        ({"title": 5}, "`title`"),
        ({"approval_reason": 5}, "`approval_reason`"),
        ({"approval_descriptor": object()}, "`approval_descriptor` must be JSON"),
    ],
)
def test_what_no_card_can_show_is_refused(declared: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        for_users(**declared)


def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(ValueError, match="a function or a tool"):
        for_users(title="x")("pay")  # type: ignore[type-var]
    with pytest.raises(ValueError, match="use a function"):
        for_users(title="x")(len)
