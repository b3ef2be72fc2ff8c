"""Answers to ``adk_request_input`` and ``adk_request_credential``, checked before ADK gets them.

An input that does not fit fails the run, so it is checked before, against the schema that is stored with its request.
A credential must come as the whole auth config, so it is put into the stored config.
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

UNPROCESSABLE: Final = 422

CREDENTIAL_PROVIDED: Final = {"provided": True}
"""The output of a credential request, as the page sees it: the credential itself never goes back to a page."""

MAX_NAMED: Final = 200
"""Characters of a field's name in a refusal: the answer may have made it up."""

MAX_CREDENTIAL: Final = 2**16
"""Characters of one text in a credential: enough for any token, and for any address that a browser takes."""

_SIGN_IN_KEYS: Final = ("authResponseUri", "authCode", "accessToken")
"""Keys that finish a sign-in. An answer has one of them."""

_OAUTH2_KEYS: Final = frozenset({*_SIGN_IN_KEYS, "state", "redirectUri"})
_HTTP_KEYS: Final = frozenset({"username", "password", "token"})
_CREDENTIAL_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "oauth2": _OAUTH2_KEYS,
    "openIdConnect": _OAUTH2_KEYS,
    "apiKey": frozenset({"apiKey"}),
    "http": _HTTP_KEYS,
}
"""Type of the auth scheme -> the keys of the credential that a page may give. Every value is a string."""


# ADK has no public names for these. One that has them no longer is not asked.
_unwrapped_by_adk: Final = getattr(_rehydration_utils, "_unwrap_response", dict)
_read_by_adk: Final = getattr(_rehydration_utils, "_validate_resume_response", lambda answer, _schema: answer)


def check_input(args: Mapping[str, Any], answer: Any, response: Mapping[str, Any], budget: Budget) -> None:
    """Checks the answer to an input request, by its schema and by ADK's reading of it.

    ``args``: the arguments of the request, with the schema if there is one. ``response``: the answer as ADK gets it.
    ``budget``: what the answers of the request may take together. Raises ``ChatRequestError`` (422), which names the
    first field that does not fit.
    """
    schema = args.get("response_schema")
    if not isinstance(schema, dict):
        return
    try:
        misfit = first_misfit(schema, answer, budget)
    except TooCostlyError:
        raise ChatRequestError(
            "The answer is too large to be checked. Send a shorter one.", status=UNPROCESSABLE
        ) from None
    if misfit is None:
        misfit = _misfit_of_adk(schema, response)
    if misfit is not None:
        where = f"the field {'.'.join(misfit)[:MAX_NAMED]} does not fit" if misfit else "it is of another kind"
        raise ChatRequestError(f"The answer is not what was asked for: {where}.", status=UNPROCESSABLE)


def _misfit_of_adk(schema: Mapping[str, Any], response: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The path of the first field that would fail the run: ADK makes a model of pydantic of some schemas.

    Such a model takes no integer of more than 64 bits, and no field of some names.
    """
    try:
        _read_by_adk(_unwrapped_by_adk(response), schema)
    except WorkflowDataError as error:
        cause = error.__cause__
        return tuple(map(str, cause.errors()[0]["loc"])) if isinstance(cause, ValidationError) else ()
    except Exception:  # noqa: BLE001 - ADK cannot make a model of this schema
        raise ChatRequestError(
            "The question cannot be answered: ADK cannot read its schema. Send a message instead.",
            status=UNPROCESSABLE,
        ) from None
    return None


def complete_credential(args: Mapping[str, Any], output: Any) -> dict[str, Any]:
    """The auth config in a credential request's arguments, completed with what the page gives.

    Raises ``ChatRequestError`` (422) for an output that is not such a credential.
    """
    config: dict[str, Any] = deepcopy(args.get("authConfig") or {})
    kind = str((config.get("authScheme") or {}).get("type") or "oauth2")
    allowed = _CREDENTIAL_KEYS.get(kind, frozenset())
    if not _is_credential(output, allowed):
        named = ", ".join(sorted(allowed)) or "nothing that a page can give"
        raise ChatRequestError(f"The credential must be an object with texts; it takes {named}.", status=UNPROCESSABLE)
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
    """Refuses a sign-in that was begun elsewhere: it would sign the user in as somebody else.

    The ``state`` of the request comes back in the query of the address where the sign-in ended. If only the code or
    token was taken from that address, ``state`` stands beside it. An address that the request already has cannot be
    replaced: it belongs to the code.
    """
    finished = [key for key in _SIGN_IN_KEYS if key in output]
    if len(finished) != 1:
        named = ", ".join(_SIGN_IN_KEYS)
        raise ChatRequestError(f"A sign-in ends with one of {named}.", status=UNPROCESSABLE)
    state, redirect = stored.get("state"), stored.get("redirectUri")
    given = _states(output["authResponseUri"]) if "authResponseUri" in output else [output.get("state")]
    is_ours = state is None or (given == [state] and output.get("state", state) == state)
    if not is_ours or (redirect is not None and output.get("redirectUri", redirect) != redirect):
        raise ChatRequestError("The sign-in does not belong to this request.", status=UNPROCESSABLE)


def _states(uri: str) -> list[str]:
    """The states in the query of a URI."""
    try:
        return parse_qs(urlsplit(uri).query).get("state", [])
    except ValueError:
        return []
