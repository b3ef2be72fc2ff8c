"""The options of ``serve``, from the command line and from ``pyproject.toml`` in the current folder."""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import click

from stream_protocol.cli._command_options import (
    AI_SDK_HELP,
    FILE,
    FOLDER,
    AiSdk,
    AttributeName,
    Count,
    HeaderName,
    Host,
    Origin,
    Pace,
    Port,
    Seconds,
)
from stream_protocol.cli._program import refuse

SETTINGS: Final = Path("pyproject.toml")
"""The file in the current folder with options that the command line lacks."""

TABLE: Final = ("tool", "adk-ui-stream", "serve")
"""The path of the table with the options in the file ``SETTINGS``."""

_DECLARED: Final = "option"

_SIMPLE: Final = (str, int, float)
"""Types of a single value in the file. TOML also has dates and tables."""


def _option(
    *names: str,
    section: str | None = None,
    beside_replay: bool = False,
    common: bool = False,
    in_file: bool = False,
    **declared: Any,
) -> Any:
    """Declare an option of ``serve`` as a dataclass field. ``declared``: arguments for ``click.Option``.

    ``names``: the names of the option, if they differ from the field's name. ``section``: the heading directly above
    the option in the help; ``None`` if there is no heading directly above it. ``beside_replay``: True if the option can
    be combined with ``--replay``. ``common``: True if ``-h`` shows the option. ``in_file``: True if the option is only
    read from ``pyproject.toml``.
    """
    about = {"names": names, "section": section, "beside_replay": beside_replay, "common": common, "in_file": in_file}
    return field(metadata={_DECLARED: about, "click": declared})


def _in_file(*, default: Any = None, **declared: Any) -> Any:
    return _option(in_file=True, default=default, **declared)


