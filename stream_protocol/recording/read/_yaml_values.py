"""The loader of YAML, which decides which plain texts are numbers, booleans and null.

PyYAML reads YAML 1.1. There ``yes``, ``12:30:00``, ``=`` and a date are values of other types: a text that somebody
wrote without quotes is lost. A number in base 60 takes time in the square of its length, too. YAML 1.2 reads all these
as texts, and so does this loader. Nothing that ADK writes changes: its texts of this kind are in quotes.
"""

import math
import re
from typing import Any, Final

import yaml

_TAG: Final = "tag:yaml.org,2002:"

_CORE: Final = re.compile(
    r"~|null|Null|NULL|"  # also nothing
    r"|true|True|TRUE|false|False|FALSE"
    r"|[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)"
    r"|[-+]?[0-9]*\.[0-9]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""The values of the core schema of YAML 1.2, as far as they are values in YAML 1.1, too."""

_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML has no C loader where libyaml was missing when it was built."""


def _resolve(loader: Any, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
    """The tag of a node without one."""
    tag = _BASE.resolve(loader, kind, value, implicit)
    is_other = kind is yaml.ScalarNode and implicit[0] and not _CORE.fullmatch(value)
    return _TAG + "str" if is_other else tag


def _construct_int(loader: Any, node: yaml.Node) -> int:
    return int(loader.construct_scalar(node), base=0)


def _construct_float(loader: Any, node: yaml.Node) -> float:
    text = loader.construct_scalar(node).lower()
    match text.lstrip("+-"):
        case ".inf":
            return -math.inf if text.startswith("-") else math.inf
        case ".nan":
            return math.nan
    return float(text)


LOADER: Final[Any] = type("Loader", (_BASE,), {"resolve": _resolve})
"""A safe loader: it makes nothing but plain values."""
LOADER.add_constructor(_TAG + "int", _construct_int)
LOADER.add_constructor(_TAG + "float", _construct_float)
