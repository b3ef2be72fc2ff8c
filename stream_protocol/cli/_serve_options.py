"""The options of ``serve``, each declared once: on the command line, or in the project's ``pyproject.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import click

from stream_protocol.cli._command_options import (
    FILE,
    FOLDER,
    AiSdk,
    HeaderName,
    Origin,
    Pace,
    Seconds,
)
from stream_protocol.cli._program import refuse

SETTINGS: Final = Path("pyproject.toml")
"""The file of the further options, in the current folder."""

TABLE: Final = ("tool", "adk-ui-stream", "serve")
"""The path of the options in that file."""

_DECLARED: Final = "option"


def _option(
    *names: str,
    section: str | None = None,
    beside_replay: bool = False,
    common: bool = False,
    in_file: bool = False,
    **declared: Any,
) -> Any:
    """Declare an option. ``names``: names that do not follow from the field's name. ``declared``: arguments for click.

    ``section``: the heading above it in the help. ``beside_replay``: it can be combined with ``--replay``. ``in_file``:
    it is in the file, and not on the command line. ``common``: it is in the short help.
    """
    about = {"names": names, "section": section, "beside_replay": beside_replay, "common": common, "in_file": in_file}
    return field(metadata={_DECLARED: about, "click": declared})


def _in_file(*, default: Any = None, **declared: Any) -> Any:
    return _option(in_file=True, default=default, **declared)


_COUNT: Final[Mapping[str, Any]] = {"type": click.IntRange(min=1), "show_default": True}


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of ``serve``, without its target. It can be sent to another process."""

    host: str = _option(
        common=True,
        section="Address and users",
        beside_replay=True,
        default="127.0.0.1",
        show_default=True,
        metavar="ADDRESS",
        help="Address to listen on; 0.0.0.0 accepts other machines.",
    )
    port: int = _option(
        common=True,
        beside_replay=True,
        type=click.IntRange(0, 65535),
        metavar="PORT",
        default=8000,
        show_default=True,
        help="0 chooses a free port.",
    )
    user_header: str | None = _option(
        type=HeaderName(), metavar="NAME", help="Header with the user's name, set by a proxy in front; 401 without it."
    )
    allowed_hosts: tuple[str, ...] = _option(
        "--allowed-host",
        beside_replay=True,
        metavar="NAME",
        multiple=True,
        help="Host name that the server answers to, besides loopback's: chat.example, or .chat.example "
        "for all below it; repeatable.  [default: none on a loopback --host without --user-header, else any]",
    )
    origins: tuple[str, ...] = _option(
        "--cors-origin",
        common=True,
        beside_replay=True,
        type=Origin(),
        metavar="ORIGIN",
        multiple=True,
        help="Allowed origin of a page on another host: https://app.example; repeatable.",
    )
    page: bool = _option(
        "--page/--no-page",
        section="Page",
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
        help="Version of the client's `ai`: 6, 7 or a full one.",
    )
    inspect: bool = _option(
        common=True,
        beside_replay=True,
        is_flag=True,
        help="Add the Inspector to the page: each ADK event and its chunks. For developers.",
    )
    reload: bool = _option(
        common=True,
        section="While you work on the agent",
        is_flag=True,
        help="Reload the agent when one of its files changes. Chats in memory are lost. While the agent cannot "
        "be loaded, requests get 503 with the reason.",
    )
    session_service_uri: str | None = _option(
        common=True,
        section="Chats",
        metavar="URI",
        help="Store of the chats: sqlite:///chat.db, postgresql://user@host/db, …  [default: memory]",
    )
    drain: float = _option(
        type=Seconds(),
        default=30.0,
        show_default=True,
        help="Seconds that runs continue after SIGTERM, while no new ones begin; a second signal ends them.",
    )
    workers: int = _option(
        section="Many workers",
        metavar="N",
        default=1,
        help="Number of processes that serve one address; a dead one is replaced. Several need --run-log "
        "and a store of chats.",
        **_COUNT,
    )
    run_log_url: str | None = _option(
        "--run-log",
        metavar="URL",
        help="Store of the running responses, shared by all workers: redis://host:6379/0, postgresql://user@host/db, …",
    )
    durable_url: str | None = _option(
        "--durable",
        metavar="URL",
        help="Recover the runs of a dead worker, with DBOS: postgresql://user@host/db, sqlite:///runs.db.",
    )
    record_folder: str | None = _option(
        "--record",
        common=True,
        section="Logs and recordings",
        metavar="DIR",
        type=FOLDER,
        help="Record each chat in a file in DIR: see docs/recording.md. The files have users' messages.",
    )
    metrics: bool = _option(
        section="What operators see",
        is_flag=True,
        help="Serve Prometheus metrics at /metrics, without authentication: see docs/monitoring.md.",
    )
    log_format: Literal["text", "json"] = _option(
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="json: a line of JSON for each record, with the ids of chat, run, user and trace, "
        "without texts of messages.",
    )
    verbosity: Literal["quiet", "normal", "verbose"] = _option(
        "--verbose/--quiet",
        common=True,
        beside_replay=True,
        default=None,
        callback=lambda context, option, value: {True: "verbose", None: "normal", False: "quiet"}[value],
        help="Print the tracebacks of errors, not only their causes; or, on a terminal, no line for each run.",
    )
    recordings: str | None = _option(
        "--replay",
        common=True,
        section="Recordings instead of an agent",
        beside_replay=True,
        metavar="FILE|DIR",
        type=FILE,
        help="Answer from recordings, without an agent.",
    )
    session: str | None = _option(
        beside_replay=True, metavar="ID", help="Session to use, in a store or an evalset with several."
    )
    pace: float = _option(
        beside_replay=True,
        type=Pace(held=0.0),
        default="instant",
        show_default=True,
        help="instant; recorded; a factor such as 4 or 0.5; or held until /__replay/CHAT/step.",
    )
    audit_file: str | None = _in_file(
        name="audit",
        type=FILE,
        help="Append a line for each approval, denial, answer, sign-in, stop and deletion to this file: see "
        "docs/trust.md.",
    )
    disconnect_grace: float | None = _in_file(
        type=Seconds(),
        help="Seconds that a run continues after its last reader has left; 0 stops it at once.  [default: to its end]",
    )
    history_cut: Literal["append", "rewind"] = _in_file(
        type=click.Choice(["append", "rewind"]),
        default="append",
        show_default=True,
        help="If the client sends fewer messages than are stored: append the new one, or rewind the chat first.",
    )
    idempotent_tools: tuple[str, ...] = _in_file(
        multiple=True, help="With --durable: tools that may run again if they began and did not end."
    )
    lease: float = _in_file(
        type=Seconds(min_open=True),
        default=15.0,
        show_default=True,
        help="With --run-log: seconds until a dead worker loses its chats.",
    )
    log_whole: tuple[str, ...] = _in_file(
        multiple=True, help="With --log-format json: loggers whose full messages are written."
    )
    max_connections: int = _in_file(
        default=1000, help="The most connections at once; fewer if the process may open fewer files.", **_COUNT
    )
    max_runs: int = _in_file(default=300, help="Runs at once, of all users; one more is refused (503).", **_COUNT)
    max_runs_per_user: int = _in_file(
        default=50, help="Runs at once, of one user; one more is refused (429).", **_COUNT
    )
    requests_per_minute: int = _in_file(
        default=1200, help="Requests of one user, of all kinds; more are refused (429).", **_COUNT
    )
    run_log_prefix: str | None = _in_file(
        help="With --run-log: begins all names there. Deployments that share a Redis or a database need one each."
        "  [default: adk-ui-stream, in PostgreSQL adk_ui_stream]"
    )
    show_errors: bool = _in_file(
        default=False,
        is_flag=True,
        help="Show the cause of an error on the page, too. All users can read it.",
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
    """Return the options of the command line, in the order of the help. ``names``: those fields alone."""
    return [option for declared, option in _options(in_file=False) if names is None or declared.name in names]


def file_options() -> dict[str, click.Option]:
    """Return the options of the file by their keys."""
    return {option.opts[0].removeprefix("--"): option for _, option in _options(in_file=True)}


def sections() -> dict[str, str]:
    """Return the headings of the help, by the first option below each."""
    headings = {option.opts[0]: declared.metadata[_DECLARED]["section"] for declared, option in _options(in_file=False)}
    return {**{option: heading for option, heading in headings.items() if heading}, "--help": "Help"}


COMMON: Final = frozenset(each.name for each in fields(ServeOptions) if each.metadata[_DECLARED]["common"])
"""The options that the short help has."""


BESIDE_REPLAY: Final = frozenset(
    each.name for each in fields(ServeOptions) if each.metadata[_DECLARED]["beside_replay"]
)
"""The options that ``--replay`` has, too."""


def read_options(context: click.Context, command_line: Mapping[str, Any]) -> ServeOptions:
    """Return the options of the command line and of the file. Ends the process if the file has a wrong one."""
    table = _table()
    known = file_options()
    for key in table:
        if key not in known:
            _refuse(_unknown(key, known))
    values = {option.name: _value(context, key, option, table) for key, option in known.items()}
    return ServeOptions(**command_line, **values)


def default_options(**given: Any) -> ServeOptions:
    """Return the given options, and the defaults of all others. The file is not read."""
    every: list[click.Parameter] = [option for in_file in (False, True) for _, option in _options(in_file=in_file)]
    defaults = click.Command("serve", params=every).make_context("serve", []).params
    return ServeOptions(**{**defaults, **given})


def _value(context: click.Context, key: str, option: click.Option, table: Mapping[str, Any]) -> Any:
    given = {}
    if key in table:
        value = table[key]
        if option.multiple != isinstance(value, list) or option.is_flag != isinstance(value, bool):
            _refuse(f"{key} must be {_kind(option)}")
        given = {option.name: value}
    try:
        value, _ = option.handle_parse_result(context, given, [])
    except (click.BadParameter, TypeError) as error:
        _refuse(f"{key}: {error.message if isinstance(error, click.BadParameter) else error}")
    return value


def _kind(option: click.Option) -> str:
    if option.multiple:
        return 'a list, such as ["first", "second"]'
    return "true or false" if option.is_flag else "one value"


def _unknown(key: str, known: Mapping[str, click.Option]) -> str:
    on_command_line = [name for option in command_line_options() for name in option.opts]
    if f"--{key}" in on_command_line:
        return f"{key} is not an option of the file: write --{key} on the command line"
    return f"there is no option {key}: there are {', '.join(known)}"


def _table() -> Mapping[str, Any]:
    """Return the table of the file; an empty one if there is none."""
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
