"""Agents behind A2A on loopback: ADK agents that ``to_a2a`` serves, and a scripted peer."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, TypeAlias

import httpx
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import Artifact, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent
from google.adk.a2a import _compat
from google.adk.a2a.executor.a2a_agent_executor import A2aAgentExecutor
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import Runner
from google.adk.workflow import Workflow
from starlette.applications import Starlette

from stream_protocol.server import bind_socket
from stream_protocol.testing import ScriptedLlm
from tests.served import serving
from tests.serving.support import HANG

NAME = "far"
"""Name of every peer, and of the local agent that represents it."""

Step: TypeAlias = "Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent | Exception"


@contextmanager
def served_peer(
    agent: BaseAgent | Workflow, *, artifacts: bool = False, executor: AgentExecutor | None = None
) -> Iterator[str]:
    """Serve the agent with ``to_a2a``. Yields the address of its card.

    ``artifacts``: use the newer executor of ADK, which sends artifacts instead of messages. ``executor``: runs instead
    of the agent.
    """

    def make_executor(runner: Runner) -> Any:
        return executor or A2aAgentExecutor(runner=runner, force_new_version=artifacts)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        if isinstance(agent, RemoteA2aAgent):
            await agent.cleanup()

    with bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        app = to_a2a(agent, host="127.0.0.1", port=port, agent_executor_factory=make_executor, lifespan=lifespan)
        with serving(app, listener):
            yield f"http://127.0.0.1:{port}/.well-known/agent-card.json"


@asynccontextmanager
async def peer(agent: BaseAgent | Workflow, **served: Any) -> AsyncIterator[RemoteA2aAgent]:
    """Serve the agent. Yields the remote agent that calls it. ``served``: arguments of ``served_peer``."""
    with served_peer(agent, **served) as card:
        async with httpx.AsyncClient(timeout=HANG) as client:
            yield RemoteA2aAgent(name=NAME, agent_card=card, httpx_client=client)


@asynccontextmanager
async def scripted_peer(*turns: Sequence[Step]) -> AsyncIterator[RemoteA2aAgent]:
    """Serve a peer that is not an ADK agent. Each turn sends its steps, one after the other."""
    async with peer(LlmAgent(name=NAME, model=ScriptedLlm(turns=["…"])), executor=_Script(turns)) as remote:
        yield remote


_numbers = count()


class _Script(AgentExecutor):
    def __init__(self, turns: Sequence[Sequence[Step]]) -> None:
        self._turns = iter(turns)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        steps = next(self._turns)
        ids = {"task_id": context.task_id or "", "context_id": context.context_id or ""}
        if not isinstance(steps[0], Message) and context.current_task is None:
            submitted = _compat.make_task_status(TaskState.TASK_STATE_SUBMITTED)
            first = Task(id=ids["task_id"], context_id=ids["context_id"], status=submitted)
            await event_queue.enqueue_event(first)
        for step in steps:
            if isinstance(step, Exception):
                raise step
            for field, value in ids.items() if not isinstance(step, Message) else ():
                setattr(step, field, value)
            await event_queue.enqueue_event(step)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def message(*parts: str | Part) -> Message:
    """Return a peer's message."""
    return Message(message_id=f"m{next(_numbers)}", role=Role.ROLE_AGENT, parts=[_part(part) for part in parts])


def status(state: TaskState, *parts: str | Part) -> TaskStatusUpdateEvent:
    """Return a task update with this state, and the peer's message about it."""
    said = message(*parts) if parts else None
    return _compat.make_task_status_update_event(
        task_id="", context_id="", status=_compat.make_task_status(state, message=said), final=False
    )


def artifact(*parts: str | Part, name: str = "a1", append: bool = False, last: bool = True) -> TaskArtifactUpdateEvent:
    """Return an artifact, or a piece of one."""
    made = Artifact(artifact_id=name, parts=[_part(part) for part in parts])
    return TaskArtifactUpdateEvent(artifact=made, append=append, last_chunk=last)


def _part(part: str | Part) -> Part:
    return _compat.make_text_part(part) if isinstance(part, str) else part


def file(data: bytes, media_type: str) -> Part:
    return _compat.make_file_part_with_bytes(data=data, mime_type=media_type, name="a")


def link(uri: str, media_type: str) -> Part:
    return _compat.make_file_part_with_uri(uri=uri, mime_type=media_type, name="a")


def data(value: dict[str, Any]) -> Part:
    return _compat.make_data_part(data=value)
