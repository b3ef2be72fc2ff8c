"""Removes secrets from what is recorded, before anything is written.

Three rules hold for events, chunks and requests, so that the recorded events still give the recorded chunks:

* ADK's auth configs and credentials are found by their keys, wherever they are. What remains is their kind, and the URL
  where a user signs in, without its query. The credential that a user gave is removed completely.
* Everywhere: a text is removed if its *whole key* is the name of a secret: ``accessToken``, ``client_secret``, … See
  ``_SECRETS``.
* Only in session state, and in an app's own keys of a request: a value is removed if its key *contains* a word such as
  ``token`` or ``password``. See ``_SECRET_WORDS``. ``temp:`` state is removed completely.

Text is not searched. The app's own function (``Redact``) must remove secrets that somebody says, or that a model writes
as streamed arguments.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from stream_protocol.convert.calls import REQUEST_CREDENTIAL
from stream_protocol.session import CREDENTIAL_PROVIDED, METADATA_KEY, STATE_PREFIX

REDACTED: Final = "[redacted]"
"""Written in place of a removed value."""

RecordedKind: TypeAlias = Literal["request", "event", "chunk"]

Redact: TypeAlias = Callable[[RecordedKind, dict[str, Any]], dict[str, Any] | None]
"""An app's own redaction. Takes the kind of a value and its JSON, which it may change. Returns the JSON to write, or
``None`` to write nothing."""

_SECRETS: Final = frozenset(
    {
        *("accesstoken", "refreshtoken", "idtoken", "bearertoken", "clientsecret", "authcode", "authresponseuri"),
        *("codeverifier", "privatekey", "privatekeyid", "apikey", "password"),
        *("authorization", "proxyauthorization", "xapikey", "setcookie"),
    }
)
"""Names of secrets, compared with the whole key, in the form of ``_plain_name``: fields of ADK's credentials, and HTTP
headers."""

_SECRET_WORDS: Final = (
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "apikey",
    "oauth",
    "authorization",
    "cookie",
)
"""Words that a key in state or in a request contains if its value may be a secret. ADK has ``…_token_cache`` and
``adk_oauth2_…``."""

_CONFIG_KEYS: Final = frozenset({"authscheme", "rawauthcredential", "exchangedauthcredential"})
_CREDENTIAL: Final = REQUEST_CREDENTIAL.replace("_", "")
_CREDENTIAL_KINDS: Final = frozenset({"oauth2", "http", "apikey", "serviceaccount"})
_SCHEME_KEYS: Final = frozenset(
    {
        *("type", "in", "name", "scheme", "bearerformat", "description", "flows", "openidconnecturl", "scopes"),
        *("authorizationendpoint", "tokenendpoint"),
    }
)
"""The keys of an auth scheme that are kept: those that ADK needs to read it again, and those that a browser gets."""

_SIGN_IN: Final = "authuri"
"""The key of the URL where the user signs in. The key ``state`` beside it binds the sign-in to its session."""

_NOT_WRITTEN: Final = ("temp:", STATE_PREFIX)
"""Prefixes of keys of the session's state. What our own hold is in the messages, where the app's redaction sees it."""

_IGNORED: Final = b"_-"
_NO_SEPARATORS: Final = dict.fromkeys(_IGNORED)
"""Characters between the words of a name."""

_SUSPECT: Final = tuple(word.encode() for word in (*_SECRETS, *_CONFIG_KEYS, "authtype", _SIGN_IN, _CREDENTIAL))
"""If none of these is in the JSON text of a value (without ``_IGNORED``), the value has no secret."""


def redact_event(event: dict[str, Any]) -> dict[str, Any]:
    """An event's JSON (camelCase) without secrets, ``temp:`` state and this package's own metadata and state."""
    event = remove_secrets(event)
    if METADATA_KEY in (metadata := event.get("customMetadata", {})):
        event["customMetadata"] = {key: value for key, value in metadata.items() if key != METADATA_KEY}
    actions = event.get("actions", {})
    if delta := actions.get("stateDelta"):
        kept = {key: value for key, value in delta.items() if not key.startswith(_NOT_WRITTEN)}
        actions["stateDelta"] = _clean_state(kept)
    if state := actions.get("agentState"):
        actions["agentState"] = _clean_state(state)
    return event


def redact_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk without secrets. Removes the same as from the event that the chunk was made from."""
    chunk = remove_secrets(chunk)
    if chunk.get("type") == "data-adk-state":
        chunk["data"] = _clean_state(chunk.get("data"))
    return chunk


