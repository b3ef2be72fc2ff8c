"""Names and descriptions of an agent's tools, as its page lists them."""

import inspect
import re
from collections.abc import Callable
from typing import Any, Final, TypedDict

from google.adk.agents import LlmAgent
from google.adk.tools import BaseTool
from google.adk.workflow import BaseNode

MAX_TEXT: Final = 160
"""Characters of a description that are told."""


class ToolInfo(TypedDict):
    """The name of a tool, and the first sentence of its description."""

    name: str
    description: str


def tool_infos(root: BaseNode) -> list[ToolInfo]:
    """Returns the tools that the agent itself declares. Toolsets are left out: they may have to ask a server."""
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
