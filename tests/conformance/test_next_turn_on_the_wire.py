"""A model's request after a turn that failed, in the provider's format."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.openapi.models import APIKey, APIKeyIn
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.auth.auth_tool import AuthConfig
from google.adk.runners import InMemoryRunner
from google.adk.tools import request_input
from google.adk.tools.tool_context import ToolContext
from google.genai.types import UserContent

from stream_protocol import ChatRequest
from stream_protocol.serving.run_logs import RunHandle
from stream_protocol.testing import Call
from tests.conformance.model_wires import WIRES, Broken, Said
from tests.serving.instrumented import InstrumentedService, let_time_out

pytestmark = [
    pytest.mark.samples,
    pytest.mark.filterwarnings("ignore:Accessing the .model_(computed_)?fields. attribute"),
]  # litellm does

MODES = {"streamed": StreamingMode.SSE, "whole": StreamingMode.NONE}
LAST_WORDS = "And now?"
HANG = 20.0


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


def read_mail(tool_context: ToolContext) -> dict[str, str]:
    """Needs a key of the user's."""
    scheme = APIKey.model_validate({"in": APIKeyIn.header, "name": "x-key"})
    tool_context.request_credential(AuthConfig(auth_scheme=scheme, credential_key="k"))
    return {"status": "asked"}


@dataclass
class Chat:
    """A chat of which only the model's side is looked at."""

    runner: InMemoryRunner
    mode: StreamingMode
    digging: asyncio.Event = field(default_factory=asyncio.Event)
    """A tool has begun that does not end by itself."""
    service: InstrumentedService = field(init=False)

    def __post_init__(self) -> None:
        self.service = InstrumentedService(self.runner, run_config=RunConfig(streaming_mode=self.mode))

    async def dig(self) -> str:
        """Takes for ever."""
        self.digging.set()
        await asyncio.Event().wait()
        return "never"

    async def say(self, words: str) -> None:
        message: Any = {"id": words, "role": "user", "parts": [{"type": "text", "text": words}]}
        async for _ in await self.service.respond(ChatRequest(id="c1", messages=(message,)), user_id="u"):
            pass

    async def say_and(self, end: Callable[[RunHandle], None]) -> None:
        """Sends a message, and ends the run when the tool digs."""
        saying = asyncio.create_task(self.say("Go"))
        await asyncio.wait_for(self.digging.wait(), HANG)
        end(self.service.runs.run)
        await saying


RequestPlan = Callable[[Chat], Coroutine[Any, Any, None]]


async def ends(chat: Chat) -> None:
    await chat.say("Go")


async def is_stopped(chat: Chat) -> None:
    await chat.say_and(lambda run: run.stop())


async def times_out(chat: Chat) -> None:
    await chat.say_and(lambda _: let_time_out())


async def loses_its_worker(chat: Chat) -> None:
    """Nothing stores the end of the run: the session has only the call."""
    session_service = chat.runner.session_service
    await session_service.create_session(app_name=chat.runner.app_name, user_id="u", session_id="c1")
    config = RunConfig(streaming_mode=chat.mode)
    events = chat.runner.run_async(user_id="u", session_id="c1", new_message=UserContent("Go"), run_config=config)
    async for event in events:
        if event.get_function_calls() and not event.partial:
            break
    await events.aclose()


ASK = Call("ask_page", {"question": "Where?"})
PAY = Call("pay", {"amount": 5})
LOOK = Call("get_weather", {"city": "Rome"})
DIG = Call("dig")
EXPLODE = Call("explode")
INPUT = Call("adk_request_input", {"message": "Who?"})
MAIL = Call("read_mail")


@dataclass(frozen=True)
class Row:
    """A turn: all that the model answers in it, and how it ends."""

    answers: Sequence[Said]
    turn: RequestPlan = ends


ROWS = {
    "the model breaks off in a text": Row([["Half a", Broken()]]),
    "the model breaks off behind a call": Row([["So: ", LOOK, Broken()]]),
    "the model breaks off behind a tool": Row([["So: ", LOOK], ["It is ", Broken()]]),
    "a tool raises": Row([["So: ", EXPLODE]]),
    "a tool raises beside others": Row([["So: ", LOOK, PAY, ASK, INPUT, EXPLODE]]),
    "a tool is stopped": Row([["So: ", DIG]], is_stopped),
    "a tool is stopped beside others": Row([["So: ", LOOK, DIG, ASK, PAY]], is_stopped),
    "a tool is stopped in a later step": Row([[LOOK], ["So: ", DIG]], is_stopped),
    "a tool takes too long": Row([["So: ", DIG]], times_out),
    "a tool takes too long beside others": Row([["So: ", LOOK, DIG, ASK, PAY]], times_out),
    "the worker dies": Row([["So: ", LOOK]], loses_its_worker),
    "the worker dies beside a question": Row([["So: ", LOOK, ASK, PAY]], loses_its_worker),
    "new words over a question": Row([["So: ", ASK]]),
    "new words over two questions": Row([["So: ", ASK, ASK]]),
    "new words over an approval": Row([["So: ", PAY]]),
    "new words over an input request": Row([["So: ", INPUT]]),
    "new words over a credential request": Row([["So: ", MAIL]]),
    "new words over a question beside what does not wait": Row([["So: ", LOOK, ASK], ["Well?"]]),
    "new words over all that waits": Row([["So: ", LOOK, ASK, PAY, INPUT, MAIL]]),
}


async def asked_after(row: Row, wire_name: str, mode: StreamingMode) -> list[dict[str, Any]]:
    """The requests to the model after the turn: one for a new message, and one for the message after it."""
    requests: list[dict[str, Any]] = []
    answers = [*row.answers, ["Well."], ["Bye."]]
    async with WIRES[wire_name].agent(answers, requests, streaming=mode is StreamingMode.SSE) as agent:
        chat = Chat(InMemoryRunner(agent=agent), mode)
        agent.tools = [*agent.tools, explode, read_mail, request_input, chat.dig]
        await row.turn(chat)
        await chat.say(LAST_WORDS)
        await chat.say("Bye")
        await chat.service.aclose()
    return requests[-2:]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wire_name", WIRES)
@pytest.mark.parametrize("row", ROWS)
async def test_the_next_turn_is_one_that_the_provider_takes(row: str, wire_name: str, mode: str) -> None:
    for request in await asked_after(ROWS[row], wire_name, MODES[mode]):
        assert LAST_WORDS in str(request)
        WIRES[wire_name].check(request)