def redact_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """A client's request body without secrets, in its messages and in the app's own keys."""
    request = remove_secrets(dict(body))
    return {**_clean_state(request), **{key: request[key] for key in request.keys() & {"messages"}}}


def remove_secrets(value: dict[str, Any]) -> dict[str, Any]:
    """Plain JSON without credentials and without texts under the names of secrets. Returns a copy if there were any.

    Nearly all events and chunks have none. One search in their text shows that, and they are not copied.
    """
    text = orjson.dumps(value).translate(None, _IGNORED).lower()
    return _clean_object(value) if any(word in text for word in _SUSPECT) else value


def _clean(value: Any) -> Any:
    match value:
        case dict():
            return _clean_object(value)
        case list():
            return [_clean(item) for item in value]
    return value


def _clean_object(value: dict[str, Any]) -> dict[str, Any]:
    names = {_plain_name(key) for key in value}
    if not _CONFIG_KEYS.isdisjoint(names):
        return _clean_auth_config(value)
    if "authtype" in names and not _CREDENTIAL_KINDS.isdisjoint(names):
        return _clean_credential(value)
    answer_key = _credential_answer_key(value)
    return {
        key: CREDENTIAL_PROVIDED
        if key == answer_key
        else _clean_text(key, item, names)
        if isinstance(item, str)
        else _clean(item)
        for key, item in value.items()
    }


def _clean_text(key: str, text: str, names: set[str]) -> str:
    name = _plain_name(key)
    if name in _SECRETS or (name == "state" and _SIGN_IN in names):
        return REDACTED
    return _without_query(text) if name == _SIGN_IN else text


def _credential_answer_key(value: dict[str, Any]) -> str | None:
    """The key of a user's answer to a credential request, in an event or in a part of a message."""
    if value.get("name") == REQUEST_CREDENTIAL and "response" in value:
        return "response"
    tools = (value.get("toolName"), str(value.get("type")).removeprefix("tool-"))
    return "output" if REQUEST_CREDENTIAL in tools and "output" in value else None


def _clean_auth_config(config: dict[str, Any]) -> dict[str, Any]:
    """Keeps the scheme, and the part of the exchanged credential that a browser gets.

    ``credentialKey`` is replaced, not removed: without it ADK would compute one.
    """
    kept: dict[str, Any] = {}
    for key, value in config.items():
        match _plain_name(key), value:
            case "authscheme", dict():
                kept[key] = {own: _clean(item) for own, item in value.items() if _plain_name(own) in _SCHEME_KEYS}
            case "exchangedauthcredential", dict():
                kept[key] = _clean_credential(value)
            case "credentialkey", str():
                kept[key] = REDACTED
    return kept


def _clean_credential(credential: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in credential.items():
        match _plain_name(key), value:
            case "authtype", str():
                kept[key] = value
            case "oauth2", dict():
                sign_in = {own: item for own, item in value.items() if _plain_name(own) in {_SIGN_IN, "state"}}
                kept[key] = {own: _clean_text(own, str(item), {_SIGN_IN}) for own, item in sign_in.items()}
    return kept


def _without_query(url: str) -> str:
    base, mark, query = url.partition("?")
    return f"{base}{mark}{REDACTED}" if query else url


def _clean_state(value: Any) -> Any:
    """A copy of session state or of an app's own JSON, without values whose key contains the word of a secret."""
    match value:
        case dict():
            return {key: REDACTED if _may_be_secret(key, item) else _clean_state(item) for key, item in value.items()}
        case list():
            return [_clean_state(item) for item in value]
        case str() if value.startswith(("{", "[")) and _contains_secret(value):
            return REDACTED
    return value


def _may_be_secret(key: str, value: Any) -> bool:
    """Whether the key contains the word of a secret, and the value is no number: counts of tokens are kept."""
    return isinstance(value, str | dict | list) and any(part in _plain_name(key) for part in _SECRET_WORDS)


def _contains_secret(text: str) -> bool:
    """Whether the text is JSON that contains a secret: ADK stores Google's credentials in state like this."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    cleaned: Any = _clean_state(_clean(value))
    return bool(cleaned != value)


@lru_cache(maxsize=4096)
def _plain_name(key: str) -> str:
    """``accesstoken`` for ``access_token``, ``accessToken`` and ``access-token``."""
    return key.translate(_NO_SEPARATORS).lower()
