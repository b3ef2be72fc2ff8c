"""Loads the public names of a package only when they are used (PEP 562)."""

import sys
from collections.abc import Callable
from importlib import import_module


def lazy_front(package: str, names: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for the ``__init__.py`` of a package that loads its names on first access.

    ``names``: the name of the module with the public names. Assign both functions under ``if not TYPE_CHECKING``.
    Otherwise a type checker would accept any name, because of ``__getattr__``.
    """
    module = f"{package}.{names}"

    def get(name: str) -> object:
        public = import_module(module)  # outside the `try`, which must not hide an AttributeError of the module
        try:
            return getattr(public, name)
        except AttributeError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return get, lambda: [*vars(sys.modules[package]), *import_module(module).__all__]
