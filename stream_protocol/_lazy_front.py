"""Packages whose public names are loaded when one is first asked for (PEP 562)."""

import sys
from collections.abc import Callable
from importlib import import_module


def lazy_front(package: str, names: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` for the package's ``__init__.py``.

    ``names``: the module in the package that imports the public names and lists them in ``__all__``. Assign both under
    ``if not TYPE_CHECKING``: a type checker that saw ``__getattr__`` would accept any name.
    """
    module = f"{package}.{names}"

    def get(name: str) -> object:
        public = import_module(module)  # outside the try: an AttributeError in there is a bug, and must not be hidden
        try:
            return getattr(public, name)
        except AttributeError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return get, lambda: [*vars(sys.modules[package]), *import_module(module).__all__]
