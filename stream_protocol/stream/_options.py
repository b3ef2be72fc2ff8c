"""The converter's options, with their defaults and checks. Recordings store the options as JSON."""

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, Literal, TypedDict, Unpack, cast, get_args

from stream_protocol.adk import Blob
from stream_protocol.stream._endings import DEFAULT_ERROR_TEXT, RunLimitError
from stream_protocol.stream._media import ArtifactUrl, DataUrl
from stream_protocol.wire import (
    AiSdkOption,
    Transform,
    check_callable,
    check_choice,
    check_flag,
    check_mapping,
    check_option_names,
    check_texts,
    client_version,
    json_value,
    to_well_formed,
)

logger = logging.getLogger(__name__)

NestedAgents = Literal["nested", "flat", "hidden"]
"""The ways to show an agent that is called as a tool: see ``ConverterOptions.nested_agents``."""

ToolSelection = Collection[str] | Callable[[str], bool] | Literal["all"]
"""A selection of tools: their names, a function that takes a name, or all tools."""

NESTED_AGENTS: Final = get_args(NestedAgents)

CONTROL_TOOLS = frozenset({"transfer_to_agent", "set_model_response", "exit_loop", "finish_task"})
"""ADK's tools that control agents. Their calls are never shown."""


class ConverterOptions(TypedDict, total=False):
    """Keyword options of ``StreamProtocolConverter`` and of all functions that convert events."""

    ai_sdk: AiSdkOption
    """Version of the client's ``ai`` package: 6, 7, or a full version such as ``"7.0.120"``.

    A v7 client also accepts a stream for v6. A v6 client fails on some chunks of v7. ``7`` means 7.0.32. With a full
    version, the stream may have all chunks and keys of this version.
    """
    send_reasoning: bool
    """Send the model's thoughts as ``reasoning-*``. True by default.

    Gemini sends thoughts only if the agent asks for them.
    """
    send_sources: bool
    """Send sources: ``source-*`` parts, citations, and Google's search suggestions. True by default.

    Google's terms require the suggestions.
    """
    send_state: bool | Collection[str]
    """Send changes of the session state as ``data-adk-state``. A list names the keys to send. False by default."""
    hidden_tools: ToolSelection
    """Tools whose calls are not sent, except calls that request an approval.

    ADK's control tools are always hidden: ``transfer_to_agent``, ``set_model_response``, ``exit_loop`` and
    ``finish_task``.

    With ``nested_agents="flat"``, ``ChatService`` also hides the calls that start task-mode agents. Without a
    ``ChatService``, pass the names that ``stream_protocol.serving.task_agent_tools(agent)`` returns.
    """
    nested_agents: NestedAgents | Mapping[str, NestedAgents]
    """Display of agents that are called as tools.

    ``"nested"`` (default): in the call. ``"flat"``: as parts of the message. ``"hidden"``: not at all. A mapping from
    a tool's name to a value sets the option for some tools.

    The output of a nested call is a message: ``{"id", "role": "assistant", "parts", "metadata"}``. Preliminary outputs
    have the message so far. ``metadata.result`` of the final output is the tool's result.
    """
    dynamic_tools: ToolSelection
    """Tools that the frontend does not know, such as tools of an MCP server. Their calls are sent as ``dynamic-tool``
    parts.

    Other calls are static parts (``tool-NAME``).
    """
    tool_titles: Mapping[str, str]
    """Tool name -> its displayed title. Empty by default.

    With a ``ChatService``, a tool that is not in this mapping has the title that ``@for_users`` declares, or the title
    from its MCP server.
    """
    tool_schemas: Mapping[str, Any]
    """Tool name -> JSON schema of its parameters. Empty by default. Needed if a call
    streams its arguments before the tool's name.

    For such a call, the converter compares the streamed parameters with the schemas. It finds the tool only if exactly
    one tool has these parameters.
    """
    artifact_url: ArtifactUrl | None
    """Function that takes an artifact's name and version, and returns its URL. The chat routes set this option.

    A file that is saved as an artifact is then sent as a URL instead of Base64, and ``data-adk-artifact`` has a
    ``url``. The name of a streamed file's artifact comes only with the event that ends the
    streaming. Until then, the converter holds the file and all later chunks.
    """
    transform: Transform | None
    """Function that takes a chunk, and returns the chunk, several chunks, or ``None`` to drop the chunk.

    The ``*_sse`` functions are slower with this option.
    """
    on_error: Callable[[BaseException], str]
    """Function that takes an error, and returns the text for the client.

    The default text is "An error occurred.", except for a ``RunLimitError``. For development, use ``explain_error`` of
    ``stream_protocol.serving``. A failure that an ADK event reports is an ``AgentRunError`` with a ``code``. The call
    of a tool that raises always has the text "The tool failed.".
    """
    message_metadata: Callable[[dict[str, Any]], dict[str, Any] | None]
    """Function that takes the metadata of the message (``usage``, ``modelId``), and returns changed metadata.

    The ``finish`` chunk has the returned metadata.
    """


