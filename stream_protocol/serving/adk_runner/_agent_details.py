"""The models of an agent's tree, and the keys and packages that they lack before they can answer."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, Gemini
from google.adk.utils.env_utils import is_env_enabled
from google.adk.workflow import BaseNode

from stream_protocol.serving.adk_runner._runner import agent_tree
from stream_protocol.serving.errors import explain_error

GOOGLE_CLOUD: Final = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")
"""Variables that say so: Gemini is asked there, where a client looks for its credentials in the network."""


@dataclass(frozen=True)
class UsedModels:
    """``names`` of the models, each once. ``missing``: sentences that say what they lack, as the log would say it."""

    names: tuple[str, ...]
    missing: tuple[str, ...]


def model_names(root: BaseNode) -> tuple[str, ...]:
    """The names of the models of an agent's tree, each once, as its agents name them. Makes none of these models."""
    agents = [agent for agent in agent_tree(root) if isinstance(agent, LlmAgent)]
    named = dict.fromkeys(agent.model if isinstance(agent.model, str) else agent.model.model for agent in agents)
    named.pop("", None)  # such an agent has the model of the one above it
    return tuple(named) or tuple(agent.canonical_model.model for agent in agents[:1])


def used_models(root: BaseNode) -> UsedModels:
    """Asks each agent of the tree for its model, and the model's library whether it has a key. Sends no request."""
    names: dict[str, None] = {}
    missing: dict[str, None] = {}
    for agent in agent_tree(root):
        if isinstance(agent, LlmAgent):
            try:
                model = agent.canonical_model
                names[model.model] = None
                missing.update(dict.fromkeys(_lacks(model)))
            except Exception as error:  # noqa: BLE001  # whatever a library raises, the log would explain it so
                names.update({agent.model: None} if isinstance(agent.model, str) and agent.model else {})
                missing[explain_error(error)] = None
    return UsedModels(tuple(names), tuple(missing))


def _lacks(model: BaseLlm) -> Iterator[str]:
    """Sentences. Raises what the model's library raises when it makes its client."""
    if isinstance(model, Gemini):
        if not any(map(is_env_enabled, GOOGLE_CLOUD)):
            with _silent_asyncio():
                _ = model.model_copy().api_client
    elif type(model).__name__ == "LiteLlm":
        import litellm

        found: dict[str, Any] = litellm.validate_environment(model.model)
        if not found["keys_in_environment"] and (keys := " and ".join(found["missing_keys"])):
            yield f"No API key for {model.model}: set {keys} in the environment of this server."


@contextmanager
def _silent_asyncio() -> Iterator[None]:
    """google-genai closes a client that it could not make, and asyncio tells of it."""
    logger = logging.getLogger("asyncio")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled
