"""Names of a package that are loaded from their homes when they are first asked for (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def names_at_home(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` for a package. ``homes``: name -> module below the package.

    To be assigned where no type checker looks: one that saw ``__getattr__`` would take any name for one of ours.
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get, lambda: [*vars(sys.modules[package]), *homes]