def masked_error_text(error: BaseException) -> str:
    """Return the default error text for the client. For a ``RunLimitError``, this is the error's own text."""
    return str(error) if isinstance(error, RunLimitError) else DEFAULT_ERROR_TEXT


def _unchanged(metadata: dict[str, Any]) -> dict[str, Any]:
    return metadata


DEFAULTS: Final[ConverterOptions] = {
    "ai_sdk": 6,
    "send_reasoning": True,
    "send_sources": True,
    "send_state": False,
    "hidden_tools": (),
    "nested_agents": "nested",
    "dynamic_tools": (),
    "tool_titles": {},
    "tool_schemas": {},
    "artifact_url": None,
    "transform": None,
    "on_error": masked_error_text,
    "message_metadata": _unchanged,
}


class Settings:
    """The options of a conversion, after validation and with defaults.

    Raises ``StreamProtocolError`` for an invalid value, and ``TypeError`` for an unknown option.
    """

    __slots__ = ("client", "options")

    def __init__(self, **options: Unpack[ConverterOptions]) -> None:
        check_option_names(options, _CHECKS)
        for name, value in options.items():
            _CHECKS[name](name, value)
        self.options: Final[ConverterOptions] = {**DEFAULTS, **options} if options else DEFAULTS
        """Each option has a value."""
        self.client: Final = client_version(self.options["ai_sdk"])

    def hides(self, tool: str) -> bool:
        return tool in CONTROL_TOOLS or _selects(self.options["hidden_tools"], tool)

    def nested_agents(self, tool: str) -> NestedAgents:
        return _nested_agents(self.options["nested_agents"], tool)

    def nests(self, tool: str) -> bool:
        """``tool`` starts an agent. Return True if the message of this agent is shown in the outputs of the tool's
        calls.
        """
        return self.nested_agents(tool) == "nested" and not self.hides(tool)

    @property
    def nested(self) -> "Settings":
        """The settings for agents inside tool calls. They have no hook ``transform``, because the outer conversion
        calls the hook for the agents' messages.
        """
        if self.options["transform"] is None:
            return self
        return Settings(**cast("ConverterOptions", {**self.options, "transform": None}))

    def is_dynamic(self, tool: str) -> bool:
        return _selects(self.options["dynamic_tools"], tool)

    def file_url(self, file: Blob) -> str:
        """Return a data URL with the bytes of the file."""
        return str(DataUrl(file.media_type, file.data))

    def error_text(self, error: BaseException) -> str:
        """Return the text that the client gets for this error. If the option ``on_error`` raises, returns the default
        text.
        """
        try:
            text = self.options["on_error"](error)
            return to_well_formed(str.__str__(text))  # raises for anything but text
        except Exception:
            logger.exception("`on_error` raised")
            return DEFAULT_ERROR_TEXT


def _check_tools(name: str, value: object) -> None:
    if callable(value):
        check_callable(name, value, ("tool_name",), plain=True)
    elif value != "all":
        check_texts(name, value, expected='a list of names, a function of a name, or "all"')


def _check_keys(name: str, value: object) -> None:
    if not isinstance(value, bool):
        check_texts(name, value, expected="True, False or a list of state keys")


