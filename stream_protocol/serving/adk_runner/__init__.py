"""Creates an ADK ``Runner`` for the served agent, and a session service from a URI.

Where to change what:

- ``_runner``: creates runners and the default run config, and walks the tree of agents.
- ``_served_runner``: closes the runner of a service.
- ``_run_plugin``: this library's ADK plugin, which ADK calls during a run.
- ``_steering_inbox``: the messages that the user sends to a running agent.
- ``_nested_runs``: streams and stores the events of agents that ``AgentTool`` runs inside tool calls.
- ``_delegating_sessions``: session services that wrap another session service.
- ``_load_target``: loads the agent that a command line names.
- ``_load_errors``: formats the exceptions of an agent's code.
- ``_target_advice``: error messages for a name that is not an agent.
- ``_agent_search``: searches folders for agents to suggest, with limits.
- ``_source_targets``: finds agents in source files, but does not run the files.
- ``_session_services``: creates session services from URIs.
- ``_session_uris``: error messages for wrong URIs.
- ``_database_pools``: database connections, and the check for a pooler.
- ``_memory_sessions``: ADK's in-memory session service, which here does not block the event loop.
- ``_threaded_reads``: reads sessions from a database without blocking the event loop.
- ``_agent_details``: models, missing API keys and tools of an agent.
"""

from stream_protocol.serving.adk_runner._agent_details import ToolInfo, model_names, tool_infos, used_models
from stream_protocol.serving.adk_runner._delegating_sessions import (
    DelegatingSessions,
    ObservedSessions,
    OrderedSessions,
    append_in_order,
)
from stream_protocol.serving.adk_runner._load_errors import load_problem
from stream_protocol.serving.adk_runner._load_target import TargetError, load_target, target_version
from stream_protocol.serving.adk_runner._memory_sessions import MemorySessionService
from stream_protocol.serving.adk_runner._nested_runs import NestedCall, current_nested_call
from stream_protocol.serving.adk_runner._run_plugin import RunPlugin, extended_runner
from stream_protocol.serving.adk_runner._runner import (
    Target,
    agent_names,
    agent_tree,
    announces_user_message,
    as_runner,
    default_run_config,
    resumed_agent,
    runner_for,
    task_agent_tools,
    with_cheap_telemetry,
    with_sessions,
)
from stream_protocol.serving.adk_runner._served_runner import ServedRunner
from stream_protocol.serving.adk_runner._session_services import (
    SessionServiceError,
    load_session_service,
    make_private_file,
)
from stream_protocol.serving.adk_runner._session_uris import is_in_memory, without_password
from stream_protocol.serving.adk_runner._steering_inbox import Receipt, SteeringInbox
from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads, check_writable
