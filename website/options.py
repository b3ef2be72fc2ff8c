"""Writes docs/options.md, a list of all options with their docstrings: ``python -m website.options``."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, is_typeddict

from stream_protocol import ConverterOptions
from stream_protocol.recording import ChatRecorder
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
    UIMessageStreamResponse,
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
    "Of the converter": (
        ConverterOptions,
        "The converter turns ADK events into chunks. Pass its options to `stream_sse`, `ChatService` or `replay`.",
    ),
    "Of `ChatService`": (ServiceOptions, "`ChatService` also accepts the options of the converter."),
    "Of `chat_router`": (RouteOptions, ""),
    "Of `create_app`": (create_app, ""),
    "Of `ChatEndpoints`": (ChatEndpoints, ""),
    "Of `UIMessageStreamResponse`": (UIMessageStreamResponse, ""),
    "`RunOverrides`": (RunOverrides, "`prepare` returns these settings of one run."),
    "`FilePolicy`": (FilePolicy, "`ChatService(files=…)` restricts attached files."),
    "`ServiceLimits`": (
        ServiceLimits,
        "`ChatService(limits=…)`. Each worker counts separately. See [all limits](trust/operators.md#limits).",
    ),
    "`LogBounds`": (LogBounds, "Limits of the log of one response."),
    "`PostgresRunLog`": (PostgresRunLog, "Needs the extra `postgres`: see [PostgreSQL](postgresql.md)."),
    "`RedisRunLog`": (RedisRunLog, "Needs the extra `redis`: see [Redis](redis.md)."),
    "`ChatRecorder`": (ChatRecorder, "`ChatService(recorder=…)`: see [recording](recording.md#record)."),
    "`ServerLimits`": (
        ServerLimits,
        "Limits of the clients of `run_server` and `serve`: see [slow clients](trust/operators.md#slow-clients).",
    ),
}
"""Heading -> class or function with the options, and the text above their table."""

READ_MORE: Final[Mapping[str, str]] = {
    "hidden_tools": "[task agents](sub-agents.md#task-agents)",
    "allow_origins": "[CORS](routes.md#cors)",
    "artifact_links": "[files](trust/developers.md#files)",
    "context": "[context](page-values.md#context)",
    "history": "[what a client's history may do](decisions/client-history.md)",
    "truncated_history": "[a shorter history](durable.md#a-shorter-history)",
    "identify": "[users](trust/developers.md#users)",
    "limits": "[limits](trust/operators.md#limits)",
    "max_body_bytes": "[large requests](trust/operators.md#large-requests)",
    "max_bytes_in_flight": "[large requests](trust/operators.md#large-requests)",
    "nested_agents": "[sub-agents](sub-agents.md#the-option)",
    "on_audit": "[the audit trail](trust/auditors.md#the-audit-trail)",
    "on_busy": "[a busy chat](durable.md#a-busy-chat)",
    "on_error": "[when it fails](errors.md)",
    "recorder": "[record](recording.md#record)",
    "run_log": "[several workers](durable.md#several-workers)",
    "session_service": "[persistence](persistence.md)",
    "shared_state": "[shared state](page-values.md#shared-state)",
    "tool_titles": "[titles](tool-progress.md#titles)",
}
"""Option -> page about it."""

ON_ITS_PAGE: Final = frozenset(
    {
        *("truncated_history", "identify", "limits", "max_body_bytes", "on_audit", "on_busy", "run_log"),
        *("nested_agents", "context", "shared_state", "max_bytes_in_flight"),
        *("allow_origins", "artifact_links", "session_service"),
        *ServiceLimits.__annotations__.keys() - {"disconnect_grace", "stop_timeout", "hook_timeout"},
        *("connections", "head_seconds", "body_seconds", "write_seconds", "max_backlog"),
    }
)
"""Options whose page has all details. This page then has only the first paragraph of their text."""

HEAD: Final = """\
# Options

All options of the Python API. Sizes are in bytes and times in seconds, unless another unit is given. The command line
has [its own options](cli.md).

| You configure | Section |
|---|---|
| the stream: versions, reasoning, sources, hidden tools | [the converter](#of-the-converter) |
| chats and runs: storage, history, limits, hooks | [`ChatService`](#of-chatservice) |
| routes: users, CORS, body sizes | [`chat_router`](#of-chat_router) |
| a whole app; your own routes | [`create_app`](#of-create_app), [`ChatEndpoints`](#of-chatendpoints) |
| one request | [`RunOverrides`](#runoverrides) |
| limits of users and files | [`ServiceLimits`](#servicelimits), [`FilePolicy`](#filepolicy) |
| limits of responses and connections | [`LogBounds`](#logbounds), [`ServerLimits`](#serverlimits) |
| several workers | [`RedisRunLog`](#redisrunlog), [`PostgresRunLog`](#postgresrunlog) |
| recordings | [`ChatRecorder`](#chatrecorder) |
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
            more = f" See {READ_MORE[name]}." if name in READ_MORE else ""
            shown = text.partition("<br><br>")[0] if name in ON_ITS_PAGE else text
            rows.append(f"| `{name}` | {default} | {shown}{more} |")
    if rows:
        lines += ["| Option | Default | |", "|---|---|---|", *rows, ""]
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
            yield name, _markdown(told.partition("\n\n")[0])


def _markdown(text: str) -> str:
    """Return the text as one line for a cell of a table."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    line = "<br><br>".join(paragraphs).replace("``", "`").replace("|", "\\|").replace(" -> ", " → ")
    line = _DEFAULT_IN_TEXT.sub(r"\1", line).strip().removesuffix("<br><br>")
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
