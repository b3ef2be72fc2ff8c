"""Makes an ADK ``Runner`` of an agent or app, with a default ``RunConfig``, and reads the tree of its agents."""

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Final, TypeAlias

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.memory import InMemoryMemoryService
from google.adk.models import Gemini
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.telemetry import ContentCapturingMode, TelemetryConfig
from google.adk.utils.model_name_utils import extract_model_name
from google.adk.workflow import BaseNode, Workflow

from stream_protocol.serving.adk_runner._memory_sessions import MemorySessionService
from stream_protocol.serving.telemetry import somebody_records
from stream_protocol.wire import StreamProtocolError, check_instance

Target: TypeAlias = BaseNode | App | Runner
"""An agent (or a workflow: any ADK node), an ``App``, or a ``Runner`` with services of the app's own choice."""

_LIVE_MODEL: Final = re.compile(r"gemini-(?:.*-)?(?:live|native-audio)(?:-.*)?")

TOOL_THREADS: Final = 32
"""Threads for plain ``def`` tools, of all chats together. With ADK's default of 4, four slow tools stall all."""


_RUN_FOR_EACH: Final = ("_node", "_inner_node")
"""Attributes in which ADK's parallel workers have the node that they run for each item."""

_DELEGATED_MODES: Final = frozenset({"task", "single_turn"})


def default_run_config() -> RunConfig:
    """Streams token by token, and runs plain ``def`` tools in threads, since one would block every chat otherwise."""
    return RunConfig(
        streaming_mode=StreamingMode.SSE,
        tool_thread_pool_config=ToolThreadPoolConfig(max_workers=TOOL_THREADS),
    )


def with_cheap_telemetry(run_config: RunConfig) -> RunConfig:
    """The config of a run, with the telemetry that costs least, unless the config says which.

    Without one ADK reads the environment anew for each chunk of a model, which is a fifth of what a chunk costs. One
    that is read once says the same. If nobody records, the older conventions do: the newer ones keep each chunk until
    the model has ended. And the config says what is off, which ADK otherwise looks up elsewhere, several times a chunk.
    """
    if run_config.telemetry is not None:
        return run_config
    if somebody_records():
        telemetry = TelemetryConfig()
    else:
        telemetry = TelemetryConfig(
            genai_semconv_stability_opt_in="stable",
            adk_experimental_telemetry_opt_in=False,
            capture_message_content=ContentCapturingMode.NO_CONTENT,
        )
    return run_config.model_copy(update={"telemetry": telemetry})


def as_runner(target: Target, session_service: BaseSessionService | None = None) -> Runner:
    """Returns a runner for the target. A ``Runner`` stays as it is; others get services in memory, unless one is given.

    Raises ``StreamProtocolError`` for another type, and for a ``Runner`` together with a session service.
    """
    hint = f"give {target.__name__}.root_agent" if isinstance(target, ModuleType) else ""
    check_instance("target", target, (BaseNode, App, Runner), "an ADK agent, App or Runner", hint=hint)
    check_session_service(session_service)
    match target:
        case Runner():
            if session_service is not None:
                raise StreamProtocolError("A Runner brings its own session service: give one or the other.")
            return target
        case App():
            return _runner(app=target, session_service=session_service)
    return _runner(node=target, session_service=session_service)


def check_session_service(service: object) -> None:
    """Raises ``InvalidArgumentError`` unless this is a session service or ``None``: a URI needs the class for it."""
    hint = ""
    if isinstance(service, str):
        scheme, _, rest = service.partition("://")
        made_by = {
            "sqlite": f'SqliteSessionService("{rest.removeprefix("/")}") of google.adk.sessions.sqlite_session_service',
            "memory": "InMemorySessionService() of google.adk.sessions",
        }
        hint = f"give {made_by.get(scheme, 'DatabaseSessionService(uri) of google.adk.sessions')}"
    expected = "a session service of ADK"
    check_instance("session_service", service, BaseSessionService, expected, or_none=True, hint=hint)


def _runner(
    *, app: App | None = None, node: BaseNode | None = None, session_service: BaseSessionService | None
) -> Runner:
    return Runner(
        app=app,
        node=node,
        session_service=session_service or MemorySessionService(),
        artifact_service=InMemoryArtifactService(),
        memory_service=InMemoryMemoryService(),
    )


def runner_for(agent: BaseNode | None, runner: Runner) -> Runner:
    """Makes a runner of this agent with the services and plugins of ``runner``; for its own agent ``runner`` itself."""
    if agent is None or agent is runner.agent:
        return runner
    return Runner(
        app=runner.app.model_copy(update={"root_agent": agent}),
        app_name=runner.app_name,
        session_service=runner.session_service,
        artifact_service=runner.artifact_service,
        memory_service=runner.memory_service,
        credential_service=runner.credential_service,
    )


def task_agent_tools(root: BaseNode) -> frozenset[str]:
    """The tool names under which agents call their task-mode sub-agents.

    Give them as ``hidden_tools`` to a converter of a live run: such a call gets its result some turns later, in another
    message. ``ChatService`` does this by itself.
    """
    check_instance("root", root, BaseNode, "an agent of ADK")
    parents = [agent for agent in agent_tree(root) if isinstance(agent, LlmAgent)]
    # Any class of agent may have a mode, as remote agents do; ADK looks for the attribute, too.
    return frozenset(sub.name for agent in parents for sub in agent.sub_agents if getattr(sub, "mode", None) == "task")


def agent_names(root: BaseNode) -> frozenset[str]:
    """The names of all agents and nodes of the tree."""
    return frozenset(node.name for node in agent_tree(root))


def live_model(root: BaseNode) -> tuple[str, str] | None:
    """The name of an agent of the tree, and of its model if that can only be talked to in live (bidirectional) runs.

    Neither ADK nor Gemini says so before the first request: the model's name does, by Google's names for such models.
    """
    for agent in agent_tree(root):
        model = agent.model if isinstance(agent, LlmAgent) else ""
        name = extract_model_name(model.model if isinstance(model, Gemini) else model if isinstance(model, str) else "")
        if _LIVE_MODEL.fullmatch(name):
            return agent.name, name
    return None


def announces_user_message(root: BaseNode) -> bool:
    """Return True if ADK yields the user's event before the model speaks.

    It does not for workflow agents (``SequentialAgent``) and agents of an app's own class.
    """
    return isinstance(root, LlmAgent) or not isinstance(root, BaseAgent)


def resumed_agent(runner: Runner, author: str) -> str:
    """The name of the agent that ADK resumes when a call of ``author`` is answered.

    That is the root where it finds its way by itself, as a workflow does, or a resumable app. Else it is the caller, or
    who called it like a function.
    """
    root = runner.agent
    resumable = runner.resumability_config
    if isinstance(root, Workflow) or (resumable is not None and resumable.is_resumable):
        return root.name
    agent = root.find_agent(author) if isinstance(root, BaseAgent) else None
    resumed = agent
    while agent is not None and agent is not root:
        if getattr(agent, "mode", None) in _DELEGATED_MODES:
            resumed = agent.parent_agent
        agent = agent.parent_agent
    return resumed.name if resumed is not None else author


def agent_tree(root: BaseNode) -> Iterator[BaseNode]:
    """Yields the root, and the agents and nodes below it, each once."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, BaseAgent):
            waiting.extend(node.sub_agents)
        if isinstance(node, Workflow) and node.graph is not None:
            waiting.extend(node.graph.nodes)
        waiting.extend(inner for name in _RUN_FOR_EACH if isinstance(inner := getattr(node, name, None), BaseNode))
