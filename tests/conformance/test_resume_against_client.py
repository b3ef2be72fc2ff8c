"""The real clients take up a response: reloaded, in a second tab, and on the page whose connection broke."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Thought, Wait
from stream_protocol.wire import AiSdkVersion
from tests.comparable_messages import comparable
from tests.conformance.fixtures import VERSIONS
from tests.conformance.node_scripts import run_script
from tests.served import served
from tests.serving.instrumented import InstrumentedService

pytestmark = pytest.mark.node

GATE = object()
"""In a script: the agent waits here for readers."""

LETTER = {"letter": "Dear Max, I am fine. How are you? " * 3, "copies": 2, "open": {"by": ["Max", "Moritz"]}}


@dataclass(frozen=True, slots=True)
class Resumed:
    name: str
    turns: Sequence[Sequence[Any]]
    does: Mapping[str, Any] = field(default_factory=dict)


def half_a_letter() -> list[Any]:
    """A call that stops in the middle of its first argument."""

    def piece(path: str, **value: Any) -> types.Part:
        argument = types.PartialArg(json_path=path, **value)
        return types.Part(function_call=types.FunctionCall(partial_args=[argument], will_continue=True))

    return [
        types.Part(function_call=types.FunctionCall(name="write", will_continue=True)),
        piece("$.letter", string_value="Dear Max, ", will_continue=True),
        GATE,
        piece("$.letter", string_value="how are", will_continue=True),
        GATE,
        piece("$.letter", string_value=" you?", will_continue=False),
        piece("$.copies", number_value=2),
        piece("$.open.by[0]", string_value="Max"),
        types.Part(function_call=types.FunctionCall()),
    ]


SCENES = [
    Resumed("in a text", [["One ", GATE, "two ", GATE, "three."]]),
    Resumed("before a word", [[GATE, "One."]]),
    Resumed("in a thought", [[Thought("Hm, "), GATE, Thought("well."), "One.", GATE]]),
    Resumed("in an argument", [half_a_letter(), ["Done."]]),
    Resumed("behind the arguments", [[Call("write", LETTER, streamed=True), GATE], ["Done.", GATE]]),
    Resumed("between two models' words", [["I write. ", Call("write", LETTER)], [GATE, "Written.", GATE]]),
    Resumed("in a second message", [["One.", GATE], ["Two ", GATE, "more."]], {"texts": ["hi", "go on"]}),
    Resumed(
        "in what follows an approval",
        [[Thought("Hm."), "Shall I? ", Call("pay", {"to": "Max"})], ["Half ", GATE, "whole."]],
        {"approve": True},
    ),
    Resumed(
        "in what follows a page's answer",
        [["Where? ", Call("where", {"question": "you"})], ["You are ", GATE, "there."]],
        {"answer": "Oslo"},
    ),
    Resumed(
        "in an approval after an approval",
        [[Call("pay", {"to": "Max"})], ["And ", GATE, Call("write", LETTER)], ["Both ", GATE, "done."]],
        {"approve": True},
    ),
]


class Gate(asyncio.Event):
    """A gate that an agent waits at. It knows whether the agent waits."""

    reached = False

    async def wait(self) -> Literal[True]:
        self.reached = True
        return await super().wait()


class SceneApps:
    """One app for each scene, with an endpoint that lets the readers in."""

    def __init__(self, ai_sdk: AiSdkVersion) -> None:
        self._services: list[ChatService] = []
        self.ran: dict[str, list[str]] = {}
        self.app = Starlette(
            routes=[self._door(number, scene, ai_sdk) for number, scene in enumerate(SCENES)], lifespan=self._lifespan
        )

    def _door(self, number: int, scene: Resumed, ai_sdk: AiSdkVersion) -> BaseRoute:
        gates = [Gate() for turn in scene.turns for step in turn if step is GATE]
        coming = iter(gates)
        script = [[Wait(next(coming)) if step is GATE else step for step in turn] for turn in scene.turns]
        model = ScriptedLlm(turns=script)
        ran = self.ran[scene.name] = list[str]()

        def write(letter: str, copies: int, open: dict[str, Any]) -> str:  # noqa: A002 - the argument's name
            """Writes a letter."""
            ran.append("write")
            return f"{copies} times {len(letter)} for {len(open)}"

        def pay(to: str) -> str:
            """Pays."""
            ran.append("pay")
            return f"paid {to}"

        tools: list[Any] = [write, FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(where)]
        service = InstrumentedService(LlmAgent(name="root", model=model, tools=tools), ai_sdk=ai_sdk)
        self._services.append(service)

        async def gate(_request: Request) -> JSONResponse:
            waits = any(gate.reached and not gate.is_set() for gate in gates)
            return JSONResponse({"waits": waits, "runs": bool(service.runs.running)})

        async def release(_request: Request) -> Response:
            next(event for event in gates if not event.is_set()).set()
            return Response(status_code=204)

        routes: list[BaseRoute] = [
            Route("/gate", gate),
            Route("/release", release, methods=["POST"]),
            Mount("/", create_app(service, page=False)),
        ]
        return Mount(f"/{number}", routes=routes)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        yield
        for service in self._services:
            await service.aclose()


def where(question: str) -> None:
    """Answered by the page."""


@pytest.fixture(scope="module", params=VERSIONS, ids=["ai@6", "ai@7"])
def seen(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The result of each scene, by one version of the client."""
    scene_apps = SceneApps(request.param)
    with served(scene_apps.app) as url:
        asked = [
            {"ai": request.param, "url": f"{url}/{number}", "texts": ["hi"], **scene.does}
            for number, scene in enumerate(SCENES)
        ]
        told = run_script("resume-chats.mjs", asked)
    return {scene.name: {**tale, "ran": scene_apps.ran[scene.name]} for scene, tale in zip(SCENES, told, strict=True)}


@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
class TestResumed:
    def test_every_page_shows_what_is_stored_up_to_what_it_took_up(self, scene: Resumed, seen: dict[str, Any]) -> None:
        tale = seen[scene.name]
        stored = without_approvals(tale["stored"])
        for page in tale["pages"]:
            shown = without_approvals(page["messages"])
            assert shown == stored[: len(shown)], page["name"]
            assert shown[-1]["role"] == "assistant"
        assert len(tale["pages"][0]["messages"]) == len(stored)

    def test_no_page_is_locked_or_broken(self, scene: Resumed, seen: dict[str, Any]) -> None:
        assert {(page["status"], page["error"]) for page in seen[scene.name]["pages"]} == {("ready", None)}

    def test_three_readers_came_to_each_gate_and_no_tool_ran_twice(self, scene: Resumed, seen: dict[str, Any]) -> None:
        gates = sum(step is GATE for turn in scene.turns for step in turn)
        assert len(seen[scene.name]["pages"]) == 1 + 2 * gates
        assert gates > 0
        called = [called_by(step) for turn in scene.turns for step in turn]
        assert seen[scene.name]["ran"] == [name for name in called if name in ("write", "pay")]


def called_by(step: Any) -> str | None:
    """The tool that a step of a script calls."""
    if isinstance(step, Call):
        return step.name
    return step.function_call.name if isinstance(step, types.Part) and step.function_call is not None else None


def without_approvals(messages: Any) -> Any:
    """The message without parts that a resumed stream cannot have: a v6 client rebuilds an answered call without its
    approval.
    """
    return [
        {**message, "parts": [{k: v for k, v in part.items() if k != "approval"} for part in message["parts"]]}
        for message in comparable(messages)
    ]
