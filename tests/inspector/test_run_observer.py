"""Prompts, model calls and failures in the Inspector."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest
from google.adk.tools import AgentTool
from google.genai import types
from starlette.applications import Starlette

from stream_protocol.adk import NESTED_EVENT
from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.inspector._run_observer import MAX_PROMPT_BYTES, MAX_TEXT
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, token_usage
from tests.served import served
from tests.serving.support import HANG, chat, said

pytestmark = [
    pytest.mark.usefixtures("converted_here"),
    pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
]

KEY = "sk-" + "a1b2c3d4" * 4


def look_up(city: str) -> dict[str, Any]:
    """Looks up."""
    return {"city": city, "api_key": "hunter2hunter2"}


def app_of(agent: Any) -> Starlette:
    inspector = Inspector()
    service = ChatService(agent, recorder=inspector)
    app = create_app(service)
    app.routes[:0] = inspector_routes(inspector, service)
    return app


async def observed(app: Starlette, *messages: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The entries of a chat after these messages, and the streams of the responses."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as http:
        streams = [(await http.post("/api/chat", json=chat(message))).text for message in messages]
        found: list[dict[str, Any]] = []
        while more := (await http.get(f"/api/chat/c1/inspect?after={len(found)}")).json()["entries"]:
            found += more
        recording = (await http.get("/api/chat/c1/inspect/recording")).text
        history = (await http.get("/api/chat/c1")).text
    return found, [*streams, recording, history]


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [entry[kind] for entry in found if kind in entry]


async def test_a_model_call_shows_its_prompt_its_tokens_and_its_times() -> None:
    agent = LlmAgent(
        name="root",
        instruction=f"Be brief. The key is {KEY}.",
        generate_content_config=types.GenerateContentConfig(
            temperature=0.2,
            max_output_tokens=99,
            http_options=types.HttpOptions(headers={"x-goog-api-key": "hunter2hunter2"}),
        ),
        model=ScriptedLlm(
            turns=[[Call("look_up", {"city": "Oslo"})], ["It is cold.", token_usage(prompt=120, answer=4, thoughts=7)]]
        ),
        tools=[look_up],
    )
    found, elsewhere = await observed(app_of(agent), said("weather?"))
    first, second = of_kind(found, "prompt")
    assert (first["call"], first["agent"], first["model"]) == (1, "root", "scripted")
    assert first["instruction"].startswith("Be brief. The key is [redacted]")
    assert first["contents"] == [{"parts": [{"text": "weather?"}], "role": "user"}]
    assert first["tools"] == ["look_up"]
    assert first["config"] == {"temperature": 0.2, "maxOutputTokens": 99}
    assert (second["of"], second["repeats"]) == (1, 1)
    assert [next(iter(content["parts"][0])) for content in second["contents"]] == ["functionCall", "functionResponse"]
    last = of_kind(found, "answer")[-1]
    assert last["tokens"] == {"in": 120, "out": 4, "thoughts": 7}
    assert last["call"] == 2
    assert 0 <= last["first"] <= last["seconds"]
    assert "hunter2" not in json.dumps(found)
    order = [next(kind for kind in entry if kind not in ("number", "bytes", "closing")) for entry in found]
    assert [kind for kind in order if kind != "chunk"][:4] == ["turn", "event", "prompt", "event"]
    for text in elsewhere:
        assert "Be brief" not in text
        assert '"prompt"' not in text


async def test_the_prompt_is_what_callbacks_and_plugins_left() -> None:
    def change(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        llm_request.contents.append(types.UserContent("added by a callback"))

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]), before_model_callback=change)
    found, _ = await observed(app_of(agent), said("hi"))
    asked, sent = of_kind(found, "prompt")
    assert asked["call"] == sent["call"] == 1
    assert "added by a callback" in json.dumps(sent["contents"])


async def test_calls_of_nested_and_of_parallel_agents_are_told_apart() -> None:
    helper = LlmAgent(name="helper", model=ScriptedLlm(turns=["Found."]))
    asking = LlmAgent(
        name="asking",
        model=ScriptedLlm(turns=[[Call("helper", {"request": "go"})], ["Done."]]),
        tools=[AgentTool(helper)],
    )
    other = LlmAgent(name="other", model=ScriptedLlm(turns=["Other."]))
    found, _ = await observed(app_of(ParallelAgent(name="root", sub_agents=[asking, other])), said("hi"))
    prompts = of_kind(found, "prompt")
    assert sorted(prompt["agent"] for prompt in prompts) == ["asking", "asking", "helper", "other"]
    assert [prompt["call"] for prompt in prompts] == [1, 2, 3, 4]
    assert sorted(answer["call"] for answer in of_kind(found, "answer")) == [1, 2, 3, 4]


def test_the_inspector_does_not_change_how_nested_agents_stream() -> None:
    helper = LlmAgent(name="helper", model=ScriptedLlm(turns=[["One ", "two ", "three."]]))
    script: list[Any] = [[Call("helper", {"request": "go"})], ["Done."]]
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=script), tools=[AgentTool(helper)])
    inspector = Inspector()
    app = create_app(ChatService(agent, recorder=inspector))
    with served(app) as url, httpx.stream("POST", f"{url}/api/chat", json=chat(said("hi")), timeout=HANG) as stream:
        for _ in stream.iter_bytes():
            pass
    (turn,) = inspector.turns("c1", user_id="local")
    events = of_kind([orjson.loads(entry.line) for _, entry in turn.entries], "event")
    carried = [event.get("customMetadata", {}).get(NESTED_EVENT, {}).get("event", {}) for event in events]
    assert any(event.get("partial") for event in carried)


async def test_a_long_prompt_and_a_large_file_are_shortened() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."] * 40), instruction="x" * (MAX_TEXT + 5))
    long = [said("y" * 15_000, f"u{number}") for number in range(30)]
    found, _ = await observed(app_of(agent), *long)
    last = of_kind(found, "prompt")[-1]
    assert last["omitted"] > 0
    assert last["omitted"] + len(last["contents"]) == 59
    assert len(json.dumps(last["contents"])) < MAX_PROMPT_BYTES * 1.1
    assert last["instruction"].startswith("x" * MAX_TEXT + "… and ")
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64," + "A" * (MAX_TEXT + 4)}
    with_file = said("see", "u99")
    with_file["parts"].append(picture)
    found, _ = await observed(app_of(agent), with_file)
    assert of_kind(found, "prompt")[0]["contents"][0]["parts"][1]["inlineData"] == {
        "data": "",
        "mimeType": "image/png",
        "bytes": (MAX_TEXT + 4) * 3 // 4,
    }


async def test_the_failure_of_a_run_shows_its_cause_and_the_client_does_not_get_it() -> None:
    def broken(city: str) -> str:
        """Fails."""
        raise ConnectionError(f"no answer from {city} with key {KEY}")

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[[Call("broken", {"city": "Oslo"})]]), tools=[broken])
    found, elsewhere = await observed(app_of(agent), said("hi"))
    (failure,) = of_kind(found, "failure")
    assert failure["type"] == "ConnectionError"
    assert failure["message"].startswith("ConnectionError: no answer from Oslo")
    assert "in broken" in failure["traceback"]
    assert KEY not in json.dumps(found)
    kinds = [next(kind for kind in entry if kind not in ("number", "bytes")) for entry in found]
    assert kinds.index("failure") < kinds.index("closing")
    assert all("no answer from" not in text for text in (elsewhere[0], elsewhere[-1]))
    assert "Traceback" not in "".join(elsewhere)


async def test_a_model_that_fails_shows_its_error_at_its_call() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[[ConnectionError("The model is not there.")]]))
    found, _ = await observed(app_of(agent), said("hi"))
    (answer,) = of_kind(found, "answer")
    assert answer["error"] == "ConnectionError: The model is not there."


async def test_what_cannot_be_shown_does_not_harm_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> Callable[[], None]:
        raise ValueError("no JSON")

    monkeypatch.setattr("stream_protocol.inspector._run_observer.redact_prompt", fail)
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]))
    found, (stream, *_) = await observed(app_of(agent), said("hi"))
    assert '"finish"' in stream
    assert of_kind(found, "prompt") == []
