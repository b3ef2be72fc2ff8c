"""Chats with agents behind A2A: on the page, after a reload, and on to the next turn."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from a2a.types import TaskState
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import Call, ScriptedLlm, Thought, web_sources
from stream_protocol.wire import AiSdkVersion
from tests.a2a_peers import NAME, artifact, data, file, link, message, peer, scripted_peer, served_peer, status
from tests.comparable_messages import comparable
from tests.conformance.chat_apps import shown as shown_parts
from tests.conformance.node_scripts import run_script
from tests.conformance.tool_agent import ToolAgent
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chat, chunks, client, post, said, text
from tests.stream.running import would_send

pytestmark = [
    pytest.mark.samples,
    pytest.mark.filterwarnings(
        "ignore:The `plugins` argument is deprecated:DeprecationWarning"
    ),  # ADK of its AgentTool
    pytest.mark.filterwarnings("ignore:.*(Loop|Parallel|Sequential)Agent is deprecated:DeprecationWarning"),
]

WORKING, COMPLETED, FAILED, REJECTED, CANCELED, INPUT, AUTH = (
    TaskState.TASK_STATE_WORKING,
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_INPUT_REQUIRED,
    TaskState.TASK_STATE_AUTH_REQUIRED,
)

Act: TypeAlias = "str | Callable[[Page], None]"
"""The user's action: a message, or an answer to a waiting call."""

Steps: TypeAlias = Sequence[tuple[Act, str]]
"""The user's actions, and the agent's message after each: ``(reasoning)``, text, and calls with their states."""

Alone: TypeAlias = Callable[[RemoteA2aAgent], BaseAgent]


def alone(remote: RemoteA2aAgent) -> BaseAgent:
    return remote


@dataclass(frozen=True, slots=True)
class Talk:
    """``agent``: the peer, and its team."""

    peer: Callable[[], AbstractAsyncContextManager[RemoteA2aAgent]]
    steps: Steps
    agent: Alone = alone


def approve(page: Page) -> None:
    while page.parts("approval-requested"):
        page.approve(True)


def deny(page: Page) -> None:
    page.approve(False, "no")


def answer(tool: str, output: Any) -> Callable[[Page], None]:
    return lambda page: page.answer(tool, output)


PAY = Call("pay", {"amount": 5})
WHERE = Call("where", {"question": "city"})
ASK = Call("adk_request_input", {"message": "Who?"})
IMAGE = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")
IN_BYTES = file(b"a", "image/png")
BY_LINK = link("https://example.com/x.pdf", "application/pdf")
QUESTION = "mock_function_call_for_required_user_input"
BYE = ("bye", "Bye.")


def adk(*turns: Any) -> Callable[[bool], AbstractAsyncContextManager[RemoteA2aAgent]]:
    def begin(artifacts: bool) -> AbstractAsyncContextManager[RemoteA2aAgent]:
        agent = ToolAgent(turns).agent
        agent.name = NAME
        return peer(agent, artifacts=artifacts)

    return begin


def scripted(*turns: Any, agent: Alone = alone, steps: Steps) -> Talk:
    return Talk(lambda: scripted_peer(*turns), steps, agent)


def root(*turns: Any) -> Alone:
    return lambda remote: LlmAgent(name="root", model=ScriptedLlm(turns=turns), sub_agents=[remote])


def with_tool(remote: RemoteA2aAgent) -> BaseAgent:
    turns: list[Any] = [Call(NAME, {"request": "go"}), "Outer.", "Bye."]
    return LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=[AgentTool(remote)])


def beside(remote: RemoteA2aAgent) -> LlmAgent:
    return LlmAgent(name="near", model=ScriptedLlm(turns=["Near.", "Near too."]))


def in_a_row(remote: RemoteA2aAgent) -> BaseAgent:
    return SequentialAgent(name="row", sub_agents=[remote, beside(remote)])


def at_a_time(remote: RemoteA2aAgent) -> BaseAgent:
    return ParallelAgent(name="both", sub_agents=[remote, beside(remote)])


