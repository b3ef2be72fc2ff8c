"""Creates ADK runners and the default ``RunConfig``, and walks the tree of agents."""

import re
from collections.abc import Iterator
from copy import copy
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
from stream_protocol.serving.telemetry import is_recorded
from stream_protocol.wire import StreamProtocolError, check_instance

Target: TypeAlias = BaseNode | App | Runner
"""An object that a ``ChatService`` can serve: an agent or workflow (any ADK node), an ``App``, or a ``Runner`` with the
app's own services."""

_CHEAP_TELEMETRY: Final = TelemetryConfig(
    genai_semconv_stability_opt_in="stable",  # with the experimental ones, ADK keeps each chunk until the model ends
    adk_experimental_telemetry_opt_in=False,
    capture_message_content=ContentCapturingMode.NO_CONTENT,
)

_LIVE_MODEL: Final = re.compile(r"gemini-(?:.*-)?(?:live|native-audio)(?:-.*)?")

TOOL_THREADS: Final = 32
"""The number of threads in which plain ``def`` tools of all chats run. With ADK's default of 4, four slow tools block
the tools of all chats."""


_WORKER_NODES: Final = ("_node", "_inner_node")
"""The attributes of ADK's parallel workers that contain the node to run for each item."""

_DELEGATED_MODES: Final = frozenset({"task", "single_turn"})


def default_run_config() -> RunConfig:
    """Return a ``RunConfig`` that streams token by token, and runs plain ``def`` tools in threads.

    Without threads, a slow tool would block the event loop, and so all chats.
    """
    return RunConfig(
        streaming_mode=StreamingMode.SSE,
        tool_thread_pool_config=ToolThreadPoolConfig(max_workers=TOOL_THREADS),
    )


def with_cheap_telemetry(run_config: RunConfig) -> RunConfig:
    """Return the config with telemetry options that cost little time. A config that sets ``telemetry`` is returned
    unchanged.

    Without ``telemetry``, ADK reads environment variables for each chunk, which takes a fifth of ADK's time for the
    chunk. A ``TelemetryConfig`` reads them only once. If no telemetry is recorded, all options are set to "off".
    """
    if run_config.telemetry is not None:
        return run_config
    telemetry = TelemetryConfig() if is_recorded() else _CHEAP_TELEMETRY
    return run_config.model_copy(update={"telemetry": telemetry})


def as_runner(target: Target, session_service: BaseSessionService | None = None) -> Runner:
    """Return a runner for the target. A ``Runner`` is returned unchanged.

    An agent or an ``App`` gets a runner with in-memory services. If ``session_service`` is given, the runner uses it.
    Raises ``StreamProtocolError`` for a wrong type, and for a ``Runner`` together with a ``session_service``.
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
    """Raise ``InvalidArgumentError`` unless the value is a session service or ``None``.

    If the value is a URI, the error names the class of the session service for this URI.
    """
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
    """Return a runner for ``agent`` with the services and plugins of ``runner``. If ``agent`` is ``None`` or the
    runner's own agent, ``runner`` is returned.
    """
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


def with_sessions(runner: Runner, sessions: BaseSessionService) -> Runner:
    own = copy(runner)
    own.session_service = sessions
    return own


def task_agent_tools(root: BaseNode) -> frozenset[str]:
    """Return the names of the tools by which agents call their task-mode sub-agents.

    If you convert events yourself with the converter's option ``nested_agents="flat"``, pass these names as
    ``hidden_tools``. The calls must be hidden, because their results come in a later message. ``ChatService`` hides
    them itself.
    """
    check_instance("root", root, BaseNode, "an agent of ADK")
    parents = [agent for agent in agent_tree(root) if isinstance(agent, LlmAgent)]
    # Agents of any class may have a mode, for example remote agents, so look for the attribute, as ADK does.
    return frozenset(sub.name for agent in parents for sub in agent.sub_agents if getattr(sub, "mode", None) == "task")


def agent_names(root: BaseNode) -> frozenset[str]:
    return frozenset(node.name for node in agent_tree(root))


def live_model(root: BaseNode) -> tuple[str, str] | None:
    """Find an agent with a live model, which supports only live (bidirectional) runs. Live models are recognized by
    their names.

    Returns the names of the agent and the model, or ``None``. Without this check, the error would come only at the
    first request.
    """
    for agent in agent_tree(root):
        model = agent.model if isinstance(agent, LlmAgent) else ""
        name = extract_model_name(model.model if isinstance(model, Gemini) else model if isinstance(model, str) else "")
        if _LIVE_MODEL.fullmatch(name):
            return agent.name, name
    return None


def announces_user_message(root: BaseNode) -> bool:
    """Return True if ADK yields the event with the user's message before the first event of the model.

    Returns False for workflow agents and for the app's own agent classes.
    """
    return isinstance(root, LlmAgent) or not isinstance(root, BaseAgent)


def resumed_agent(runner: Runner, author: str) -> str:
    """The user has answered a tool call of the agent ``author``. Return the name of the agent that ADK then resumes.

    In a workflow or a resumable app, ADK resumes the root agent. If another agent has delegated a task to ``author``,
    ADK resumes the other agent. Otherwise, ADK resumes ``author``.
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
    """Yield the root agent and all agents and nodes below it, each once."""
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
        waiting.extend(inner for name in _WORKER_NODES if isinstance(inner := getattr(node, name, None), BaseNode))
