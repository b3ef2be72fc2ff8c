"""Finds agents whose streams end with the whole answer, as their model gives it without streaming.

``AgentTool`` takes the content of the last event for its result, and runs its agent without streaming for that reason.
Where a stream ends with its aggregate, the result is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.plugins import BasePlugin

from stream_protocol.serving.adk_runner._runner import agent_tree
from stream_protocol.wire import is_instance

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext

_MODELS: Final = (
    ("google.adk.models.google_llm", "Gemini"),
    ("google.adk.models.lite_llm", "LiteLlm"),
    ("google.adk.models.anthropic_llm", "AnthropicLlm"),
    ("stream_protocol.testing._scripted_llm", "ScriptedLlm"),
)
"""Models whose streams end with the aggregate. Of a model of an app's own nothing is known."""

_KNOWN: Final = (LlmAgent, SequentialAgent, ParallelAgent, LoopAgent)


def ends_streams_whole(context: InvocationContext) -> bool:
    """Return True if the agent of this invocation gives the same result with streaming as without it."""
    if any(type(plugin).after_model_callback is not BasePlugin.after_model_callback for plugin in _plugins(context)):
        return False
    root = context.agent
    return root is not None and all(type(one) in _KNOWN and _streams_whole(one) for one in agent_tree(root))


def _plugins(context: InvocationContext) -> list[BasePlugin]:
    return context.plugin_manager.plugins


def _streams_whole(agent: Any) -> bool:
    """Return True unless something of the agent reads each piece of a stream, or its model is not known."""
    if not isinstance(agent, LlmAgent):
        return True
    if agent.canonical_after_model_callbacks or agent.planner is not None or agent.code_executor is not None:
        return False
    return any(is_instance(agent.canonical_model, module, name) for module, name in _MODELS)
