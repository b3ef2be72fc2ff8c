"""Agent with one tool of each kind."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi.openapi.models import APIKey
from google.adk.agents import BaseAgent, Context, LlmAgent
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events import RequestInput
from google.adk.tools import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, FunctionNode, Workflow

from stream_protocol.testing import ScriptedLlm, Wait

KEY = AuthConfig(
    auth_scheme=APIKey.model_validate({"type": "apiKey", "in": "header", "name": "x-key"}), credential_key="calendar"
)

HELD = object()
"""Step of a model's turn: the model waits until the visit lets it continue."""


@dataclass(slots=True)
class ToolAgent:
    """Agent with one tool of each kind, and the records of their runs."""

    turns: Sequence[Any]
    asks: Sequence[str] = ()
    """Questions that a workflow asks first, all with the same id."""
    ran: list[str] = field(default_factory=list)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Event that lets a model with the step ``HELD`` continue."""
    model: ScriptedLlm = field(init=False)
    agent: BaseAgent | Workflow = field(init=False)

    def __post_init__(self) -> None:
        self.model = ScriptedLlm(turns=[self._held(turn) for turn in self.turns])
        tools: list[Any] = [
            FunctionTool(self.pay, require_confirmation=True),
            self.look,
            self.pay_if_small,
            self.book,
            self.calendar,
            FunctionTool(self.gated_calendar, require_confirmation=True),
            self.dig,
            self.explode,
            LongRunningFunctionTool(where),
            request_input,
        ]
        agent = LlmAgent(name="root", model=self.model, tools=tools)
        nodes = [asking(number, question) for number, question in enumerate(self.asks)]
        self.agent = Workflow(name="desk", edges=[(START, *nodes, agent)]) if nodes else agent

    def _held(self, turn: Any) -> Any:
        return [Wait(self.held) if step is HELD else step for step in turn] if isinstance(turn, list) else turn

    def pay(self, amount: int) -> dict[str, int]:
        """Pays, if the user approves."""
        self.ran.append(f"pay {amount}")
        return {"paid": amount}

    def pay_if_small(self, amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Asks by itself."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Pay?")
            return {"status": "asked"}
        if tool_context.tool_confirmation.confirmed:
            self.ran.append(f"pay {amount}")
        return {"confirmed": tool_context.tool_confirmation.confirmed}

    def book(self, tool_context: ToolContext) -> dict[str, Any]:
        """Asks which seat, and books it."""
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint="Which seat?", payload={"seat": None})
            return {"status": "asked"}
        if answer.confirmed:
            self.ran.append(f"book {answer.payload}")
        return {"booked": answer.confirmed}

    def calendar(self, tool_context: ToolContext) -> dict[str, Any]:
        """Reads a calendar with the user's key."""
        credential = tool_context.get_auth_response(KEY)
        if credential is None:
            tool_context.request_credential(KEY)
            return {"status": "sign in"}
        self.ran.append(f"calendar {credential.api_key}")
        return {"entries": 3}

    def gated_calendar(self, tool_context: ToolContext) -> dict[str, Any]:
        """Reads a calendar with the user's key, if the user approves."""
        return self.calendar(tool_context)

    def look(self, city: str) -> dict[str, str]:
        """Looks at the weather."""
        self.ran.append(f"look {city}")
        return {"sky": "blue"}

    async def dig(self) -> None:
        """Never ends by itself."""
        self.ran.append("dig")
        await asyncio.Event().wait()

    def explode(self) -> None:
        """Raises."""
        self.ran.append("explode")
        raise RuntimeError("hunter2")


def asking(number: int, question: str) -> FunctionNode:
    """Return a node that asks a question. All nodes use the same id."""

    async def ask(ctx: Context) -> AsyncIterator[RequestInput]:
        yield RequestInput(interrupt_id="question", message=question, response_schema=None)

    return FunctionNode(func=ask, name=f"ask_{number}")


def where(question: str) -> None:
    """Answered by the page."""