OF_ADK: Mapping[str, tuple[Callable[[bool], AbstractAsyncContextManager[RemoteA2aAgent]], Steps, Alone]] = {
    "text and thoughts": (adk([Thought("Hm."), "Hello."], "Bye."), [("hi", "(Hm.), Hello."), BYE], alone),
    "sources": (
        adk(["Hello.", web_sources({"https://example.com": "E"})], "Bye."),
        [("hi", "Hello., source-url"), BYE],
        alone,
    ),
    "a tool": (
        adk(["I look. ", Call("look", {"city": "Oslo"})], "Blue.", "Bye."),
        [("sky?", "I look. , look output-available, Blue."), BYE],
        alone,
    ),
    "an approval": (
        adk(PAY, "Paid.", "Bye."),
        [("pay", "pay approval-requested"), (approve, "pay output-available, Paid."), BYE],
        alone,
    ),
    "a denial": (
        adk(PAY, "Not.", "Bye."),
        [("pay", "pay approval-requested"), (deny, "pay output-denied (no), Not."), BYE],
        alone,
    ),
    "two approvals beside a call": (
        adk([PAY, PAY, Call("look", {"city": "Oslo"})], "Both.", "Bye."),
        [
            ("pay", "pay approval-requested, pay approval-requested, look output-available"),
            (approve, "pay output-available, pay output-available, look output-available, Both."),
            BYE,
        ],
        alone,
    ),
    "a tool that asks by itself": (
        adk(Call("book"), "Asked.", "Booked.", "Bye."),
        [
            ("book", "book approval-requested, Which seat?, Asked."),
            (approve, "book output-available, Which seat?, Asked., Booked."),
            BYE,
        ],
        alone,
    ),
    "a tool of the page": (
        adk(["Tell me. ", WHERE], "Rome.", "Bye."),
        [
            ("go", "Tell me. , where input-available"),
            (answer("where", {"city": "Rome"}), "Tell me. , where output-available, Rome."),
            BYE,
        ],
        alone,
    ),
    "a request for input": (
        adk(ASK, "Ann.", "Bye."),
        [
            ("go", "adk_request_input input-available"),
            (answer("adk_request_input", {"name": "Ann"}), "adk_request_input output-available, Ann."),
            BYE,
        ],
        alone,
    ),
    "a tool that raises": (
        adk(["I try. ", Call("explode")], "Bye."),
        [("go", "I try. , explode output-error"), BYE],
        alone,
    ),
    "a model that raises": (adk(RuntimeError("hunter2"), "Bye."), [("go", ""), BYE], alone),
    "a picture": (adk(["See ", IMAGE, "there."], "Bye."), [("go", "See , image/png, there."), BYE], alone),
    "an agent below another": (
        adk("Hello."),
        [("hi", "adk-agent, Hello."), BYE],
        root(Call("transfer_to_agent", {"agent_name": NAME}), "Bye."),
    ),
    "an approval below another agent": (
        adk(PAY, "Paid."),
        [
            ("pay", "adk-agent, pay approval-requested"),
            (approve, "adk-agent, pay output-available, Paid."),
            BYE,
        ],
        root(Call("transfer_to_agent", {"agent_name": NAME}), "Bye."),
    ),
    "an agent as a tool": (adk("Inner."), [("hi", f"{NAME} output-available, Outer."), BYE], with_tool),
    "agents in a row": (adk("Far.", "Far too."), [("hi", "Far., Near."), ("bye", "Far too., Near too.")], in_a_row),
    "agents at a time": (adk("Far.", "Far too."), [("hi", "Far., Near."), ("bye", "Far too., Near too.")], at_a_time),
}


async def save(tool_context: ToolContext) -> dict[str, bool]:
    """Saves a file."""
    await tool_context.save_artifact("a.png", IMAGE)
    return {"saved": True}


def saver() -> LlmAgent:
    return LlmAgent(name=NAME, model=ScriptedLlm(turns=[Call("save"), "Saved.", "Bye."]), tools=[save])


@asynccontextmanager
async def chain(artifacts: bool) -> AsyncIterator[RemoteA2aAgent]:
    """A peer whose agent is behind A2A itself."""
    behind = ToolAgent([["I look. ", Call("look", {"city": "Oslo"})], PAY, "Paid.", "Bye."]).agent
    behind.name = NAME
    with served_peer(behind, artifacts=artifacts) as card:
        async with peer(RemoteA2aAgent(name=NAME, agent_card=card), artifacts=artifacts) as remote:
            yield remote


