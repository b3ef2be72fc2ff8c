"""Error messages for a name that is not a target (an agent, an ``App`` or a ``Runner``).

The messages suggest only targets that exist, and that Python can probably load.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from google.adk.apps import App
from starlette.applications import Starlette

from stream_protocol.serving.adk_runner._agent_search import (
    agent_folders,
    file_targets,
    is_below,
    module_targets,
    targets_of,
)
from stream_protocol.serving.adk_runner._load_errors import closest
from stream_protocol.serving.adk_runner._source_targets import (
    AGENT_FILES,
    FOLDER_NAME,
    TARGETS,
    SourceError,
    is_agent_folder,
    other_module,
    read_targets,
    source_of,
    source_targets,
)
from stream_protocol.serving.base import is_file, is_folder

_KINDS: Final = "an agent, App or Runner"
_FORMS: Final = "Name the folder of an agent, or an attribute of a module, such as my_package.agent:root_agent."

LISTED: Final = 5
"""The maximum number of names that an error message lists."""

_INNER: Final = frozenset({"bench", "benchmarks", "examples", "test", "tests"})
"""Top-level folders whose targets are not listed for an unknown name: they are seldom what the user wants to serve."""


@dataclass(frozen=True)
class Advice:
    """The error message for a name that is not a target.

    ``example``: a valid target, such as ``my_app.agent:root_agent``. ``None`` if ``text`` already suggests a target.
    ``is_fixable``: True if a change of the agent's files can make the name a target. ``found``: targets to choose from.
    """

    text: str
    example: str | None = None
    is_fixable: bool = False
    found: Sequence[str] = ()


def not_a_folder(name: str) -> Advice:
    """Return the error message for a name without a colon that is not the path of a folder."""
    if not name:
        return _unknown_name("the name is empty", name)
    path = Path(name)
    if is_file(path):
        return _is_file(path)
    if "/" not in name and (targets := _targets_with_dots(name)):
        return Advice(f"there is no such folder.{_did_you_mean(targets)}")
    if is_file(file := path.with_name(f"{path.name}.py")):
        return _is_file(file)
    return _unknown_name("there is no such folder", name)


def not_a_module(name: str) -> Advice:
    module, _, attribute = name.partition(":")
    if not module:
        return _unknown_name("it names no module", module)
    path = Path(module)
    if _is_agent_path(path):
        return Advice(f"a folder is named without an attribute.{_did_you_mean([str(path)])}")
    for file in (path, path.with_name(f"{path.name}.py")):
        if file.suffix == ".py" and is_file(file):
            targets = _by_attribute(targets_of(file), attribute)
            text = "a module is named with dots, not as a file."
            return Advice(f"{text}{_did_you_mean(targets)}") if targets else _is_file(file)
    here = module_targets(Path(), of_agents=True)
    close = closest(module, {target.partition(":")[0] for target in here})
    targets = _by_attribute([target for target in here if target.partition(":")[0] == close], attribute)
    text = f"there is no module `{module}`"
    return Advice(f"{text}.{_did_you_mean(targets)}") if targets else _unknown_name(text, module)


def no_attribute(name: str, owner: object) -> Advice:
    """Return the error message for ``module:attribute`` if ``owner`` lacks the attribute. ``owner``: the module, or an
    object in the module.
    """
    module, _, path = name.partition(":")
    outer, _, missing = path.rpartition(".")
    label = f"`{outer}` in module `{module}`" if outer else f"module `{module}`"
    text = f"{label} has no attribute `{missing}`" if missing else "it names no attribute of the module"
    begin = f"{module}:{outer}." if outer else f"{module}:"
    names = _targets_in(owner)
    if (close := closest(missing, names)) is not None:
        return Advice(f"{text}.{_did_you_mean([begin + close])}", is_fixable=True)
    found = [begin + each for each in names] or _below(module, missing)
    return Advice(f"{text}.", is_fixable=True, found=found)


def wrong_kind(name: str, value: object, *, returned: bool = False) -> Advice:
    """Return the error message for an attribute whose value is not a target.

    ``returned``: True if ``value`` is the result of calling the attribute.
    """
    module = name.partition(":")[0]
    others = [f"{module}:{each}" for each in _targets_in(sys.modules[module]) if f"{module}:{each}" != name]
    text = f"it returned {_kind(value)}" if returned else f"it is {_kind(value)}".replace("a value of", "of")
    if inspect.isclass(value) and issubclass(value, TARGETS):
        return Advice(f"{text}: create an object of it, and name that.", is_fixable=True, found=others)
    if isinstance(value, Starlette) and not returned:
        text = f"{text}, a web app for `uvicorn {name}`"
    return Advice(f"{text}, not {_KINDS}.", is_fixable=True, found=others)


def not_an_agent(name: str, folder: Path) -> Advice:
    """Return the error message for a folder in which ADK finds no agent."""
    own = [file for file in (*AGENT_FILES, "__init__.py") if is_file(folder / file)]
    inner = agent_folders(folder)
    if inner and not {*own} & {*AGENT_FILES}:
        return _has_agents(name, folder, inner)
    if own and not FOLDER_NAME.fullmatch(folder.name):
        better = re.sub(r"^\W*(?=[^A-Za-z]|user$)", "agent_", re.sub(r"\W", "_", folder.name, flags=re.ASCII))
        return Advice(
            "the name of an agent's folder has letters, digits and underscores, begins with a letter, and is not "
            f"`user`: rename `{folder.name}`, for example to `{better}`"
        )
    if own and (other := other_module(folder.name, folder)) is not None:
        return Advice(f"Python has another module `{folder.name}` ({other}): rename the folder")
    if own:
        return _no_root_agent(name, folder, own[0])
    targets = file_targets(folder)
    text = "there is no agent.py in it" if any(folder.iterdir()) else "the folder is empty"
    return Advice(f"{text}.{_did_you_mean(targets)}" if targets else f"{text}. {_FORMS}")


def _no_root_agent(name: str, folder: Path, file: str) -> Advice:
    """Return the error message for a folder whose modules load, but define no usable agent."""
    loaded = [sys.modules.get(module) for module in (f"{folder.name}.agent", folder.name)]
    modules = [module for module in loaded if module is not None]
    for module in modules:
        value = getattr(module, "root_agent", None)
        if value is not None and not isinstance(value, ModuleType):
            place = Path(name, Path(module.__file__ or file).name)
            text = f"`root_agent` in {place} is {_kind(value)}, not an agent".replace("a value of", "of")
            if isinstance(value, App):
                text = f"{text}: call it `app`"
            elif inspect.isclass(value):
                text = f"{text}: create an object of it"
            elif inspect.isroutine(value):
                text = f"{text}: assign what it returns"
            return Advice(text, is_fixable=True)
    text = f"{Path(name, file)} does not define `root_agent`"
    defined = {key: module.__name__ for module in modules for key in _targets_in(module)}
    if not defined:
        return Advice(text, is_fixable=True)
    text = f"{text}, but {_listed(f'`{key}`' for key in defined)}: rename it"
    targets = [f"{module}:{key}" for key, module in defined.items()] if folder.parent == Path.cwd() else []
    return Advice(f"{text}.{_did_you_mean(targets)}", is_fixable=True)


def _has_agents(name: str, folder: Path, inner: Sequence[Path]) -> Advice:
    shown = {Path(name, path.relative_to(folder)): path for path in inner}
    example = next((str(path) for path, real in shown.items() if is_agent_folder(real)), None)
    if len(shown) == 1:
        return Advice(f"it has no agent.py; the agent is in {next(iter(shown))}.", example)
    names = _listed(str(path.relative_to(folder)) for path in inner)
    return Advice(f"it has {len(inner)} agents: {names}.", example)


def _is_file(file: Path) -> Advice:
    """Return the error message for a name that is the path of a file."""
    if file.name in (*AGENT_FILES, "__init__.py", ".env") and _is_agent_path(file.parent):
        return Advice(f"it is a file; the target is its folder.{_did_you_mean([str(file.parent)])}")
    if file.suffix != ".py":
        return Advice(f"it is a file, and not Python. {_FORMS}")
    try:
        names = [*read_targets(file, Path())]
    except SourceError as error:
        return Advice(f"it is a file, and cannot be imported: {error}", is_fixable=True)
    if not names:
        return Advice(f"it is a file that defines no agent. {_FORMS}", is_fixable=True)
    if targets := targets_of(file):
        return Advice(f"it is a file; a target in it is named module:attribute.{_did_you_mean(targets)}")
    return Advice(f"it is a file in another folder: go to {file.parent}, and name {file.stem}:{names[0]} there")


def _targets_with_dots(name: str) -> list[str]:
    module, _, attribute = name.rpartition(".")
    if module and (file := source_of(module, Path())) is not None and attribute in source_targets(file, Path()):
        return [f"{module}:{attribute}"]
    folder = Path(*name.split("."))
    if _is_agent_path(folder):
        return [str(folder)]
    file = source_of(name, Path())
    return [f"{name}:{each}" for each in source_targets(file, Path())] if file is not None else []


def _unknown_name(text: str, name: str) -> Advice:
    """Return the error message for a name that is neither a file nor a module. The message suggests agents near the
    named path.
    """
    path = Path(name)
    parent = path.parent if is_folder(path.parent) else Path()
    if parent != Path() and _is_agent_path(parent):
        return Advice(f"{text}.{_did_you_mean([str(parent)])}")
    if not is_below(parent, Path()):  # the folder may be someone else's, or have a million files
        parent = Path()
    targets = [str(folder) for folder in agent_folders(parent) if _is_agent_path(folder)] + module_targets(Path())
    by_name = {re.split(r"[/\\:]", target)[-1 if ":" not in target else -2]: target for target in reversed(targets)}
    close = closest(name, targets) or by_name.get(closest(path.name, by_name) or "")
    if close is not None:
        return Advice(f"{text}.{_did_you_mean([close])}")
    if parent == Path():
        targets = [target for target in targets if re.split(r"[/\\.:]", target)[0] not in _INNER]
    return Advice(f"{text}." if targets else f"{text}. {_FORMS}", found=targets)


def _is_agent_path(folder: Path) -> bool:
    return is_folder(folder) and is_agent_folder(folder.resolve())


def _targets_in(owner: object) -> list[str]:
    return [name for name, value in getattr(owner, "__dict__", {}).items() if issubclass(type(value), TARGETS)]


def _by_attribute(targets: Iterable[str], attribute: str) -> list[str]:
    return sorted(targets, key=lambda target: target.partition(":")[2] != attribute)


def _below(module: str, attribute: str) -> list[str]:
    """Return the targets of a package. If its folder is an agent, this is the folder's path. Otherwise, these are the
    targets in the package's module ``agent``.
    """
    folder = Path(*module.split("."))
    if _is_agent_path(folder):
        return [str(folder)]
    file = source_of(f"{module}.agent", Path())
    return _by_attribute(targets_of(file), attribute) if file is not None else []


def _kind(value: object) -> str:
    match value:
        case None:
            return "None"
        case ModuleType():
            return f"the module {value.__name__}"
        case type():
            return f"the class {value.__name__}"
    if inspect.iscoroutinefunction(value):
        return "an `async` function"
    return "a function" if inspect.isroutine(value) else f"a value of type {type(value).__name__}"


def _did_you_mean(targets: Sequence[str]) -> str:
    return f" Did you mean `{targets[0]}`?" if targets else ""


def _listed(names: Iterable[str]) -> str:
    first = first_names(names)
    return " ".join([", ".join(first[:LISTED]), *first[LISTED:]])


def first_names(names: Iterable[str]) -> list[str]:
    """Return at most ``LISTED`` of the names, and a text such as ``and 3 more`` for the others."""
    names = [*names]
    more = len(names) - LISTED
    return [*names[:LISTED], *([f"and {more} more"] if more > 0 else ())]
