"""The names of a package, loaded when one is first asked for (PEP 562)."""

import sys
from collections.abc import Callable
from importlib import import_module


def lazy_front(package: str, names: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` for a package whose names are listed once, in its module ``names``.

    To be assigned where no type checker looks: one that saw ``__getattr__`` would take any name for one of ours.
    """

    def get(name: str) -> object:
        try:
            return getattr(import_module(f"{package}.{names}"), name)
        except AttributeError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return get, lambda: [*vars(sys.modules[package]), *import_module(f"{package}.{names}").__all__]
