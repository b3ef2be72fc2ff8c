"""Checks the user's answers to ``adk_request_input`` and ``adk_request_credential`` before ADK gets them.

Input that does not match the schema would fail the run, so it is checked against the schema stored with the call. ADK
needs a credential as a complete auth config, so the credential is inserted into the stored config.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from google.adk.workflow._errors import WorkflowDataError
from google.adk.workflow.utils import _rehydration_utils
from pydantic import ValidationError

from stream_protocol.session._schema_checks import first_misfit
from stream_protocol.session._schema_costs import Budget, TooCostlyError
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

CREDENTIAL_PROVIDED: Final = {"provided": True}
"""The output of a credential request in the client's message. The credential itself is never sent to a client."""

MAX_NAMED: Final = 200
"""The most characters of a field's name in an error message. The client may have invented the name."""

MAX_CREDENTIAL: Final = 2**16
"""The most characters of a text in a credential: enough for any token and for any URL that a browser accepts."""

_SIGN_IN_KEYS: Final = ("authResponseUri", "authCode", "accessToken")
"""Keys that finish a sign-in. The user's answer has exactly one of them."""

_OAUTH2_KEYS: Final = frozenset({*_SIGN_IN_KEYS, "state", "redirectUri"})
_HTTP_KEYS: Final = frozenset({"username", "password", "token"})
_CREDENTIAL_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "oauth2": _OAUTH2_KEYS,
    "openIdConnect": _OAUTH2_KEYS,
    "apiKey": frozenset({"apiKey"}),
    "http": _HTTP_KEYS,
}
"""Maps the type of the auth scheme to the keys that a client may send. Every value is a string."""


# ADK has no public names for these functions. Without them, the check is skipped.
_unwrapped_by_adk: Final = getattr(_rehydration_utils, "_unwrap_response", dict)
_read_by_adk: Final = getattr(_rehydration_utils, "_validate_resume_response", lambda answer, _schema: answer)


def check_input(args: Mapping[str, Any], answer: Any, response: Mapping[str, Any], budget: Budget) -> None:
    """Check the user's answer to an input request, against its schema and with ADK's own parser.

    ``args``: the arguments of the request, with the schema if there is one. ``response``: the answer in ADK's form.
    ``budget``: the limit of work for all answers of the request. Raises ``ChatRequestError`` (422) that names the first
    field that does not match.
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
    """Return the path of the first field that ADK's parser refuses, or ``None``.

    ADK builds a pydantic model from some schemas. Such a model accepts no integer of more than 64 bits, and some field
    names are not allowed.
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


def complete_credential(args: Mapping[str, Any], output: Any) -> dict[str, Any]:
    """Return the auth config from a credential request's arguments, completed with the client's credential.

    Raises ``ChatRequestError`` (422) if the output is not a credential of this type.
    """
    config: dict[str, Any] = deepcopy(args.get("authConfig") or {})
    kind = str((config.get("authScheme") or {}).get("type") or "oauth2")
    allowed = _CREDENTIAL_KEYS.get(kind, frozenset())
    if not _is_credential(output, allowed):
        named = ", ".join(sorted(allowed)) or "nothing that a page can give"
        raise ChatRequestError(f"The credential must be an object with texts; it takes {named}.", status=422)
    credential = config.get("exchangedAuthCredential") or deepcopy(config.get("rawAuthCredential")) or {}
    credential.setdefault("authType", kind)
    match kind:
        case "apiKey":
            credential["apiKey"] = output["apiKey"]
        case "http":
            http = credential.setdefault("http", {"scheme": (config["authScheme"]).get("scheme", "bearer")})
            http["credentials"] = {**(http.get("credentials") or {}), **output}
        case _:
            stored = credential.get("oauth2") or {}
            _check_sign_in(stored, output)
            own = {key: value for key, value in output.items() if key in _SIGN_IN_KEYS or key not in stored}
            credential["oauth2"] = {**stored, **own}
    return {**config, "exchangedAuthCredential": credential}


def _is_credential(output: Any, allowed: frozenset[str]) -> bool:
    return (
        isinstance(output, dict)
        and bool(output)
        and output.keys() <= allowed
        and all(isinstance(value, str) and 0 < len(value) <= MAX_CREDENTIAL for value in output.values())
    )


def _check_sign_in(stored: Mapping[str, Any], output: Mapping[str, str]) -> None:
    """Refuse a sign-in that was started elsewhere, because it would sign the user in to another person's account.

    The sign-in's ``state`` comes back in the query of the redirect URL. If the client sends only a code or token, it
    sends ``state`` beside it. A redirect URI that the request already has cannot be replaced, because the code belongs
    to it.
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
