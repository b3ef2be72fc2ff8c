"""Makes an ADK ``Runner`` of an agent or app that is given or named, and the session service of a URI.

Where to change what:

- ``_runner``: whom ADK resumes; what ADK reports to OpenTelemetry.
- ``_run_plugin``: our plugin in each run.
- ``_steering_inbox``: messages of the user that a run takes in.
- ``_nested_runs``: agents that run inside tool calls; ``_whole_streams``: which of them may stream.
- ``_load_target``: loads an agent by name.
- ``_target_advice``: suggestions for a wrong name.
- ``_source_targets``: reads source for these, and runs none.
- ``_session_services``: session stores by URI.
- ``_session_uris``: errors of a wrong URI.
- ``_database_pools``: connections, and the check for a pooler.
- ``_memory_sessions``: long sessions in memory.
- ``_threaded_reads``: long sessions in a database.
- ``_models``: missing keys.
"""

from stream_protocol.serving.adk_runner._delegating_sessions import DelegatingSessions, ObservedSessions
from stream_protocol.serving.adk_runner._load_target import TargetError, load_target, target_version
from stream_protocol.serving.adk_runner._memory_sessions import MemorySessionService
from stream_protocol.serving.adk_runner._models import model_names, used_models
from stream_protocol.serving.adk_runner._nested_runs import NestedCall, current_nested_call
from stream_protocol.serving.adk_runner._run_plugin import RunPlugin, with_plugin
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
)
from stream_protocol.serving.adk_runner._session_services import (
    SessionServiceError,
    load_session_service,
    make_private_file,
)
from stream_protocol.serving.adk_runner._session_uris import is_in_memory, without_password
from stream_protocol.serving.adk_runner._steering_inbox import Receipt, SteeringInbox
from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads, check_writable
from stream_protocol.serving.adk_runner._tool_infos import ToolInfo, tool_infos