TALKS: Mapping[str, Talk] = {
    **{
        f"{name}, with {'artifacts' if artifacts else 'messages'}": Talk(partial(begin, artifacts), steps, agent)
        for name, (begin, steps, agent) in OF_ADK.items()
        for artifacts in (False, True)
    },
    **{
        f"a peer behind a peer, with {'artifacts' if artifacts else 'messages'}": Talk(
            partial(chain, artifacts),
            [
                ("pay", "I look. , look output-available, pay approval-requested"),
                (approve, "I look. , look output-available, pay output-available, Paid."),
                BYE,
            ],
        )
        for artifacts in (False, True)
    },
    "words in place of an answer": Talk(
        partial(adk(WHERE, "Never mind.", "Bye."), False),
        [("go", "where input-available"), ("wait", "Never mind."), BYE],
    ),
    "words in place of an approval": Talk(
        partial(adk(PAY, "Never mind.", "Bye."), False),
        [("pay", "pay approval-requested"), ("wait", "Never mind."), BYE],
    ),
    "a message": scripted([message("Hello.")], [message("Bye.")], steps=[("hi", "Hello."), BYE]),
    "files and data": scripted(
        [message("See ", IN_BYTES, link("https://example.com/x.pdf", "application/pdf"), data({"a": "b"}))],
        [message("Bye.")],
        steps=[("hi", "See , image/png, application/pdf, adk-data"), BYE],
    ),
    "progress": scripted(
        [status(WORKING, "Looking"), artifact("Hello."), status(COMPLETED)],
        [message("Bye.")],
        steps=[("hi", "(Looking), Hello."), BYE],
    ),
    "an answer with the end": scripted(
        [status(WORKING, "Looking"), status(COMPLETED, "Hello.")],
        [message("Bye.")],
        steps=[("hi", "(Looking), Hello."), BYE],
    ),
    "an artifact in pieces": scripted(
        [
            artifact("Hel", last=False),
            artifact("lo ", append=True, last=False),
            artifact("you.", append=True),
            status(COMPLETED),
        ],
        [message("Bye.")],
        steps=[("hi", "Hello you."), BYE],
    ),
    "files in pieces": scripted(
        [
            artifact("See ", IN_BYTES, last=False),
            artifact(data({"a": "b"}), append=True),
            status(COMPLETED),
        ],
        [message("Bye.")],
        steps=[("hi", "See , image/png, adk-data"), BYE],
    ),
    "two artifacts": scripted(
        [artifact("One."), artifact("Two.", IN_BYTES, name="a2"), status(COMPLETED)],
        [message("Bye.")],
        steps=[("hi", "One., Two., image/png"), BYE],
    ),
    "a question": scripted(
        [status(INPUT, "Where?")],
        [status(COMPLETED, "Rome.")],
        [message("Bye.")],
        steps=[
            ("hi", f"{QUESTION} input-available"),
            (answer(QUESTION, {"city": "Rome"}), f"{QUESTION} output-available, Rome."),
            BYE,
        ],
    ),
    "a question that is answered by words": scripted(
        [status(INPUT, "Where?")],
        [status(COMPLETED, "Rome.")],
        [message("Bye.")],
        steps=[("hi", f"{QUESTION} input-available"), ("Rome", "Rome."), BYE],
    ),
    "a request to sign in": scripted(
        [status(AUTH, "Sign in at x.")],
        [status(COMPLETED, "Hello.")],
        [message("Bye.")],
        steps=[("hi", "Sign in at x."), ("done", "Hello."), BYE],
    ),
    **{
        f"a task that is {name}": scripted(
            [status(WORKING, "Looking"), status(state, "Not today.")],
            [message("Bye.")],
            steps=[("hi", "(Looking), Not today."), BYE],
        )
        for name, state in {"failed": FAILED, "rejected": REJECTED, "canceled": CANCELED}.items()
    },
}

CANNOT_BE_SHOWN: Mapping[str, Talk] = {
    "a credential that a peer's tool asks for": Talk(
        partial(adk(Call("calendar"), "Bye."), False),
        [
            ("go", "calendar input-available, adk_request_credential input-available"),
            (
                answer("adk_request_credential", {"apiKey": "hunter2"}),
                "calendar input-available, adk_request_credential output-available",
            ),
            BYE,
        ],
    ),
    "words in place of an answer, with artifacts": Talk(
        partial(adk(WHERE), True),
        [("go", "where input-available"), ("wait", f"{QUESTION} input-available")],
    ),
    "a file that a peer's tool saves": Talk(lambda: peer(saver()), [("go", "save output-available, Saved."), BYE]),
}
"""With their reasons in ``docs/decisions/what-a-message-cannot-show.md``."""

FAILING = {name for name in TALKS if "raises" in name or name.startswith("a task that is")}
"""Their first answer is an error."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The page after a step, the stored messages, and the end of the response."""

    messages: Sequence[Any]
    stored: Sequence[Any]
    shows: str
    end: str


class InstrumentedPage(Page):
    """A page that knows how its last response ended."""

    end = ""

    def take(self, stream: Any) -> None:
        chunks = list(stream)
        self.end = chunks[-1]["type"]
        super().take(chunks)


async def hold(
    talk: Talk, ai_sdk: AiSdkVersion = 6, mode: StreamingMode = StreamingMode.SSE, **options: Any
) -> list[Seen]:
    async with talk.peer() as remote:
        config = RunConfig(streaming_mode=mode)
        service = ChatService(talk.agent(remote), ai_sdk=ai_sdk, run_config=config, **options)
        page = InstrumentedPage(Starlette(routes=chat_routes(service)), ai_sdk=ai_sdk)
        try:
            return [await _step(page, act) for act, _ in talk.steps]
        finally:
            await service.aclose()


