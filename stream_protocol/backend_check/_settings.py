"""The settings with which a server is checked. The defaults fit the servers of this package."""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

Prompts = tuple[str, ...]
"""Prompts for a feature, to be tried in order. Empty if the server does not have the feature."""


class SettingsError(ValueError):
    """Raised if a settings file cannot be used. The message has one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The prompts, routes and headers with which a server is checked. The default prompts fit ``adk-ui-stream demo``
    and projects of ``adk-ui-stream init``.
    """

    text: Prompts = ("Hello",)
    tool: Prompts = ("Compare the weather in Oslo and Rome", "What is on my list?")
    approval: Prompts = ("Book two nights in Kyoto", "Clear my list")
    client_tool: Prompts = ("Which time zone am I in?",)
    client_tool_output: Any = field(default_factory=lambda: {"timeZone": "Europe/Lisbon"})
    long: Prompts = ("Tell me a long story",)
    error: Prompts = ("Fail in the middle of a sentence",)
    file: Prompts = ("What is in the file that I attach?",)
    resume: str = "{url}/{id}/stream"
    stop: str = "{url}/{id}/stop"
    history: str = "{url}/{id}"
    delete: str = "{url}/{id}"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 30.0
    """Seconds without a byte after which a response fails."""

    def prompts(self, name: str) -> Prompts:
        return getattr(self, name)  # type: ignore[no-any-return]  # a field's name


PROMPTS: Final = ("text", "tool", "approval", "client_tool", "long", "error", "file")
_ROUTES: Final = ("resume", "stop", "history", "delete")
_TABLES: Final = ("headers", "body")


def read_settings(path: str | Path) -> Settings:
    """Return the settings in a TOML file. Raises ``SettingsError`` if the file cannot be used."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from None
    known = [each.name for each in fields(Settings)]
    for name in values:
        if name not in known:
            raise SettingsError(f"{path}: unknown key `{name}`: use one of {', '.join(known)}")
    return replace(Settings(), **{name: _checked(path, name, value) for name, value in values.items()})


def _checked(path: str | Path, name: str, value: Any) -> Any:
    if name in PROMPTS:
        prompts = [] if value is False else [value] if isinstance(value, str) else value
        if not isinstance(prompts, list) or not all(isinstance(each, str) and each for each in prompts):
            raise SettingsError(f"{path}: `{name}` must be a prompt, a list of prompts or false")
        return tuple(prompts)
    if name in _ROUTES:
        if value is not False and not _is_route(value):
            raise SettingsError(f"{path}: `{name}` must be a path such as /api/chat/{{id}}/{name}, or false")
        return value or ""
    if name in _TABLES and not isinstance(value, dict):
        raise SettingsError(f"{path}: `{name}` must be a table")
    if name in ("body", "client_tool_output") and not _is_json(value):
        raise SettingsError(f"{path}: `{name}` must have values of JSON, so no dates and no nan")
    if name == "headers" and not all(isinstance(each, str) and each.isascii() for each in value.values()):
        raise SettingsError(f"{path}: each value in `headers` must be a text of ASCII characters")
    if name == "timeout":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise SettingsError(f"{path}: `timeout` must be a number of seconds above 0")
    return value


def _is_route(value: Any) -> bool:
    try:
        return isinstance(value, str) and urlsplit(value).path != ""
    except ValueError:  # the host of an absolute URL is invalid
        return False


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
