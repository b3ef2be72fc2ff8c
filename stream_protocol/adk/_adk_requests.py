"""Recognize calls that a user, a client or another system must answer. Some of these calls are requests from ADK
itself, such as ``adk_request_confirmation``.

ADK lists the ids of these calls in an event's ``long_running_tool_ids``, and accepts answers only to listed calls. A
model may invent a call with the name of one of ADK's requests. ADK refuses such a call, and does not list its id.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.wire import json_value

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import FunctionCall

REQUEST_CONFIRMATION = "adk_request_confirmation"
REQUEST_CREDENTIAL = "adk_request_credential"
REQUEST_INPUT = "adk_request_input"


class CallKind(StrEnum):
    """The kind of a call that waits for an answer from outside the agent.

    In the client, an approval request is a question about another call. The other kinds are calls of client tools.
    """

    APPROVAL = "approval"
    CLIENT_TOOL = "client-tool"
    INPUT = "input"
    CREDENTIAL = "credential"


_KINDS: Final[Mapping[str | None, CallKind]] = MappingProxyType(
    {
        REQUEST_CONFIRMATION: CallKind.APPROVAL,
        REQUEST_INPUT: CallKind.INPUT,
        REQUEST_CREDENTIAL: CallKind.CREDENTIAL,
    }
)


def external_kind(event: "Event", call: "FunctionCall") -> CallKind | None:
    """Return the kind of answer for which a complete call waits. Return ``None`` if a tool of the agent answers the
    call.
    """
    if not call.id or call.id not in (event.long_running_tool_ids or ()):
        return None
    return _KINDS.get(call.name, CallKind.CLIENT_TOOL)


def confirmed_call(args: dict[str, Any]) -> dict[str, Any]:
    """Return the call for which ADK requests a confirmation, as a dictionary with ``id``, ``name`` and ``args``. Omits
    invalid entries. ``args``: the arguments of ``adk_request_confirmation``.
    """
    original = _mapping(args, "originalFunctionCall", "original_function_call")
    kinds = {"id": str, "name": str, "args": dict}
    return {key: value for key, value in original.items() if isinstance(value, kinds.get(key, ()))}


def credential_input(args: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a credential request that the client needs for the sign-in. Other fields can contain
    secrets.
    """
    config = _mapping(args, "authConfig", "auth_config")
    scheme = _mapping(config, "authScheme", "auth_scheme")
    oauth2 = _mapping(_mapping(config, "exchangedAuthCredential", "exchanged_auth_credential"), "oauth2")
    call_id = args.get("functionCallId") or args.get("function_call_id")
    shown = {
        "functionCallId": call_id if isinstance(call_id, str) else None,
        "message": args.get("message"),
        "schemeType": scheme.get("type") or scheme.get("type_"),
        "scopes": _scopes(scheme),
        "authUri": oauth2.get("authUri") or oauth2.get("auth_uri"),
        "state": oauth2.get("state"),
    }
    cleaned: dict[str, Any] = json_value({key: value for key, value in shown.items() if value}, lossy=True)
    return cleaned


def _scopes(scheme: dict[str, Any]) -> list[str]:
    if isinstance(listed := scheme.get("scopes"), list):
        return [str(scope) for scope in listed]
    flows = _mapping(scheme, "flows")
    return [scope for flow in flows.values() if isinstance(flow, dict) for scope in _mapping(flow, "scopes")]


def _mapping(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        if isinstance(found := value.get(key), dict):
            return found
    return {}


def is_confirmed(response: dict[str, Any] | None) -> bool | None:
    """Return True if the function response approves a call, False if it denies a call, ``None`` for any other response.

    An approval is ``{"confirmed": true, …}``, a denial ``{"confirmed": false, …}``. Both may also be a JSON text in the
    key ``response``.
    """
    match response:
        case {"confirmed": bool(confirmed)}:
            return confirmed
        case {"response": str(text)}:
            return _is_confirmed_text(text)
    return None


def _is_confirmed_text(text: str) -> bool | None:
    try:
        response = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return is_confirmed(response) if isinstance(response, dict) else None