_COUNT: Final[Mapping[str, Any]] = {"type": Count(), "show_default": True}


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The values of all options of ``serve``. The object can be pickled for a child process."""

    host: str = _option(
        common=True,
        section="Address and users",
        beside_replay=True,
        type=Host(),
        default="127.0.0.1",
        show_default=True,
        metavar="ADDRESS",
        help="Address to listen on; 0.0.0.0 accepts other machines.",
    )
    port: int = _option(
        common=True,
        beside_replay=True,
        type=Port(),
        metavar="PORT",
        default=8000,
        show_default=True,
        help="0 chooses a free port.",
    )
    user_header: str | None = _option(
        type=HeaderName(),
        metavar="NAME",
        help="Header in which your proxy sends the user's name; requests without this header get 401.",
    )
    allowed_hosts: tuple[str, ...] = _option(
        "--allowed-host",
        beside_replay=True,
        metavar="NAME",
        multiple=True,
        help="Host header to accept besides localhost, such as chat.example; repeatable.  "
        "[default: only localhost; all hosts if other machines can reach --host, or a proxy sends the user's name]",
    )
    origins: tuple[str, ...] = _option(
        "--cors-origin",
        common=True,
        beside_replay=True,
        type=Origin(),
        metavar="ORIGIN",
        multiple=True,
        help="Origin of a page that may use the API, such as https://app.example; repeatable.",
    )
    page: bool = _option(
        "--page/--no-page",
        section="Page and development",
        beside_replay=True,
        default=True,
        show_default=True,
        help="Serve the chat page at /.",
    )
    opens_page: bool = _option(
        "--open", common=True, beside_replay=True, is_flag=True, help="Open the page in the browser."
    )
    ai_sdk: Literal[6, 7] | str = _option(
        beside_replay=True,
        type=AiSdk(),
        default="6",
        show_default=True,
        metavar="VERSION",
        help=AI_SDK_HELP,
    )
    inspect: bool = _option(
        common=True,
        beside_replay=True,
        is_flag=True,
        help="Show each ADK event and its chunks on the page, for developers.",
    )
    reload: bool = _option(
        common=True,
        is_flag=True,
        help="Reload the agent when its files change. Chats in memory are lost.",
    )
    session_service_uri: str | None = _option(
        common=True,
        section="Chats and workers",
        metavar="URI",
        help="Store of the chats: sqlite:///chat.db, postgresql://user@host/db, …  [default: memory]",
    )
    drain: float = _option(
        type=Seconds(),
        default=30.0,
        help="Seconds that runs may continue after SIGTERM: see 'Operations' in the docs.  [default: 30]",
    )
    workers: int = _option(
        metavar="N",
        default=1,
        help="Number of processes. Several processes need --run-log and --session-service-uri.",
        **_COUNT,
    )
    run_log_url: str | None = _option(
        "--run-log",
        metavar="URL",
        help="Store of running responses of all workers: redis://host:6379/0, postgresql://user@host/db, …",
    )
    durable_url: str | None = _option(
        "--durable",
        metavar="URL",
        help="Database of DBOS, which finishes the runs of dead workers: postgresql://user@host/db or sqlite:///runs.db.",
    )
    record_folder: str | None = _option(
        "--record",
        common=True,
        section="Recordings and monitoring",
        metavar="DIR",
        type=FOLDER,
        help="Record each chat in a file in DIR, with the user's messages: see 'Recordings' in the docs.",
    )
    metrics: bool = _option(
        is_flag=True,
        help="Serve Prometheus metrics at /metrics, without authentication: see 'Monitoring' in the docs.",
    )
    log_format: Literal["text", "json"] = _option(
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="json: one JSON object for each record, without texts of chats.",
    )
    verbosity: Literal["quiet", "normal", "verbose"] = _option(
        "--verbose/--quiet",
        common=True,
        beside_replay=True,
        default=None,
        callback=lambda context, option, value: {True: "verbose", None: "normal", False: "quiet"}[value],
        help="--verbose prints the tracebacks of errors. --quiet omits the line for each run.",
    )
    recordings: str | None = _option(
        "--replay",
        common=True,
        section="Recordings instead of an agent",
        beside_replay=True,
        metavar="FILE|DIR",
        type=FILE,
        help="Replay recordings instead of running an agent.",
    )
    session: str | None = _option(
        beside_replay=True, metavar="ID", help="Session to use, if the file has several sessions."
    )
    pace: float = _option(
        beside_replay=True,
        type=Pace(held=0.0),
        default="instant",
        show_default=True,
        help="instant, recorded, a factor such as 4 or 0.5, or held. With held, each POST to /__replay/CHAT/step "
        "lets the server send the chat's next chunks.",
    )
    audit_file: str | None = _in_file(
        name="audit",
        type=FILE,
        help="File that gets a line for each approval and denial: see 'Security' in the docs.",
    )
    disconnect_grace: float | None = _in_file(
        type=Seconds(),
        help="Seconds after which a run without a connected client is stopped.  [default: never]",
    )
    truncated_history: Literal["append", "rewind"] = _in_file(
        type=click.Choice(["append", "rewind"]),
        default="append",
        show_default=True,
        help="If the client sends fewer messages than are stored: append keeps all stored messages, rewind removes "
        "those that the client lacks. See 'Durable runs' in the docs.",
    )
    on_busy: Literal["interrupt", "steer", "reject"] = _in_file(
        type=click.Choice(["interrupt", "steer", "reject"]),
        default="interrupt",
        show_default=True,
        help="Effect of a new message at /api/chat during a run: interrupt, steer or reject. "
        "See 'Durable runs' in the docs.",
    )
    while_busy: Literal["queue", "steer", "interrupt"] = _in_file(
        type=click.Choice(["queue", "steer", "interrupt"]),
        default="queue",
        show_default=True,
        help="Effect of a message that is sent in the built-in page during a response: queue, steer or interrupt. "
        "See 'Talk to a running agent' in the docs.",
    )
    context: str | None = _in_file(
        type=AttributeName(),
        help="Your PageContext, as module:attr: see 'Context and shared state' in the docs.",
    )
    shared_state: str | None = _in_file(
        type=AttributeName(),
        help="Your SharedState, as module:attr: see 'Context and shared state' in the docs.",
    )
    idempotent_tools: tuple[str, ...] = _in_file(
        multiple=True, help="With --durable: tools that may run again after a crash."
    )
    lease: float = _in_file(
        type=Seconds(min_open=True),
        default=15.0,
        help="With --run-log: seconds after which other workers take over the chats of a dead worker.  [default: 15]",
    )
    log_whole: tuple[str, ...] = _in_file(
        multiple=True,
        help="Loggers whose records --log-format json writes whole, with arguments and exception texts.",
    )
    max_connections: int = _in_file(default=1000, help="Maximum number of open connections.", **_COUNT)
    max_runs: int = _in_file(default=300, help="Maximum number of active runs of all users.", **_COUNT)
    max_runs_per_user: int = _in_file(default=50, help="Maximum number of active runs of one user.", **_COUNT)
    requests_per_minute: int = _in_file(
        default=1200,
        help="Maximum number of requests of one user in a minute. Stop requests are not counted.",
        **_COUNT,
    )
    run_log_prefix: str | None = _in_file(
        help="With --run-log: prefix of keys or tables, for deployments that share a store.  "
        "[default: adk-ui-stream, in PostgreSQL adk_ui_stream]"
    )
    show_errors: bool = _in_file(
        default=False,
        is_flag=True,
        help="Show the cause of an error on the page. All users can read the cause.",
    )


def _click_option(declared: Field[Any]) -> click.Option:
    about, arguments = declared.metadata[_DECLARED], dict(declared.metadata["click"])
    key = arguments.pop("name", declared.name)
    return click.Option([declared.name, *(about["names"] or ["--" + key.replace("_", "-")])], **arguments)


def _options(*, in_file: bool) -> Iterator[tuple[Field[Any], click.Option]]:
    for declared in fields(ServeOptions):
        if declared.metadata[_DECLARED]["in_file"] == in_file:
            yield declared, _click_option(declared)


def command_line_options(names: Container[str] | None = None) -> list[click.Parameter]:
    """Return the options of the command line, in the order of the help. ``names``: the names of the options to return;
    ``None`` for all.
    """
    return [option for declared, option in _options(in_file=False) if names is None or declared.name in names]


def file_options() -> dict[str, click.Option]:
    """Return the options that exist only in ``pyproject.toml``. The keys of the result are the keys in the file."""
    return {option.opts[0].removeprefix("--"): option for _, option in _options(in_file=True)}


def sections() -> dict[str, str]:
    """Return the headings of the help's sections. The key of a heading is the first option of its section."""
    headings = {option.opts[0]: declared.metadata[_DECLARED]["section"] for declared, option in _options(in_file=False)}
    return {**{option: heading for option, heading in headings.items() if heading}, "-h": "Help"}


