"""Wrong values for the parameters of public functions, derived from their annotations.

A value is wrong for a parameter if its annotation does not allow it. So new parameters get wrong values, too.
"""

import collections.abc
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

import google.adk.events
import google.adk.runners
import google.adk.sessions
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig
from google.adk.workflow import BaseNode

import stream_protocol

DOCS: Final = Path(__file__).parent.parent / "docs"

Function = Callable[..., Any]


def public_functions() -> Iterator[tuple[str, Function]]:
    """Yield the name and object of each function and class in the reference."""
    for page in sorted((DOCS / "reference").glob("*.md")):
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, attribute = name.rpartition(".")
            value = getattr(import_module(module), attribute)
            if inspect.isfunction(value) or (isinstance(value, type) and not is_typeddict(value)):
                yield name, value


def _names() -> dict[str, Any]:
    """Return the names in annotations, including names that are imported only for type checkers."""
    names: dict[str, Any] = {**vars(typing), **vars(collections.abc)}
    for package in walk_packages(stream_protocol.__path__, "stream_protocol."):
        if ".cli" not in package.name and not package.name.endswith("__main__"):
            names.update(vars(import_module(package.name)))
    others = (google.adk.events.Event, google.adk.sessions.Session, google.adk.runners.Runner)
    services = (google.adk.sessions.BaseSessionService, RunConfig, BaseNode, CallbackContext, Path)
    names["ProgressFnT"] = Any  # type of a result, and never of a parameter: to import MCP takes a second
    return names | {each.__name__: each for each in (*others, *services)}


def parameters(function: Function) -> dict[str, Any]:
    """Return name -> annotation of a function's parameters. ``**options`` are replaced by the keys of their
    ``TypedDict``.
    """
    called: Any = vars(function).get("__init__", function) if isinstance(function, type) else function
    module = vars(sys.modules[function.__module__])
    found: dict[str, Any] = {}
    hints = get_type_hints(called, module, _NAMES)
    if isinstance(function, type) and not is_dataclass(function) and hasattr(function, "model_fields"):
        return {name: field.annotation for name, field in function.model_fields.items()}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            for options in get_args(hints[parameter.name]):  # none of keywords that may be anything
                found.update(get_type_hints(options, localns=_NAMES))
        elif parameter.name in hints:
            found[parameter.name] = hints[parameter.name]
    return found


_NAMES: Final = _names()


class Plain:
    """Class whose objects no parameter accepts."""


def _of_nothing() -> None: ...


def _of_many(_a: Any, _b: Any, _c: Any, _d: Any, _e: Any, _f: Any, _g: Any) -> None: ...


async def _coroutine() -> None: ...


async def _agen() -> AsyncIterator[Any]:
    yield Plain()


def _gen() -> Iterator[Any]:
    yield Plain()


POOL: Final[Mapping[str, Callable[[], Any]]] = {
    "a word": lambda: "Server",
    "bytes": lambda: b"Server",
    "a number": lambda: 5,
    "a negative number": lambda: -1,
    "a negative fraction": lambda: -0.5,
    "a fraction": lambda: 1.5,
    "no number": lambda: math.nan,
    "a truth": lambda: True,
    "a number as text": lambda: "1",
    "nothing": lambda: None,
    "a list of numbers": lambda: [3],
    "a list of words": lambda: ["Server"],
    "a list of objects": lambda: [Plain()],
    "a dictionary": lambda: {"Server": 3},
    "a dictionary of numbers": lambda: {3: 3},
    "an object": Plain,
    "a class": lambda: Plain,
    "a function without arguments": lambda: _of_nothing,
    "a function of many": lambda: _of_many,
    "a coroutine": _coroutine,
    "an asynchronous generator": _agen,
    "a generator": _gen,
    "a module": lambda: math,
}
"""Values of all kinds. Each is created when it is used."""


def is_wrong(value: Any, annotation: Any) -> bool:
    """Return True if a parameter with this annotation must refuse the value; False in doubt."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in (Any, object) or isinstance(annotation, TypeVar):
        return False
    if annotation in (None, types.NoneType):
        return value is not None
    if origin in (typing.Union, types.UnionType):
        return all(is_wrong(value, each) for each in inner)
    if origin is typing.Annotated:
        return is_wrong(value, inner[0])
    if origin is Literal:
        return not any(type(value) is type(each) and value == each for each in inner)
    if annotation in (int, float):
        fits = isinstance(value, int if annotation is int else int | float) and not isinstance(value, bool)
        return not (fits and value >= 0)  # no parameter takes a negative number, or none
    if origin is collections.abc.Callable:
        return not _can_be_called(value, inner[0])
    if is_typeddict(annotation):
        return not isinstance(value, Mapping)
    if origin is type:
        return not isinstance(value, type)
    if getattr(annotation, "_is_protocol", False):
        return isinstance(value, type) or not all(hasattr(value, name) for name in _members(annotation))
    if isinstance(origin, type):
        return _is_wrong_collection(value, origin, inner)
    return isinstance(annotation, type) and not isinstance(value, annotation)


def _is_wrong_collection(value: Any, origin: type, inner: tuple[Any, ...]) -> bool:
    if issubclass(origin, collections.abc.AsyncIterable):
        return not isinstance(value, collections.abc.AsyncIterable)
    if isinstance(value, str | bytes) or not isinstance(value, collections.abc.Iterable):
        return True
    if issubclass(origin, Mapping):
        return not isinstance(value, Mapping) or any(
            is_wrong(item, inner[place]) for place, items in enumerate((value, value.values())) for item in items
        )
    if isinstance(value, Collection):
        return any(is_wrong(item, inner[0]) for item in value) and not isinstance(value, Mapping)
    return origin is not collections.abc.Iterable


def _can_be_called(value: Any, arguments: Any) -> bool:
    if not callable(value) or not isinstance(arguments, list):
        return callable(value)
    try:
        inspect.signature(value).bind(*arguments)
    except TypeError:
        return False
    return True


def _members(protocol: type) -> set[str]:
    return {name for name in {**vars(protocol), **inspect.get_annotations(protocol)} if not name.startswith("_")}
