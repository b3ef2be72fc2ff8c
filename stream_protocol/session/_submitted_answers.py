"""Finds the user's answers in an assistant message from the client, and matches them with the stored calls.

An answer is an approval, a denial, or the output of a call that the client must answer. The message also contains
outputs that came from the server. They are ignored.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from google.adk.workflow._errors import WorkflowDataError
from google.adk.workflow.utils import _rehydration_utils
from pydantic import ValidationError

from stream_protocol.adk import RESULT, CallKind, is_confirmed, is_relayed, match_client_ids
from stream_protocol.session._schema_checks import first_misfit
from stream_protocol.session._schema_costs import Budget, TooCostlyError
from stream_protocol.session._storable_events import MAX_STORED_DEPTH, is_too_deep
from stream_protocol.wire import ChatRequestError, is_tool_part, tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream_protocol.session.transcript import StoredCall, Turn
    from stream_protocol.wire import ChatRequest, ToolPart, UIMessage

REJECTED: Final = "This tool call is rejected."
"""ADK's text to the model for a denied call."""

CREDENTIAL_PROVIDED: Final = {"provided": True}
"""The output of an answered credential request in the client's message. The credential itself never goes to a
client."""

MAX_NAMED: Final = 200
"""The maximum number of characters of a field's name in an error message. The client may choose any name."""

MAX_CREDENTIAL: Final = 2**16
"""The maximum number of characters of a text in a credential."""

_SIGN_IN_KEYS: Final = ("authResponseUri", "authCode", "accessToken")
"""Keys that complete a sign-in. An answer must have exactly one of these keys."""

_OAUTH2_KEYS: Final = frozenset({*_SIGN_IN_KEYS, "state", "redirectUri"})
_HTTP_KEYS: Final = frozenset({"username", "password", "token"})
_CREDENTIAL_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "oauth2": _OAUTH2_KEYS,
    "openIdConnect": _OAUTH2_KEYS,
    "apiKey": frozenset({"apiKey"}),
    "http": _HTTP_KEYS,
}
"""Type of the auth scheme -> keys that a client may send. All values are strings."""

# ADK has no public names for these functions. Without them, the check is skipped.
_unwrapped_by_adk: Final = getattr(_rehydration_utils, "_unwrap_response", dict)
_read_by_adk: Final = getattr(_rehydration_utils, "_validate_resume_response", lambda answer, _schema: answer)

_ANSWERED_BY_PAGE: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


@dataclass(frozen=True, kw_only=True)
class SubmittedAnswer:
    """The user's answer to one tool call."""

    tool_call_id: str
    """The ``StoredCall.tool_call_id`` of the answered call."""
    response: dict[str, Any]
    output: Any = None
    is_approval: bool = False
    reason: str | None = None
    """The user's reason for the approval or denial."""
    awaits_response: bool
    """True if the client has received no part of the response to this answer."""


def calls_by_client_id(turn: Turn | None) -> dict[str, StoredCall]:
    """Return the calls of the turn that the client can answer or has answered. The keys of the result are
    ``StoredCall.tool_call_id``.
    """
    return {call.tool_call_id: call for call in turn.external_calls} if turn is not None else {}


def submitted_answers(message: UIMessage, turn: Turn | None) -> Iterator[SubmittedAnswer]:
    """Yield the user's answers in an assistant message from the client. ``turn``: the turn whose calls can be
    answered."""
    calls = calls_by_client_id(turn)
    tools = {call.known.id: call.known.name for call in turn.calls} if turn is not None else {}
    parts = message["parts"]
    last_step = max((index for index, part in enumerate(parts) if part["type"] == "step-start"), default=-1)
    tool_parts = [(index, part) for index, part in enumerate(parts) if is_tool_part(part)]
    shown = [(part["toolCallId"], tool_name(part)) for _, part in tool_parts]
    # An unknown id in another message belongs to a call of that message, such as a removed reply.
    is_same_message = turn is not None and message["id"] in ("", turn.message_id)
    by_client = [call.known for call in calls.values() if is_same_message and call.kind in _ANSWERED_BY_PAGE]
    renamed = match_client_ids(shown, tools, by_client)
    for index, part in tool_parts:
        tool_call_id = renamed.get(part["toolCallId"], part["toolCallId"])
        approval = part.get("approval")
        if part["state"] == "approval-responded" and approval is not None and "approved" in approval:
            yield SubmittedAnswer(
                tool_call_id=approval["id"],
                response={"confirmed": approval["approved"]},
                is_approval=True,
                reason=approval.get("reason"),
                awaits_response=True,
            )
        elif part["state"] in ("output-available", "output-error") and _takes_output(calls.get(tool_call_id)):
            yield SubmittedAnswer(
                tool_call_id=tool_call_id,
                response=_output_response(part),
                output=part.get("output"),
                awaits_response=index > last_step,
            )


