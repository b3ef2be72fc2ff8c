"""Writes docs/options.md, a list of all options with their docstrings: ``python -m website.options``."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, is_typeddict

from stream_protocol import ConverterOptions
from stream_protocol.server import ServerLimits
from stream_protocol.serving import (
    ChatEndpoints,
    FilePolicy,
    LogBounds,
    PostgresRunLog,
    RedisRunLog,
    RouteOptions,
    RunOverrides,
    ServiceLimits,
    ServiceOptions,
    create_app,
)
from website.defaults import DEFAULTS
from website.paths import DOCS, ROOT

PAGE: Final = ROOT / DOCS / "options.md"

_DEFAULT_IN_TEXT: Final = re.compile(r"(?<=[.>])( ?)(?:True|False|Empty) by default\.(?: |$)")
"""Sentence of a docstring that the column of defaults repeats."""

_AS_IN: Final = re.compile(r"As in `(\w+)`\.")
"""Text of an option that another section has. The page names such options below the table."""

Option = tuple[str, str, str]
"""Name, default and text of an option, in Markdown."""

SECTIONS: Final[Mapping[str, tuple[type | Callable[..., Any], str]]] = {
    "The converter": (
        ConverterOptions,
        "The converter turns ADK events into chunks. Pass its options to `stream_sse`, `ChatService` or `replay`.",
    ),
    "`ChatService`": (ServiceOptions, ""),
    "`chat_router`": (RouteOptions, ""),
    "`create_app`": (create_app, ""),
    "`ChatEndpoints`": (ChatEndpoints, ""),
    "`RunOverrides`": (RunOverrides, "`prepare` returns these settings of one run."),
    "`FilePolicy`": (FilePolicy, "`ChatService(files=…)` restricts attached files."),
    "`ServiceLimits`": (
        ServiceLimits,
        "`ChatService(limits=…)` sets these limits. [Each worker counts separately](trust/operators.md#limits).",
    ),
    "`LogBounds`": (LogBounds, "Limits of the log of one response."),
    "`PostgresRunLog`": (PostgresRunLog, "The class needs the extra `postgres`: see [PostgreSQL](postgresql.md)."),
    "`RedisRunLog`": (RedisRunLog, "The class needs the extra `redis`: see [Redis](redis.md)."),
    "`ServerLimits`": (
        ServerLimits,
        "Limits of the clients of `run_server` and `serve`: see [slow clients](trust/operators.md#slow-clients).",
    ),
}
"""Heading -> class or function with the options, and the text above their table."""

PAGES: Final[Mapping[str, str]] = {
    "ai_sdk": "compatibility.md#the-ai-sdk",
    "hidden_tools": "sub-agents.md#task-agents",
    "allow_origins": "routes.md#cors",
    "artifact_links": "trust/developers.md#files",
    "context": "page-values.md#context",
    "disconnect_grace": "durable.md#closing-a-tab-is-not-stopping",
    "engine": "durable.md#runs-that-outlive-their-worker",
    "history": "decisions/client-history.md",
    "truncated_history": "durable.md#a-shorter-history",
    "identify": "trust/developers.md#users",
    "limits": "trust/operators.md#limits",
    "max_body_bytes": "trust/operators.md#large-requests",
    "max_bytes_in_flight": "trust/operators.md#large-requests",
    "nested_agents": "sub-agents.md#the-option",
    "on_audit": "trust/auditors.md#the-audit-trail",
    "on_busy": "durable.md#a-busy-chat",
    "on_error": "errors.md",
    "prepare": "data.md#from-the-frontend-to-the-agent",
    "recorder": "recording.md#record",
    "run_log": "durable.md#several-workers",
    "send_sources": "citations.md",
    "session_service": "persistence.md",
    "shared_state": "page-values.md#shared-state",
    "tool_titles": "tool-progress.md#titles",
    "while_busy": "steering.md",
}
"""Option -> page about it."""

HEAD: Final = """\
# Options

The Python API has these options, by class and function. Sizes are in bytes, and times in seconds. See also the
[reference](reference/serving.md), and the options of the [command line](cli.md).

