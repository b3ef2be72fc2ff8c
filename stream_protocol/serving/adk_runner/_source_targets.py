"""Finds the agents that Python files define, to suggest them in error messages.

The files are only parsed. They are not run, because the user did not ask for this.
"""

import ast
import importlib
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import yaml
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.workflow import BaseNode

from stream_protocol.serving.base import is_file, is_folder
from stream_protocol.serving.errors import located_text

TARGETS: Final = (BaseNode, App, Runner)
"""The classes of the objects that ``serve`` can serve."""

AGENT_FILES: Final = ("agent.py", "root_agent.yaml")
"""Files that make a folder an agent for ``adk web``. ADK also loads a package whose ``__init__.py`` has
``root_agent``."""

USUAL_NAMES: Final = ("root_agent", "app")
"""The names under which ADK looks for an agent and for an ``App``."""

FOLDER_NAME: Final = re.compile(r"(?!user$)[A-Za-z][A-Za-z0-9_]*")
"""Pattern of the folder names that ADK accepts as an agent and as the name of an app."""

_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
_PLAIN_VALUES: Final = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.Lambda, ast.JoinedStr, ast.ListComp)

Binding = ast.expr | ast.stmt | str
"""The binding of a name: an expression, a definition, or the dotted name of an imported object."""


class SourceError(ValueError):
    """Raised if an import of the Python file would fail, for example because of a syntax error or a missing package.
    ``str(error)``: the reason.
    """


def source_targets(file: Path, root: Path) -> dict[str, type]:
    """Return the targets (agents, apps and runners) that a Python file defines. The result maps each name to its class,
    one of ``TARGETS``.

    The names ``root_agent`` and ``app`` come first, in this order. A file that cannot be imported has no targets.
    ``root``: the folder from which Python imports the file.
    """
    try:
        return read_targets(file, root)
    except SourceError:
        return {}


def read_targets(file: Path, root: Path) -> dict[str, type]:
    """Return the targets of a Python file, like ``source_targets``. Raise ``SourceError`` if an import of the file
    would fail.
    """
    targets = _read_scope(file, root, frozenset()).targets()
    return {name: targets[name] for name in sorted(targets, key=lambda name: (name != "root_agent", name != "app"))}