def _output_response(part: ToolPart) -> dict[str, Any]:
    """Return the output of a client tool as the ``response`` of an ADK function response.

    An output that is not an object becomes ``{"result": output}``, and so does an object whose only key is ``result``.
    """
    if part["state"] == "output-error":
        return {"error": part.get("errorText", "")}
    output = part.get("output")
    return output if isinstance(output, dict) and output.keys() != {RESULT} else {RESULT: output}


def _takes_output(call: StoredCall | None) -> bool:
    return call is not None and call.kind is not CallKind.APPROVAL and (call.is_pending or call.answer is not None)


def answered_call(answer: SubmittedAnswer, calls: Mapping[str, StoredCall]) -> StoredCall:
    """Return the stored call that the answer belongs to. Raises ``ChatRequestError`` (409) if the call does not exist,
    needs a different kind of answer, or can no longer be answered."""
    call = calls.get(answer.tool_call_id)
    if call is None or answer.is_approval is not (call.kind is CallKind.APPROVAL):
        raise ChatRequestError("There is no such request to answer any more.", status=409)
    if not call.is_pending and call.answer is None:
        raise ChatRequestError("That request was closed before it was answered.", status=409)
    return call


def answers_before_message(message: UIMessage, turn: Turn | None) -> Iterator[tuple[SubmittedAnswer, StoredCall]]:
    """Yield the usable answers in ``message``, the assistant message before a new user message. Usable are denials,
    outputs of client tools, and answers to ``adk_request_input``.

    These answers are not usable:

    - approvals and credentials, because they would make a tool run;
    - answers to calls that are not pending;
    - invalid answers;
    - answers to calls of a remote agent (A2A), which accepts either an answer or a message.
    """
    calls, budget = calls_by_client_id(turn), Budget()
    for answer in submitted_answers(message, turn):
        call = calls.get(answer.tool_call_id)
        if call is None or not call.is_pending or is_relayed(call.event):
            continue
        if answer.is_approval:
            counts = call.kind is CallKind.APPROVAL and not answer.response["confirmed"]
        else:
            counts = call.kind in _ANSWERED_BY_PAGE and _is_usable(answer, call, budget)
        if counts:
            yield answer, call


def _is_usable(answer: SubmittedAnswer, call: StoredCall, budget: Budget) -> bool:
    try:
        adk_response(answer, call, {}, budget)
    except ChatRequestError:
        return False
    return True


def approval_payloads(request: ChatRequest) -> Mapping[str, Any]:
    """Return the extra data (payloads) that the user sends with approvals. The result maps an approval id to its
    payload. The payloads are in the key ``approvalPayloads`` of the request's body, because a UI message cannot contain
    them.
    """
    payloads = request.body.get("approvalPayloads") or {}
    if not isinstance(payloads, dict):
        raise ChatRequestError("approvalPayloads must be an object: approval id to payload.", status=422)
    return payloads


def adk_response(
    answer: SubmittedAnswer, call: StoredCall, payloads: Mapping[str, Any], budget: Budget
) -> dict[str, Any]:
    """Return the user's answer as a function response for ADK. ``budget``: the limits that all answers of the request
    share. Raises ``ChatRequestError`` (422) for an answer that ADK cannot use or that cannot be stored."""
    response = _checked_response(answer, call, payloads, budget)
    if is_too_deep(response):
        raise ChatRequestError(f"The answer is nested deeper than {MAX_STORED_DEPTH} levels.", status=422)
    return response


def _checked_response(
    answer: SubmittedAnswer, call: StoredCall, payloads: Mapping[str, Any], budget: Budget
) -> dict[str, Any]:
    match call.kind:
        case CallKind.APPROVAL if call.reply_id in payloads:
            return {**answer.response, "payload": payloads[call.reply_id]}
        case CallKind.INPUT if "error" not in answer.response:
            _check_input(call.args, answer.output, answer.response, budget)
        case CallKind.CREDENTIAL:
            return _complete_credential(call.args, answer.output)
    return answer.response


def is_stored_answer(answer: SubmittedAnswer, call: StoredCall) -> bool:
    stored = call.answer or {}
    if call.kind is CallKind.APPROVAL:  # the client cannot send the whole stored payload
        return answer.response["confirmed"] is is_confirmed(stored)
    if call.kind is CallKind.CREDENTIAL:  # the client never gets its credential back
        return answer.output == CREDENTIAL_PROVIDED or _complete_credential(call.args, answer.output) == stored
    return answer.response == stored