def _check_nested(name: str, value: object) -> None:
    if isinstance(value, Mapping):
        check_mapping(name, value, of_texts=True)
        for tool, chosen in value.items():
            check_choice(f"{name}[{tool!r}]", chosen, NESTED_AGENTS)
    else:
        check_choice(name, value, NESTED_AGENTS)


def _check_version(_name: str, value: object) -> None:
    client_version(value)


_CHECKS: Final[Mapping[str, Callable[[str, object], None]]] = {
    "ai_sdk": _check_version,
    "send_reasoning": check_flag,
    "send_sources": check_flag,
    "send_state": _check_keys,
    "hidden_tools": _check_tools,
    "nested_agents": _check_nested,
    "dynamic_tools": _check_tools,
    "tool_titles": partial(check_mapping, of_texts=True),
    "tool_schemas": check_mapping,
    "artifact_url": partial(check_callable, arguments=("name", "version"), plain=True, or_none=True),
    "transform": partial(check_callable, arguments=("chunk",), plain=True, or_none=True, may_yield=True),
    "on_error": partial(check_callable, arguments=("error",), plain=True),
    "message_metadata": partial(check_callable, arguments=("metadata",), plain=True),
}
"""Name of an option -> function that validates its value."""


def _selects(selection: ToolSelection, tool: str) -> bool:
    if callable(selection):
        return bool(selection(tool))
    return selection == "all" or tool in selection


def hide_task_agents(tools: Collection[str] | Callable[[str], bool], options: ConverterOptions) -> ConverterOptions:
    """Return a copy of the options in which ``hidden_tools`` also contains the tools that start task-mode agents. A
    tool is added only if the option ``nested_agents`` is ``"flat"`` for it.

    ``tools``: the names of the tools that start task-mode agents, or a function that returns True for such a name.
    Raises ``StreamProtocolError`` for invalid options.
    """
    hidden = options.get("hidden_tools", ())
    _check_tools("hidden_tools", hidden)
    chosen = options.get("nested_agents", DEFAULTS["nested_agents"])
    _check_nested("nested_agents", chosen)
    if isinstance(hidden, str) or "flat" not in ((chosen,) if isinstance(chosen, str) else chosen.values()):
        return options
    if callable(tools) or callable(hidden):
        return {
            **options,
            "hidden_tools": lambda tool: (
                _selects(hidden, tool) or (_nested_agents(chosen, tool) == "flat" and _selects(tools, tool))
            ),
        }
    flat = {tool for tool in tools if _nested_agents(chosen, tool) == "flat"}
    return {**options, "hidden_tools": flat.union(hidden)} if flat else options


def _nested_agents(chosen: NestedAgents | Mapping[str, NestedAgents], tool: str) -> NestedAgents:
    return chosen if isinstance(chosen, str) else chosen.get(tool, "nested")


_JSON_TYPES: Final[Mapping[type, tuple[type, ...]]] = {
    int: (int,),
    bool: (bool,),
    tuple: (list, str),
    dict: (dict,),
    str: (str, dict),
}
"""Type of an option's default -> valid types of its value in JSON. Other options are not stored."""


def options_to_json(options: ConverterOptions) -> dict[str, Any]:
    """Return the options as JSON. Options whose value is a function are left out."""
    plain: dict[str, Any] = {}
    for name, value in options.items():
        match value:
            case bool() | int() | str():
                plain[name] = value
            case Mapping() if value:
                plain[name] = json_value(value, lossy=True)
            case set() | frozenset() | list() | tuple() if value:
                plain[name] = sorted(value)
    return plain


def options_from_json(recorded: Mapping[str, Any]) -> ConverterOptions:
    """Return the options from the JSON of ``options_to_json``. Omits unknown options, and values of a wrong type."""
    types = {name: _JSON_TYPES.get(type(default), ()) for name, default in DEFAULTS.items()} | {"ai_sdk": (int, str)}
    return cast(
        "ConverterOptions", {name: recorded[name] for name in types if isinstance(recorded.get(name), types[name])}
    )
