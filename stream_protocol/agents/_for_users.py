"""``for_users``: what a tool declares for the users who see its card."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from google.adk.tools import BaseTool

from stream_protocol.adk import ApprovalNote
from stream_protocol.wire import InvalidArgumentError, argument_error, check_callable, check_text, json_value, shown

logger = logging.getLogger(__name__)

_ATTRIBUTE: Final = "__adk_ui_stream_for_users__"

T = TypeVar("T", bound=Callable[..., Any] | BaseTool)

OfArguments: TypeAlias = Callable[[dict[str, Any]], Any]
"""Makes a value of the arguments of a call."""


class _Declaration(NamedTuple):
    title: str | None
    approval_reason: str | OfArguments | None
    approval_descriptor: Any


_NOTHING: Final = _Declaration(None, None, None)


def for_users(
    *,
    title: str | None = None,
    approval_reason: str | OfArguments | None = None,
    approval_descriptor: Any | OfArguments = None,
) -> Callable[[T], T]:
    """Declares what users see of a tool: ``@for_users(title="Pay an invoice")`` on its function, or for a ``BaseTool``.

    ``title``: the name on the card. ``approval_reason``: why the tool asks before it runs. ``approval_descriptor``: any
    JSON that the page's own approval card needs. Both may be functions of the call's arguments. The reason should say
    what will happen, in the words of the user. A ``ChatService`` sends all of it; ADK's ``hint`` is for programmers.

    Raises ``StreamProtocolError`` for values of other types.
    """
    check_text("title", title, or_none=True)
    if callable(approval_reason):
        check_callable("approval_reason", approval_reason, ("args",), plain=True)
    else:
        check_text("approval_reason", approval_reason, or_none=True)
    if callable(approval_descriptor):
        check_callable("approval_descriptor", approval_descriptor, ("args",), plain=True)
    else:
        try:
            json_value(approval_descriptor)
        except ValueError as error:
            raise InvalidArgumentError(f"`approval_descriptor` must be JSON. {error}") from None
    declaration = _Declaration(title, approval_reason, approval_descriptor)

    def declare(tool: T) -> T:
        if not callable(tool) and not isinstance(tool, BaseTool):
            raise argument_error("tool", "a function or a tool", tool)
        try:
            setattr(tool, _ATTRIBUTE, declaration)
        except AttributeError:
            raise InvalidArgumentError(
                f"`for_users` cannot declare anything on {shown(tool)}: use a function."
            ) from None
        return tool

    return declare


def declared_title(tool: BaseTool) -> str | None:
    """Return the tool's title for users: of ``for_users``, or as its MCP server gives it."""
    if (title := _declaration(tool).title) is not None:
        return title
    listed = getattr(tool, "raw_mcp_tool", None)  # of ADK's `McpTool`, which needs an extra
    for source in (listed, getattr(listed, "annotations", None)):
        if isinstance(title := getattr(source, "title", None), str) and title:
            return title
    return None


def approval_note(tool: BaseTool, args: Mapping[str, Any]) -> ApprovalNote:
    """Return what the tool says to those who are asked to approve a call with these arguments."""
    _, reason, descriptor = _declaration(tool)
    told_reason = _of(reason, args, tool)
    return ApprovalNote(
        told_reason if isinstance(told_reason, str) and told_reason else None,
        json_value(_of(descriptor, args, tool), lossy=True),
    )


def _declaration(tool: BaseTool) -> _Declaration:
    for declaring in (tool, getattr(tool, "func", None)):  # of `FunctionTool`
        if isinstance(found := getattr(declaring, _ATTRIBUTE, None), _Declaration):
            return found
    return _NOTHING


def _of(value: Any, args: Mapping[str, Any], tool: BaseTool) -> Any:
    if not callable(value):
        return value
    try:
        return value(dict(args))
    except Exception:
        logger.exception("What `for_users` of the tool `%s` declares raised: its card goes without it.", tool.name)
        return None