def _check_input(args: Mapping[str, Any], answer: Any, response: Mapping[str, Any], budget: Budget) -> None:
    """Check that an answer to ``adk_request_input`` matches the call's schema, and that ADK can parse the answer.
    ``args``: the arguments of the call. Raises ``ChatRequestError`` (422) with the path of the first field that does
    not match.
    """
    schema = args.get("response_schema")
    if not isinstance(schema, dict):
        return
    try:
        misfit = first_misfit(schema, answer, budget)
    except TooCostlyError:
        raise ChatRequestError("The answer is too large to be checked. Send a shorter one.", status=422) from None
    if misfit is None:
        misfit = _misfit_of_adk(schema, response)
    if misfit is not None:
        where = f"the field {'.'.join(misfit)[:MAX_NAMED]} does not fit" if misfit else "it is of another kind"
        raise ChatRequestError(f"The answer is not what was asked for: {where}.", status=422)


def _misfit_of_adk(schema: Mapping[str, Any], response: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the path of the first field that ADK's parser refuses; ``None`` if ADK accepts the answer. The parser
    refuses some answers that match the schema, for example answers with very long integers.
    """
    try:
        _read_by_adk(_unwrapped_by_adk(response), schema)
    except WorkflowDataError as error:
        cause = error.__cause__
        return tuple(map(str, cause.errors()[0]["loc"])) if isinstance(cause, ValidationError) else ()
    except Exception:  # noqa: BLE001 - any error means that ADK cannot build a model from this schema
        raise ChatRequestError(
            "The question cannot be answered: ADK cannot read its schema. Send a message instead.",
            status=422,
        ) from None
    return None


def _complete_credential(args: Mapping[str, Any], output: Any) -> dict[str, Any]:
    """Return the auth config from the arguments of a credential request, and add the client's credential to it. Raises
    ``ChatRequestError`` (422) if the output is not a credential of the requested type.
    """
    config = deepcopy(_object(args, "authConfig"))
    scheme = _object(config, "authScheme")
    kind = str(scheme.get("type") or "oauth2")
    allowed = _CREDENTIAL_KEYS.get(kind, frozenset())
    if not _is_credential(output, allowed):
        named = ", ".join(sorted(allowed)) or "nothing that a page can give"
        raise ChatRequestError(f"The credential must be an object with texts; it takes {named}.", status=422)
    credential = _object(config, "exchangedAuthCredential") or deepcopy(_object(config, "rawAuthCredential"))
    credential.setdefault("authType", kind)
    match kind:
        case "apiKey":
            credential["apiKey"] = output["apiKey"]
        case "http":
            http = _object(credential, "http") or {"scheme": scheme.get("scheme", "bearer")}
            credential["http"] = {**http, "credentials": {**_object(http, "credentials"), **output}}
        case _:
            stored = _object(credential, "oauth2")
            _check_sign_in(stored, output)
            own = {key: value for key, value in output.items() if key in _SIGN_IN_KEYS or key not in stored}
            credential["oauth2"] = {**stored, **own}
    return {**config, "exchangedAuthCredential": credential}


def _object(owner: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key of a credential request; empty if the key is missing. Raises ``ChatRequestError``
    (422) if the value is not an object."""
    value = owner.get(key)
    if value is not None and not isinstance(value, dict):
        text = f"The request for a credential cannot be answered: its {key} is not an object. Send a message instead."
        raise ChatRequestError(text, status=422)
    return value or {}


def _is_credential(output: Any, allowed: frozenset[str]) -> bool:
    return (
        isinstance(output, dict)
        and bool(output)
        and output.keys() <= allowed
        and all(isinstance(value, str) and 0 < len(value) <= MAX_CREDENTIAL for value in output.values())
    )


def _check_sign_in(stored: Mapping[str, Any], output: Mapping[str, str]) -> None:
    """Raise ``ChatRequestError`` (422) if the sign-in in ``output`` does not belong to this credential request. An
    attacker could have started such a sign-in.

    The answer must contain the OAuth ``state`` of the credential request. In an answer with an ``authResponseUri``, the
    ``state`` is in the query of this URI. In an answer with a code or a token, it is the value of the key ``state``.
    The answer must not change the redirect URI.
    """
    finished = [key for key in _SIGN_IN_KEYS if key in output]
    if len(finished) != 1:
        named = ", ".join(_SIGN_IN_KEYS)
        raise ChatRequestError(f"A sign-in ends with one of {named}.", status=422)
    state, redirect = stored.get("state"), stored.get("redirectUri")
    given = _states(output["authResponseUri"]) if "authResponseUri" in output else [output.get("state")]
    is_ours = state is None or (given == [state] and output.get("state", state) == state)
    if not is_ours or (redirect is not None and output.get("redirectUri", redirect) != redirect):
        raise ChatRequestError("The sign-in does not belong to this request.", status=422)


def _states(uri: str) -> list[str]:
    try:
        return parse_qs(urlsplit(uri).query).get("state", [])
    except ValueError:
        return []
