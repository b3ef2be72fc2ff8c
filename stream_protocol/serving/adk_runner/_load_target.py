"""``module:attr`` or an ADK agent folder -> what it holds."""

import importlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from google.adk.agents import BaseAgent
from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.runners import Runner
from google.adk.workflow import BaseNode

from stream_protocol.serving.adk_runner._runner import Target

AGENT_FILES: Final = ("agent.py", "root_agent.yaml")
"""What makes a folder an agent for ``adk web``; a package with ``root_agent`` in its ``__init__.py`` is one, too."""


class TargetError(ValueError):
    """There is nothing to serve under this name. ``str(error)`` is one line that says why."""


def load_target(name: str) -> Target:
    """The agent, ``App`` or ``Runner`` that a command line names.

    ``module:attr`` is imported with the working directory on the path; a callable there is called and gives the target.
    Anything else is an agent folder as ``adk web`` knows it, its ``.env`` included; an agent in it is an ``App`` of the
    folder's name, as there. Raises ``TargetError``, also for whatever the imported code raises.
    """
    try:
        target = _from_folder(Path(name)) if ":" not in name else _from_module(name)
    except (Exception, SystemExit) as error:
        text = next(iter(str(error).splitlines()), "")
        raise TargetError(f"cannot load {name}: {type(error).__name__}: {text}") from error
    if not isinstance(target, (BaseNode, App, Runner)):
        raise TargetError(f"cannot load {name}: it is of type {type(target).__name__}, not an agent, App or Runner")
    return target


def _from_module(name: str) -> object:
    module_name, _, path = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    found: Any = importlib.import_module(module_name)
    for attribute in path.split("."):
        found = getattr(found, attribute)
    if callable(found) and not isinstance(found, (BaseAgent, BaseNode)):
        return cast("Callable[[], object]", found)()
    return cast("object", found)


def _from_folder(folder: Path) -> object:
    folder = folder.resolve()
    if not folder.is_dir():
        raise FileNotFoundError("no such folder, and not module:attr")
    # In a folder that is itself an agent the loader looks for nothing else.
    itself = any((folder / file).is_file() for file in AGENT_FILES)
    loader = AgentLoader(str(folder if itself else folder.parent))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]")  # the loader's own, of its last resort
        found = loader.load_agent(folder.name)
    return App(name=folder.name, root_agent=found) if isinstance(found, BaseNode) else found
