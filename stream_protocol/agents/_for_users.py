"""Texts that users see for a tool."""

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
"""A function that computes a value from the arguments of a call."""


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
    """Declare the texts that users see for a tool.

    Use ``for_users`` as a decorator of the tool's function. For a ``BaseTool``, call the decorator with the tool:
    ``for_users(title="Pay")(tool)``. An example with a function:

        @for_users(title="Pay an invoice")
        def pay(…): …

    ``title``: the name of the tool in the client. ``approval_reason``: the reason why the tool needs approval. Describe
    the effect of the call in the user's words. ``approval_descriptor``: any JSON for the approval dialog of your
    client. ``approval_reason`` and ``approval_descriptor`` may also be functions that take the dictionary of the call's
    arguments.

    A ``ChatService`` sends all three values to the client. It does not use ADK's ``hint`` for users, because ``hint``
    is a text for developers. Raises ``StreamProtocolError`` for values of wrong types.
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
    """Return the tool's title for users, from ``for_users`` or from the tool's MCP server. Returns ``None`` if no title
    is declared.
    """
    if (title := _declaration(tool).title) is not None:
        return title
    listed = getattr(tool, "raw_mcp_tool", None)  # an attribute of ADK's `McpTool`, which needs an extra
    for source in (listed, getattr(listed, "annotations", None)):
        if isinstance(title := getattr(source, "title", None), str) and title:
            return title
    return None


def approval_note(tool: BaseTool, args: Mapping[str, Any]) -> ApprovalNote:
    """Return the approval reason and the approval descriptor that ``for_users`` declares for a call of the tool."""
    _, reason, descriptor = _declaration(tool)
    text = _evaluate(reason, args, tool)
    return ApprovalNote(
        text if isinstance(text, str) and text else None,
        json_value(_evaluate(descriptor, args, tool), lossy=True),
    )


def _declaration(tool: BaseTool) -> _Declaration:
    for declaring in (tool, getattr(tool, "func", None)):  # `func`: the function of a `FunctionTool`
        if isinstance(found := getattr(declaring, _ATTRIBUTE, None), _Declaration):
            return found
    return _NOTHING


def _evaluate(value: Any, args: Mapping[str, Any], tool: BaseTool) -> Any:
    if not callable(value):
        return value
    try:
        return value(dict(args))
    except Exception:
        logger.exception("What `for_users` of the tool `%s` declares raised: its card goes without it.", tool.name)
        return None
