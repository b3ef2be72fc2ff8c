"""Loads the target that a command line names: ``module:attr``, or an ADK agent folder."""

import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, cast

from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.runners import Runner
from google.adk.workflow import BaseNode

from stream_protocol.serving.adk_runner._load_errors import load_problem
from stream_protocol.serving.adk_runner._runner import Target, live_model
from stream_protocol.serving.adk_runner._session_services import silenced
from stream_protocol.serving.adk_runner._source_targets import AGENT_FILES, FOLDER_NAME, TARGETS
from stream_protocol.serving.adk_runner._target_advice import (
    Advice,
    first_names,
    no_attribute,
    not_a_folder,
    not_a_module,
    not_an_agent,
    wrong_kind,
)

ADK_LOADER: Final = "google_adk.google.adk.cli.utils.agent_loader"
"""The logger of ADK's agent loader. Its warnings repeat the errors that the loader raises."""


VERSION: Final = "agent_version"
"""The name of the module variable with an agent's version: see ``version`` of ``DbosEngine``."""


class TargetError(ValueError):
    """Raised if a target cannot be loaded. ``str(error)`` is one line with ``reason`` (the problem) and ``found``.

    ``found``: at most five targets to choose from, and a text such as ``and 3 more``.
    ``example``: a valid target to use instead. ``is_fixable``: True if a change of the target's files can make the
    target valid.
    """

    def __init__(
        self, reason: str, *, example: str | None = None, is_fixable: bool = True, found: Sequence[str] = ()
    ) -> None:
        self.reason = f"{reason} Found here:" if found else reason
        super().__init__(" ".join([self.reason, ", ".join(found)]).strip())
        self.found = found
        self.example = example
        self.is_fixable = is_fixable


def load_target(name: str) -> Target:
    """Loads the agent, ``App`` or ``Runner`` that ``name`` names.

    With a colon, ``name`` is ``module:attr``. The module is imported, with the working directory on ``sys.path``. If
    the attribute is a function, it is called without arguments, and must return the target.

    Any other ``name`` is the path of an agent folder, as for ``adk web``. The folder's ``.env`` file is read. If the
    folder contains an agent and no ``App``, the agent becomes an ``App`` with the folder's name.

    Raises ``TargetError`` in three cases: the target is unusable, the imported code raises an exception, or the model
    supports only live (bidirectional) runs.
    """
    try:
        is_module = ":" in name and not Path(name).exists()
        target = _from_module(name) if is_module else _from_folder(name)
    except _NotATargetError as error:
        advice = error.advice
        raise TargetError(
            f"cannot load {name}: {advice.text}",
            example=advice.example,
            is_fixable=advice.is_fixable,
            found=first_names(advice.found),
        ) from error.__cause__
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TargetError(f"cannot load {name}: {load_problem(error)}") from error
    root = _root(target)
    if root is not None and (found := live_model(root)) is not None:
        agent, model = found
        raise TargetError(
            f"cannot run {name}: agent {agent!r} has the model {model}, which by its name answers only in live "
            "(bidirectional) sessions; a chat needs a model that generates content"
        )
    return target


class _NotATargetError(Exception):
    def __init__(self, advice: Advice) -> None:
        super().__init__(advice.text)
        self.advice = advice


def target_version(name: str) -> str:
    """Return the variable ``agent_version`` from the module of a loaded target; ``""`` if the module has no such
    variable.

    Raises ``TargetError`` if the version is not a string.
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


def _from_module(name: str) -> Target:
    module_name, _, path = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    if not all(module_name.split(".")) or "/" in module_name or Path(module_name).is_file():
        raise _NotATargetError(not_a_module(name))
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise _NotATargetError(not_a_module(name)) from None
    attributes = path.split(".")
    for number, attribute in enumerate(attributes, 1):
        if not hasattr(found, attribute):
            missing = ".".join(attributes[:number])
            raise _NotATargetError(no_attribute(f"{module_name}:{missing}", found))
        found = getattr(found, attribute)
    return _as_target(name, found)


def _as_target(name: str, found: object) -> Target:
    """Return ``found`` if it is an agent, an ``App`` or a ``Runner``. Otherwise, call ``found`` and return the result.
    Raises ``_NotATargetError`` if ``found`` cannot be called without arguments, or returns no target.
    """
    if isinstance(found, TARGETS):
        return found
    is_function = inspect.isroutine(found)
    is_other_class = inspect.isclass(found) and not issubclass(found, TARGETS)
    if not callable(found) or is_other_class or inspect.iscoroutinefunction(found):
        raise _NotATargetError(wrong_kind(name, found))
    if needed := _required_parameters(found):
        if is_function:
            text = f"it takes arguments ({', '.join(needed)}); a function that makes a target is called without any"
            raise _NotATargetError(Advice(text, is_fixable=True))
        raise _NotATargetError(wrong_kind(name, found))
    made = cast("Callable[[], object]", found)()
    if not isinstance(made, TARGETS):
        raise _NotATargetError(wrong_kind(name, made, returned=True))
    return made


def _required_parameters(function: Callable[..., object]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.default is each.empty and each.kind not in optional]


def _from_folder(name: str) -> Target:
    folder = Path(name).resolve()
    if not name or not folder.is_dir():
        raise _NotATargetError(not_a_folder(name))
    if not _may_be_agent(folder):
        raise _NotATargetError(not_an_agent(name, folder))
    # ADK's loader needs a folder that is itself an agent, or the parent folder of agents.
    itself = any((folder / file).is_file() for file in AGENT_FILES)
    loader = AgentLoader(str(folder if itself else folder.parent))
    try:
        with silenced(ADK_LOADER), warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]")  # ADK's loader warns about itself
            found = loader.load_agent(folder.name)
    except (PermissionError, ValueError) as error:
        if not _is_raised_by_loader(error):
            raise
        raise _NotATargetError(not_an_agent(name, folder)) from None
    if isinstance(found, App):
        return found
    if not FOLDER_NAME.fullmatch(folder.name):
        raise _NotATargetError(not_an_agent(name, folder))
    return App(name=folder.name, root_agent=found)


def _is_raised_by_loader(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == AgentLoader.__module__


def _may_be_agent(folder: Path) -> bool:
    inner = ("root_agent.yaml", "__init__.py", "agent.py", "agent")
    return any((folder / file).exists() for file in inner) or (folder.parent / f"{folder.name}.py").is_file()
