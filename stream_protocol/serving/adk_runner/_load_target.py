"""Loads what a command line names: ``module:attr``, or an ADK agent folder."""

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

from stream_protocol.serving.adk_runner._runner import Target, live_model
from stream_protocol.serving.errors import error_text, own_line

AGENT_FILES: Final = ("agent.py", "root_agent.yaml")
"""For ``adk web``, a folder with one of these is an agent. So is a package with ``root_agent`` in ``__init__.py``."""


VERSION: Final = "agent_version"
"""The name in an agent's module that says which version of the agent it is: see ``DbosEngine``."""


class TargetError(ValueError):
    """The target cannot be loaded. ``str(error)`` is one line that says why."""


def load_target(name: str) -> Target:
    """Loads an agent, ``App`` or ``Runner``.

    ``module:attr``: the module is imported with the working directory on ``sys.path``. A callable is called, and must
    return the target. Any other name is an agent folder as ``adk web`` knows it; its ``.env`` is read, and an agent in
    it becomes an ``App`` of the folder's name. Raises ``TargetError``, also for whatever the imported code raises, and
    for agents whose models only do live runs.
    """
    try:
        target = _from_folder(Path(name)) if ":" not in name else _from_module(name)
    except (Exception, SystemExit) as error:
        line = f" ({place})" if (place := own_line(error)) else ""
        raise TargetError(f"cannot load {name}: {error_text(error)}{line}") from error
    if not isinstance(target, (BaseNode, App, Runner)):
        raise TargetError(f"cannot load {name}: it is of type {type(target).__name__}, not an agent, App or Runner")
    root = _root(target)
    if root is not None and (found := live_model(root)) is not None:
        agent, model = found
        raise TargetError(
            f"cannot run {name}: agent {agent!r} has the model {model}, which by its name answers only in live "
            "(bidirectional) sessions; a chat needs a model that generates content"
        )
    return target


def target_version(name: str) -> str:
    """Return ``agent_version`` of the module that a loaded target names; ``""`` if the module does not define it.

    The module of an agent folder is its ``agent.py`` or its ``__init__.py``. Raises ``TargetError`` for a version that
    is not a text.
    """
    module_name, is_module, _ = name.partition(":")
    folder = Path(name).resolve().name
    for module in [module_name] if is_module else [f"{folder}.agent", folder]:
        version = getattr(sys.modules.get(module), VERSION, None)
        if version is not None:
            if not isinstance(version, str):
                raise TargetError(f'cannot use {name}: `{VERSION}` in {module} must be a text, such as "2"')
            return version
    return ""


def _root(target: Target) -> BaseNode | None:
    match target:
        case Runner():
            return target.agent
        case App():
            return target.root_agent
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
    # ADK's loader takes a folder that is itself an agent, or the parent folder of agents.
    itself = any((folder / file).is_file() for file in AGENT_FILES)
    loader = AgentLoader(str(folder if itself else folder.parent))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]")  # ADK's loader warns about itself
        found = loader.load_agent(folder.name)
    return App(name=folder.name, root_agent=found) if isinstance(found, BaseNode) else found