COMMON: Final = frozenset(each.name for each in fields(ServeOptions) if each.metadata[_DECLARED]["common"])


BESIDE_REPLAY: Final = frozenset(
    each.name for each in fields(ServeOptions) if each.metadata[_DECLARED]["beside_replay"]
)


def read_options(context: click.Context, command_line: Mapping[str, Any]) -> ServeOptions:
    """Return the values of all options. ``command_line``: the values from the command line. The other values come from
    ``pyproject.toml``. If this file has an invalid option, the process ends with exit code 2.
    """
    table = _table()
    known = file_options()
    for key in table:
        if key not in known:
            _refuse(_unknown(key, known))
    values = {option.name: _value(context, key, option, table) for key, option in known.items()}
    return ServeOptions(**command_line, **values)


def default_options(**given: Any) -> ServeOptions:
    """Return the values of all options. An option that is not in ``given`` has its default. Does not read
    ``pyproject.toml``.
    """
    every: list[click.Parameter] = [option for in_file in (False, True) for _, option in _options(in_file=in_file)]
    defaults = click.Command("serve", params=every).make_context("serve", []).params
    return ServeOptions(**{**defaults, **given})


def _value(context: click.Context, key: str, option: click.Option, table: Mapping[str, Any]) -> Any:
    given = {}
    if key in table:
        value = table[key]
        items = value if isinstance(value, list) else [value]
        is_kind = option.multiple == isinstance(value, list) and option.is_flag == isinstance(value, bool)
        if not is_kind or not all(isinstance(item, _SIMPLE) for item in items):
            _refuse(f"{key} must be {_kind(option)}")
        given = {option.name: value}
    try:
        value, _ = option.handle_parse_result(context, given, [])
    except click.BadParameter as error:
        _refuse(f"{key}: {error.message}")
    return value


def _kind(option: click.Option) -> str:
    if option.multiple:
        return 'a list, such as ["first", "second"]'
    return "true or false" if option.is_flag else "a single value"


def _unknown(key: str, known: Mapping[str, click.Option]) -> str:
    on_command_line = [name for option in command_line_options() for name in option.opts]
    if f"--{key}" in on_command_line:
        return f"{key} is an option of the command line: remove it here and pass --{key}"
    return f"unknown option {key}: use one of {', '.join(known)}"


def _table() -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        refuse(f"cannot read {SETTINGS}: {error}")
    for name in TABLE:
        found = found.get(name, {})
        if not isinstance(found, dict):
            refuse(f"{SETTINGS}: {'.'.join(TABLE)} must be a table")
    return found


def _refuse(text: str) -> NoReturn:
    refuse(f"{SETTINGS}, [{'.'.join(TABLE)}]: {text}")