def _read_scope(file: Path, root: Path, importing: frozenset[Path]) -> "_Scope":
    """Parse a Python file. ``importing``: the files through which this file is imported, to detect circular imports."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(file.read_bytes(), file)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceError(located_text(error)) from None
    for module in _imported_modules(tree):
        if not _is_installed(module, file, root):
            raise SourceError(f"it imports {module}, which is not installed")
    for statement in tree.body:
        if isinstance(statement, ast.Raise):
            raise SourceError(f"it raises an error ({file.name}, line {statement.lineno})")
    return _Scope(tree, file, root, importing | {file.resolve()})


def is_agent_folder(folder: Path) -> bool:
    """Return True if ADK would load the folder as an agent. Runs no code of the folder."""
    if not FOLDER_NAME.fullmatch(folder.name) or other_module(folder.name, folder) is not None:
        return False
    for file in (folder / "__init__.py", folder / "agent.py"):
        if is_file(file):
            try:
                targets = read_targets(file, folder.parent)
            except SourceError:
                return False
            if targets.get("root_agent") is BaseNode or targets.get("app") is App:
                return True
    return _is_agent_config(folder / "root_agent.yaml")


def other_module(name: str, place: Path) -> str | None:
    """Return the path of the loaded module called ``name``. Return ``None`` if no such module is loaded, or if it is in
    the folder ``place``.
    """
    module = sys.modules.get(name)
    if module is None:
        return None
    places = [*getattr(module, "__path__", [])] or [getattr(module, "__file__", None) or "built in"]
    return None if any(Path(each).resolve().is_relative_to(place.resolve()) for each in places) else places[0]


def module_name(file: Path, root: Path) -> str | None:
    """Return the file's module name, such as ``my_app.agent``, for an import from the folder ``root``. Return ``None``
    if Python cannot import the file from there.
    """
    try:
        parts = file.resolve().relative_to(root.resolve()).with_suffix("").parts
    except ValueError:
        return None
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if not parts or any({*part} & {*". :"} for part in parts):
        return None
    first = root / parts[0]
    place = first if is_folder(first) else first.with_suffix(".py")
    return ".".join(parts) if other_module(parts[0], place) is None else None


def source_of(module: str, root: Path) -> Path | None:
    """Return the source file of a module that is installed or in ``root``; otherwise ``None``. Does not import the
    module.
    """
    first, *others = module.split(".")
    places = [root / first]
    try:
        spec = find_spec(first) if first else None
    except (ImportError, ValueError):
        spec = None
    if spec is not None:
        places += [
            Path(place) for place in spec.submodule_search_locations or [(spec.origin or "").removesuffix(".py")]
        ]
    for place in places:
        for file in _files_of_module(place.joinpath(*others)):
            if is_file(file):
                return file
    return None


def _files_of_module(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.py"), path / "__init__.py"


def _is_agent_config(file: Path) -> bool:
    try:
        config = yaml.safe_load(file.read_bytes())
    except (OSError, yaml.YAMLError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and "name" in config


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield "." * statement.level + (statement.module or "")


def _is_installed(module: str, file: Path, root: Path) -> bool:
    name = module.lstrip(".")
    first, _, rest = name.partition(".")
    second = rest.partition(".")[0]
    level = len(module) - len(name)
    folders = [file.parents[level - 1]] if level else [root, Path()]
    if not first or any(_has_module(folder, first, second) for folder in folders):
        return True
    try:
        spec = None if level else find_spec(first)
    except (ImportError, ValueError):  # a loaded module may have no `__spec__`
        return first in sys.modules
    if spec is None or spec.origin is not None or not second:
        return spec is not None
    return any(_has_module(Path(place).parent, first, second) for place in spec.submodule_search_locations or ())


def _has_module(folder: Path, first: str, second: str) -> bool:
    """Return True if the folder contains the module ``first``. If this module is a folder without ``__init__.py``, it
    must also contain the module ``second`` (unless ``second`` is empty).
    """
    package = folder / first
    if is_file(folder / f"{first}.py") or is_file(package / "__init__.py"):
        return True
    return is_folder(package) and (not second or is_folder(package / second) or is_file(package / f"{second}.py"))


class _Scope:
    """The names that the source of a module binds at its top level."""

    def __init__(self, tree: ast.Module, file: Path, root: Path, importing: frozenset[Path]) -> None:
        self._file = file
        self._root = root
        self._importing = importing
        self._bindings: dict[str, Binding] = {}
        for statement in _statements(tree.body):
            self._read(statement)

    def targets(self) -> dict[str, type]:
        """Return name -> class for the agents, apps and runners of the module, in the order of its code. An imported
        object is included only if its name is in ``USUAL_NAMES``.
        """
        own = [name for name, binding in self._bindings.items() if not isinstance(binding, str) or name in USUAL_NAMES]
        kinds = {name: self.kind(name) for name in own}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def _read(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    self._bindings[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom(names=names, module=module, level=level):
                for alias in names:
                    self._bindings[alias.asname or alias.name] = f"{'.' * level}{module or ''}.{alias.name}"
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._bindings[name] = statement
            case ast.Assign(targets=targets, value=value):
                self._bindings |= {target.id: value for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._bindings[name] = value
            case ast.Delete(targets=targets):
                for target in targets:
                    self._bindings.pop(target.id if isinstance(target, ast.Name) else "", None)

    def kind(self, name: str, seen: frozenset[str] = frozenset()) -> type | None:
        """Return the class of the object called ``name``: an agent, ``App`` or ``Runner``. Return ``None`` for any
        other object. A ``root_agent`` of unknown class counts as an agent.
        """
        binding = self._bindings.get(name)
        match binding:
            case ast.Call(func=function) if (made := self._class_of(function)) is not None:
                return self._kind_of_class(made) if _is_complete(binding, made) else None
            case ast.Name(id=other) if other not in seen:
                return self.kind(other, seen | {name})
            case str() if (imported := _adk_object(binding)) is not None:
                return next((kind for kind in TARGETS if isinstance(imported, kind)), None)
            case str() if (source := self._own_file(binding)) is not None:
                if source in self._importing:
                    return None
                return _read_scope(source, self._root, self._importing).kind(binding.rpartition(".")[2])
        is_open = isinstance(binding, str | ast.expr) and not isinstance(binding, _PLAIN_VALUES)
        return BaseNode if name == "root_agent" and is_open else None

    def _own_file(self, dotted: str) -> Path | None:
        """Return the source file from which a name is imported, such as ``tools.py`` for ``.tools.search``. Return
        ``None`` if the file belongs to an installed package.
        """
        module = dotted.rpartition(".")[0]
        name = module.lstrip(".")
        level = len(module) - len(name)
        folder = self._file.parents[level - 1] if level else self._root
        files = _files_of_module(folder.joinpath(*name.split("."))) if name else (folder / "__init__.py",)
        return next((file.resolve() for file in files if is_file(file)), None)

    def _class_of(self, function: ast.expr) -> object:
        match function:
            case ast.Name(id=name):
                binding = self._bindings.get(name)
                if isinstance(binding, str):
                    return _adk_object(binding)
                return binding if isinstance(binding, ast.ClassDef) else None
            case ast.Attribute():
                name, _, rest = ast.unparse(function).partition(".")
                binding = self._bindings.get(name)
                return _adk_object(f"{binding}.{rest}") if isinstance(binding, str) else None
        return None

    def _kind_of_class(self, found: object) -> type | None:
        if isinstance(found, ast.ClassDef):
            kinds = (self._kind_of_class(self._class_of(base)) for base in found.bases)
            return next((kind for kind in kinds if kind is not None), None)
        return next((kind for kind in TARGETS if isinstance(found, type) and issubclass(found, kind)), None)


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, including statements in ``if``, ``try`` and ``with``, but not in functions and
    classes.
    """
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for block in _BLOCKS:
                yield from _statements(getattr(node, block, []))


def _adk_object(dotted: str) -> Any:
    module, _, attribute = dotted.rpartition(".")
    if not module.startswith("google.adk"):
        return None
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None


def _is_complete(call: ast.Call, made: object) -> bool:
    """``call`` creates an object of the class ``made``. Return True if the call passes all required arguments. For an
    agent, the name must also be valid.
    """
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if not isinstance(made, type) or issubclass(made, Runner) or None in given:
        return True
    name = given.get("name")
    if issubclass(made, BaseNode) and isinstance(name, ast.Constant) and not _is_agent_name(name.value):
        return False
    fields = made.model_fields if issubclass(made, BaseNode | App) else {}
    return all(name in given for name, field in fields.items() if field.is_required())


def _is_agent_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name != "user"
