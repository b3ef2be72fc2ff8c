"""Answers to ``adk_request_input`` and ``adk_request_credential``, checked before ADK gets them.

ADK checks neither. An input that does not fit fails the run, so it is checked against the schema that is stored with
its request. A credential must come as the whole auth config, so it is put into the stored config.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

UNPROCESSABLE: Final = 422

CREDENTIAL_PROVIDED: Final = {"provided": True}
"""The output of a credential request, as the page sees it: the credential itself never goes back to a page."""

_OAUTH2_KEYS: Final = frozenset({"authResponseUri", "authCode", "accessToken", "redirectUri"})
_HTTP_KEYS: Final = frozenset({"username", "password", "token"})
_CREDENTIAL_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "oauth2": _OAUTH2_KEYS,
    "openIdConnect": _OAUTH2_KEYS,
    "apiKey": frozenset({"apiKey"}),
    "http": _HTTP_KEYS,
}
"""Type of the auth scheme -> the keys of the credential that a page may give. Every value is a string."""


def check_input(args: Mapping[str, Any], answer: Any) -> None:
    """Checks the answer to an input request. ``args``: the arguments of the request, with the schema if there is one.

    Raises ``ChatRequestError`` (422), which names the first field that does not fit.
    """
    schema = args.get("response_schema")
    if isinstance(schema, dict) and (field := _first_invalid_field(schema, answer)) is not None:
        where = f"the field {field} does not fit" if field else "it is of another kind"
        raise ChatRequestError(f"The answer is not what was asked for: {where}.", status=UNPROCESSABLE)


def _first_invalid_field(schema: dict[str, Any], answer: Any) -> str | None:
    """The path of the first field that does not fit, empty for the answer itself.

    ``None`` if all of it fits, or if the schema is not valid.
    """
    try:
        Draft202012Validator.check_schema(schema)
        # An empty registry: a schema that a model wrote must not make the server fetch anything.
        error = next(Draft202012Validator(schema, registry=Registry()).iter_errors(answer), None)
    except (SchemaError, Unresolvable):
        return None
    if error is None:
        return None
    path = [str(key) for key in error.absolute_path]
    if error.validator == "required":
        path.append(next(key for key in error.validator_value if key not in error.instance))
    return ".".join(path)


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
            _check_state(stored.get("state"), output.get("authResponseUri"))
            credential["oauth2"] = {**stored, **output}
    return {**config, "exchangedAuthCredential": credential}


def _is_credential(output: Any, allowed: frozenset[str]) -> bool:
    return (
        isinstance(output, dict)
        and bool(output)
        and output.keys() <= allowed
        and all(isinstance(value, str) and value for value in output.values())
    )


def _check_state(state: str | None, uri: str | None) -> None:
    """Refuses a sign-in that was begun elsewhere: it would sign the user in as somebody else."""
    if state is None or uri is None:
        return
    try:
        given = parse_qs(urlsplit(uri).query).get("state", [])
    except ValueError:
        given = []
    if given != [state]:
        raise ChatRequestError("The sign-in does not belong to this request.", status=UNPROCESSABLE)
