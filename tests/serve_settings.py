"""Writes options of ``serve`` into the ``pyproject.toml`` of the folder in which it is started."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stream_protocol.cli._serve_options import SETTINGS, TABLE, file_options


def write_settings(folder: Path, options: Mapping[str, Any]) -> None:
    """Write the file. ``options``: option -> value."""
    lines = [f"[{'.'.join(TABLE)}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())]
    (folder / SETTINGS).write_text("\n".join([*lines, ""]), encoding="utf-8")


def on_command_line(words: Sequence[str], folder: Path) -> list[str]:
    """Write the options of the settings file into it, and return the rest of the command line.

    So a test can list all options together, without knowing which of them belong in the file.
    """
    known = file_options()
    settings: dict[str, Any] = {}
    rest = iter(words)
    kept = []
    for word in rest:
        key = word.removeprefix("--")
        if not word.startswith("--") or key not in known:
            kept.append(word)
        elif known[key].is_flag:
            settings[key] = True
        elif known[key].multiple:
            settings.setdefault(key, []).append(next(rest))
        else:
            value = next(rest)
            settings[key] = json.loads(value) if value.replace(".", "").isdigit() else value
    if settings:
        write_settings(folder, settings)
    return kept