- **The stream**: [the converter](#the-converter)
- **Chats and single runs**: [`ChatService`](#chatservice), [`RunOverrides`](#runoverrides)
- **Routes**: [`chat_router`](#chat_router), [`create_app`](#create_app), [`ChatEndpoints`](#chatendpoints)
- **Limits of users and files**: [`ServiceLimits`](#servicelimits), [`FilePolicy`](#filepolicy)
- **Limits of responses and connections**: [`LogBounds`](#logbounds), [`ServerLimits`](#serverlimits)
- **Several workers**: [`RedisRunLog`](#redisrunlog), [`PostgresRunLog`](#postgresrunlog)
"""


def page() -> str:
    """Return the page in Markdown."""
    return HEAD + "".join(f"\n## {heading}\n\n{_section(*section)}" for heading, section in SECTIONS.items())


def options_of(owner: type | Callable[..., Any]) -> list[Option]:
    """Return the options, in the order of the docstring. Raises an error if the docstring lacks a keyword."""
    if is_typeddict(owner):
        return [(name, _default(DEFAULTS.get(name)), text) for name, text in _documented_attributes(owner)]
    if is_dataclass(owner) and (attributes := [*_documented_attributes(owner)]):
        defaults = {field.name: field.default for field in fields(owner)}
        return [(name, _default(defaults[name]), text) for name, text in attributes]
    keywords = inspect.signature(owner).parameters
    return [
        (name, _default(keywords[name].default), text)
        for name, text in _documented_keywords(owner)
        if name in keywords and keywords[name].kind is inspect.Parameter.KEYWORD_ONLY
    ]


def _section(owner: type | Callable[..., Any], above: str) -> str:
    lines = [above, ""] if above else []
    shared: dict[str, list[str]] = {}
    rows = []
    for name, default, text in options_of(owner):
        if elsewhere := _AS_IN.fullmatch(text):
            shared.setdefault(elsewhere[1], []).append(f"`{name}`")
        else:
            shown = f"[`{name}`]({PAGES[name]})" if name in PAGES else f"`{name}`"
            rows.append(f"| {shown} | {default} | {text} |")
    if rows:
        lines += ["| Option | Default | Description |", "|---|---|---|", *rows, ""]
    for other, names in shared.items():
        lines += [f"{', '.join(names)}: as in `{other}`.", ""]
    return "\n".join(lines)


def _documented_attributes(owner: Any) -> Iterator[tuple[str, str]]:
    """Yield each annotated attribute with the string below it."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)
    for attribute, below in zip(definition.body, definition.body[1:], strict=False):
        match attribute, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, _markdown(inspect.cleandoc(text))


def _documented_keywords(owner: Any) -> Iterator[tuple[str, str]]:
    """Yield each documented name, with its text up to the next name or the end of the paragraph."""
    text = inspect.getdoc(owner) or ""
    entries = re.split(r"^(?:- )?((?:``\w+``(?:, | and )?)+): ", text, flags=re.MULTILINE)[1:]
    for names, told in zip(entries[::2], entries[1::2], strict=True):
        for name in re.findall(r"\w+", names.replace(" and ", ", ")):
            yield name, _markdown(told)


def _markdown(text: str) -> str:
    """Return the first paragraph of the text as one line for a cell of a table. The reference has the others."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    line = paragraph.replace("``", "`").replace("|", "\\|").replace(" -> ", " → ")
    line = _DEFAULT_IN_TEXT.sub(r"\1", line).strip()
    return line[0].upper() + line[1:]


def _default(value: Any) -> str:
    match value:
        case inspect.Parameter.empty:
            return "required"
        case bool() | None | str() | tuple() | dict():
            return f"`{value!r}`"
        case int() if value % 2**20 == 0:
            return f"{value // 2**20:,} MiB"
        case int() | float():
            return f"{value:,g}" if isinstance(value, float) else f"{value:,}"
        case frozenset():
            return ", ".join(f"`{each}`" for each in sorted(value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return f"`{type(value).__name__}()`"
        case _ if value is MISSING or callable(value):
            return ""
        case _:
            return f"`{value!r}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