async def _step(page: InstrumentedPage, act: Act) -> Seen:
    if isinstance(act, str):
        await page.send(act)
    else:
        act(page)
        await page.submit()
    last = page.messages[-1]
    shows = shown(last) if last["role"] == "assistant" else ""
    return Seen(copy.deepcopy(page.messages), await page.stored(), shows, page.end)


def shown(message: Mapping[str, Any]) -> str:
    """The parts of parallel agents are in the order of the agents' names, all others in the order of the message."""
    authors = [part.get("providerMetadata", {}).get("adk", {}) for part in message["parts"]]
    parallel = len({author["branch"] for author in authors if "branch" in author}) > 1
    same = comparable([message]) if parallel else [message]  # type: ignore[list-item]  # JSON, as a page has it
    return "".join(map(shown_parts, same))


@pytest.fixture(scope="module", params=[6, 7], ids=["ai@6", "ai@7"])
def visits(request: pytest.FixtureRequest) -> dict[str, list[Seen]]:
    async def visit_all() -> dict[str, list[Seen]]:
        return {name: await hold(talk, request.param) for name, talk in TALKS.items()}

    return asyncio.run(visit_all())


each_talk = pytest.mark.parametrize("name", TALKS)


@each_talk
def test_the_page_shows_what_the_peer_said(name: str, visits: dict[str, list[Seen]]) -> None:
    assert [seen.shows for seen in visits[name]] == [shows for _, shows in TALKS[name].steps]


@each_talk
def test_a_reload_shows_the_same(name: str, visits: dict[str, list[Seen]]) -> None:
    for seen in visits[name]:
        assert comparable(seen.messages) == comparable(seen.stored)


@each_talk
def test_a_failure_is_an_error_and_all_else_is_none(name: str, visits: dict[str, list[Seen]]) -> None:
    ends = ["error" if name in FAILING and not number else "finish" for number, _ in enumerate(visits[name])]
    assert [seen.end for seen in visits[name]] == ends


@each_talk
def test_no_page_sends_by_itself(name: str, visits: dict[str, list[Seen]]) -> None:
    for seen in visits[name]:
        assert seen.end == "error" or not would_send(seen.messages[-1])


@pytest.mark.node
def test_clients_take_what_is_stored(visits: dict[str, list[Seen]]) -> None:
    stored = [{"ai": ai, "messages": seen.stored} for ai in (6, 7) for steps in visits.values() for seen in steps]
    assert [refusal for refusal in run_script("validate-messages.mjs", stored) if refusal] == []


async def test_it_is_the_same_without_streaming() -> None:
    for name, talk in TALKS.items():
        seen = await hold(talk, mode=StreamingMode.NONE)
        assert [one.shows for one in seen] == [shows for _, shows in talk.steps], name


async def test_a_store_on_disk_keeps_what_was_said(tmp_path: Path) -> None:
    for number, (name, talk) in enumerate(TALKS.items()):
        if name.endswith("with messages") or "pieces" in name:
            seen = await hold(talk, session_service=SqliteSessionService(f"{tmp_path}/{number}.db"))
            assert comparable(seen[-1].messages) == comparable(seen[-1].stored), name


async def test_what_cannot_be_shown_is_known() -> None:
    for name, talk in CANNOT_BE_SHOWN.items():
        seen = await hold(talk)
        assert [one.shows for one in seen] == [shows for _, shows in talk.steps], name
        assert comparable(seen[-1].messages) == comparable(seen[-1].stored), name


async def test_a_stopped_chat_shows_what_it_showed_and_the_peer_is_told_only_what_the_user_says_next() -> None:
    """ADK's A2A client continues after a stop. It is cancelled some seconds later."""
    far = ToolAgent([["I dig. ", Call("dig")], "Whole."])
    far.agent.name = NAME
    async with peer(far.agent) as remote:
        service = InstrumentedService(remote)
        app = create_app(service)
        async with begin(app, chat(said("hi"))) as turn, client(app) as http:
            await turn.status()
            await turn.until("tool-input-available")
            assert (await http.post("/api/chat/c1/stop")).status_code == 202
            assert await turn.until("abort") == {"type": "abort"}
        await service.runs.free()
        (_, stopped) = await Page(app).stored()
        assert shown(stopped) == "I dig. , dig output-error"
        assert text(chunks((await post(app, chat(said("go on", "u2")))).text)) == "Whole."
    last = far.model.requests[-1].contents[-1].parts
    assert last is not None
    assert [part.text for part in last] == ["go on"]
