"""Describes an agent for the page and the terminal: its models, missing API keys and packages, and its tools."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, Gemini
from google.adk.tools import BaseTool
from google.adk.utils.env_utils import is_env_enabled
from google.adk.workflow import BaseNode

from stream_protocol.serving.adk_runner._runner import agent_tree
from stream_protocol.serving.adk_runner._session_services import silenced
from stream_protocol.serving.errors import explain_error

GOOGLE_CLOUD: Final = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")
"""Environment variables that send Gemini requests to Google Cloud. With one of them, a new client may look for its
credentials over the network."""


MAX_TEXT: Final = 160


@dataclass(frozen=True)
class UsedModels:
    """The models of an agent, and the missing API keys and packages that these models need."""

    names: tuple[str, ...]
    missing: tuple[str, ...]
    """A sentence for each missing API key or package. The log of a failed run has the same sentence."""


def model_names(root: BaseNode) -> tuple[str, ...]:
    """Return the names of all models in the tree of agents, each once. Creates no model."""
    agents = [agent for agent in agent_tree(root) if isinstance(agent, LlmAgent)]
    named = dict.fromkeys(agent.model if isinstance(agent.model, str) else agent.model.model for agent in agents)
    named.pop("", None)  # an agent without a model inherits its parent's model
    return tuple(named) or tuple(agent.canonical_model.model for agent in agents[:1])


def used_models(root: BaseNode) -> UsedModels:
    """Return the models of all agents in the tree, and their missing API keys and packages. Creates each model, but
    sends no request.
    """
    names: dict[str, None] = {}
    missing: dict[str, None] = {}
    for agent in agent_tree(root):
        if isinstance(agent, LlmAgent):
            try:
                model = agent.canonical_model
                names[model.model] = None
                missing.update(dict.fromkeys(_missing_keys(model)))
            except Exception as error:  # noqa: BLE001 - any exception of a library, explained as in the log of a run
                names.update({agent.model: None} if isinstance(agent.model, str) and agent.model else {})
                missing[explain_error(error)] = None
    return UsedModels(tuple(names), tuple(missing))


def _missing_keys(model: BaseLlm) -> Iterator[str]:
    """Yield a sentence for each missing API key."""
    if isinstance(model, Gemini):
        if not any(map(is_env_enabled, GOOGLE_CLOUD)):
            with silenced("asyncio"):  # asyncio reports a client that google-genai could not create
                _ = model.model_copy().api_client
    elif type(model).__name__ == "LiteLlm":
        import litellm

        found: dict[str, Any] = litellm.validate_environment(model.model)
        if not found["keys_in_environment"] and (keys := " and ".join(found["missing_keys"])):
            yield f"No API key for {model.model}: set {keys} in the environment of this server."


class ToolInfo(TypedDict):
    name: str
    description: str


def tool_infos(root: BaseNode) -> list[ToolInfo]:
    """Describe the tools of the root agent. Toolsets are left out, because listing their tools may need a request."""
    tools = root.tools if isinstance(root, LlmAgent) else []
    return [
        ToolInfo(name=_name(tool), description=_first_sentence(_description(tool)))
        for tool in tools
        if isinstance(tool, BaseTool) or callable(tool)
    ]


def _name(tool: BaseTool | Callable[..., Any]) -> str:
    return tool.name if isinstance(tool, BaseTool) else getattr(tool, "__name__", type(tool).__name__)


def _description(tool: BaseTool | Callable[..., Any]) -> str:
    return tool.description if isinstance(tool, BaseTool) else inspect.getdoc(tool) or ""


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]
    return sentence if len(sentence) <= MAX_TEXT else f"{sentence[: MAX_TEXT - 1]}…"
