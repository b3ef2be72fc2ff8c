"""Writes one conversation with each of ADK's own writers."""

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.cli.plugins.recordings_plugin import RecordingsPlugin
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.adk.sessions import DatabaseSessionService, Session
from google.adk.tools import ToolContext
from google.adk.utils.yaml_utils import dump_pydantic_to_yaml
from google.genai import types

from stream_protocol.testing import Call, ScriptedLlm, Thought, token_usage

WORDS = "What's the weather?"
REQUEST = {
    "appName": "guide",
    "userId": "u",
    "sessionId": "s",
    "newMessage": {"role": "user", "parts": [{"text": WORDS}]},
}


def get_weather(city: str) -> dict[str, Any]:
    """The weather in a city."""
    return {"city": city, "celsius": 18.5}


async def save_map(tool_context: ToolContext) -> dict[str, Any]:
    """Saves a map."""
    await tool_context.save_artifact("map.txt", types.Part(text="a map"))
    return {"saved": True}


def guide(*tools: Callable[..., Any], answer: Sequence[Any] = ("Rather mild “there”.",)) -> BaseAgent:
    """Return an agent that thinks, writes text, calls its tools and finishes."""
    calls = [Call(tool.__name__, {"city": "Oslo"} if tool is get_weather else {}, id=tool.__name__) for tool in tools]

    def respond(request: Any) -> list[Any]:
        asked = any(part.function_response for content in request.contents for part in content.parts or ())
        if asked or not calls:
            return [*answer, token_usage(prompt=20, answer=5)]
        return [Thought("Where is that?"), "Let me look. ", *calls, token_usage(prompt=10, answer=4, thoughts=2)]

    return LlmAgent(name="guide", model=ScriptedLlm(respond=respond), tools=list(tools))


class _Loader(BaseAgentLoader):
    def __init__(self, agent: BaseAgent) -> None:
        self._agent = agent

    def load_agent(self, agent_name: str) -> BaseAgent:
        return self._agent

    def list_agents(self) -> list[str]:
        return ["guide"]


class ApiServer:
    """ADK's API server in this process, with its sessions in an SQLite file."""

    def __init__(self, agent: BaseAgent, folder: Path) -> None:
        from google.adk.cli.fast_api import get_fast_api_app  # noqa: PLC0415 - a slow import

        self.store = folder / "store.db"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)  # ADK's warnings about its own state
            self._app = get_fast_api_app(
                agents_dir=str(folder),
                agent_loader=_Loader(agent),
                session_service_uri=f"sqlite:///{self.store}",
                artifact_service_uri="memory://",
                use_local_storage=False,
                web=False,
            )

    async def run(self, path: str, *, session: str = "s") -> bytes:
        """Return the response of ``/run`` or ``/run_sse`` to a request, in a new session."""
        await self._send("POST", "/apps/guide/users/u/sessions", {"sessionId": session})
        return await self._send("POST", path, {**REQUEST, "sessionId": session, "streaming": True})

    async def session(self) -> bytes:
        """Return the session, in the form that ADK's web UI also exports."""
        return await self._send("GET", "/apps/guide/users/u/sessions/s")

    async def _send(self, method: str, path: str, body: Any = None) -> bytes:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            response = await client.request(method, path, json=body)
        assert response.status_code == 200, response.text
        return response.content


async def write_all(folder: Path) -> None:
    """Write one file for each form into the folder."""
    server = ApiServer(guide(get_weather), folder)
    (folder / "run_sse").write_bytes(capture := await server.run("/run_sse"))
    (folder / "run").write_bytes(await server.run("/run", session="another"))
    (folder / "get_session").write_bytes(stored := await server.session())
    _write_lines(folder, capture)
    session = Session.model_validate_json(stored)
    (folder / "save_session").write_text(session.model_dump_json(indent=2, exclude_none=True, by_alias=True))
    (folder / "dump_of_session").write_text(session.model_dump_json())
    write_evalset(folder / "evalset", session)
    dump_pydantic_to_yaml(session, folder / "generated-session", sort_keys=False)
    await write_database(folder / "database", session)
    for mode in (StreamingMode.SSE, StreamingMode.NONE):
        await _write_recordings(folder / "case", mode)


def _write_lines(folder: Path, capture: bytes) -> None:
    events = [Event.model_validate_json(line[6:]) for line in capture.decode().split("\n") if line]
    camel = [event.model_dump_json(by_alias=True, exclude_none=True) for event in events]
    (folder / "jsonl").write_text("\n".join(camel))
    (folder / "jsonl_of_dumps").write_text("\n".join(event.model_dump_json() for event in events))
    values = [json.loads(line) for line in camel]
    lines = [{"adk_ui_stream_recording": 1, "adk": "2.13.0", "ai_sdk": 6, "chat": "s"}]
    lines.append({"turn": {"request": None, "message_id": values[0]["invocationId"]}, "at": 0})
    lines.extend({"event": value, "at": 0.1 * number} for number, value in enumerate(values))
    lines.append({"end": "finish", "at": 9})
    (folder / "own").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_evalset(path: Path, session: Session) -> None:
    from google.adk.cli.utils.evals import convert_session_to_eval_invocations  # noqa: PLC0415 - as above
    from google.adk.evaluation.eval_case import EvalCase  # noqa: PLC0415
    from google.adk.evaluation.eval_set import EvalSet  # noqa: PLC0415

    case = EvalCase(eval_id="c", conversation=convert_session_to_eval_invocations(session))
    evalset = EvalSet(eval_set_id="e", eval_cases=[case])
    path.write_text(evalset.model_dump_json(indent=2, exclude_unset=True, exclude_defaults=True, exclude_none=True))


async def write_database(path: Path, *sessions: Session) -> None:
    """Write a store of ``DatabaseSessionService`` with these sessions."""
    service = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    for session in sessions:
        stored = await service.create_session(app_name=session.app_name, user_id="u", session_id=session.id)
        for event in session.events:
            await service.append_event(stored, event)
    await service.close()


async def _write_recordings(folder: Path, mode: StreamingMode) -> None:
    runner = InMemoryRunner(app=App(name="guide", root_agent=guide(get_weather), plugins=[RecordingsPlugin()]))
    settings = {"dir": str(folder), "user_message_index": 0, "streaming_mode": mode.value or "none"}
    session = await runner.session_service.create_session(
        app_name=runner.app_name, user_id="u", state={"_adk_recordings_config": settings}
    )
    message = types.Content.model_validate(REQUEST["newMessage"])
    run_config = RunConfig(streaming_mode=mode)
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=run_config):
        pass
    await runner.close()
