"""What is taken out of a recording before anything of it is written.

Three rules, for events, chunks and requests alike, so that the recorded events still give the recorded chunks.

* Of an ADK auth config or credential, wherever it lies, only what says which kind it is stays, and the place where a
  user signs in without its query. The keys say what is one; a credential that a user gave goes whole.
* Texts under a name that nothing but a secret has (``accessToken``, ``client_secret``, …) go everywhere.
* Session state and an app's own keys in a request are not made to be seen: there, all goes whose name speaks of tokens,
  passwords and the like. ``temp:`` state goes whole.

Text is not searched. A secret that somebody says, or that a model writes as streamed arguments, is for the app's own
function.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from stream_protocol.convert.calls import REQUEST_CREDENTIAL
from stream_protocol.session import CREDENTIAL_PROVIDED, METADATA_KEY

REDACTED: Final = "[redacted]"
"""What stands where something was taken out."""

Kind: TypeAlias = Literal["request", "event", "chunk"]

Redact: TypeAlias = Callable[[Kind, dict[str, Any]], dict[str, Any] | None]
"""An app's own redaction: what a value is, and its JSON, of which it may keep and change what it likes -> the JSON to
write, or ``None`` to leave the value out."""

_SECRETS: Final = frozenset(
    {
        *("accesstoken", "refreshtoken", "idtoken", "bearertoken", "clientsecret", "authcode", "authresponseuri"),
        *("codeverifier", "privatekey", "privatekeyid", "apikey", "password"),
        *("authorization", "proxyauthorization", "xapikey", "setcookie"),
    }
)
"""Names of secrets, as ``_name`` has them. Those that ADK's credentials have, and headers."""

_TELLING: Final = ("token", "secret", "password", "passwd", "credential", "apikey", "oauth", "authorization", "cookie")
"""What the names of secrets in state and in requests have in them; ADK has ``…_token_cache``, ``adk_oauth2_…``."""

_CONFIG_KEYS: Final = frozenset({"authscheme", "rawauthcredential", "exchangedauthcredential"})
_CREDENTIAL: Final = REQUEST_CREDENTIAL.replace("_", "")
_CREDENTIAL_KINDS: Final = frozenset({"oauth2", "http", "apikey", "serviceaccount"})
_SCHEME_KEYS: Final = frozenset(
    {
        *("type", "in", "name", "scheme", "bearerformat", "description", "flows", "openidconnecturl", "scopes"),
        *("authorizationendpoint", "tokenendpoint"),
    }
)
"""Of an auth scheme: what ADK needs to read it again, and what a browser is shown of it. A custom one may have more."""

_SIGN_IN: Final = "authuri"
"""Where the user signs in. What stands beside it as ``state`` binds the sign-in to its session."""

_TEMP: Final = "temp:"

_IGNORED: Final = b"_-"
_NO_SEPARATORS: Final = dict.fromkeys(_IGNORED)
"""What a name may have between its words."""

_SUSPECT: Final = tuple(word.encode() for word in (*_SECRETS, *_CONFIG_KEYS, "authtype", _SIGN_IN, _CREDENTIAL))
"""What the text of a value has if ``redacted`` has anything to do, without what ``_name`` leaves out."""


def redacted_event(event: dict[str, Any]) -> dict[str, Any]:
    """An event's JSON (camelCase) without secrets, ``temp:`` state and our own metadata. It stays an event."""
    event = redacted(event)
    if METADATA_KEY in (metadata := event.get("customMetadata", {})):
        event["customMetadata"] = {key: value for key, value in metadata.items() if key != METADATA_KEY}
    actions = event.get("actions", {})
    if delta := actions.get("stateDelta"):
        actions["stateDelta"] = _unseen({key: value for key, value in delta.items() if not key.startswith(_TEMP)})
    if state := actions.get("agentState"):
        actions["agentState"] = _unseen(state)
    return event


def redacted_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk without secrets: what was taken out of the events that it was made from is taken out of it."""
    chunk = redacted(chunk)
    if chunk.get("type") == "data-adk-state":
        chunk["data"] = _unseen(chunk.get("data"))
    return chunk


def redacted_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """A client's request without secrets: its messages, and what the app's own client put beside them."""
    request = redacted(dict(body))
    return {**_unseen(request), **{key: request[key] for key in request.keys() & {"messages"}}}


def redacted(value: dict[str, Any]) -> dict[str, Any]:
    """Plain JSON without what is a credential by its shape, or a secret by its name; a copy if there is any.

    Nearly all events and chunks have none, which a look at their text tells.
    """
    text = orjson.dumps(value).translate(None, _IGNORED).lower()
    return _object(value) if any(word in text for word in _SUSPECT) else value


def _visit(value: Any) -> Any:
    match value:
        case dict():
            return _object(value)
        case list():
            return [_visit(item) for item in value]
    return value


def _object(value: dict[str, Any]) -> dict[str, Any]:
    names = {_name(key) for key in value}
    if not _CONFIG_KEYS.isdisjoint(names):
        return _auth_config(value)
    if "authtype" in names and not _CREDENTIAL_KINDS.isdisjoint(names):
        return _credential(value)
    given = _given_key(value)
    return {
        key: CREDENTIAL_PROVIDED if key == given else _text(key, item, names) if isinstance(item, str) else _visit(item)
        for key, item in value.items()
    }


def _text(key: str, text: str, names: set[str]) -> str:
    name = _name(key)
    if name in _SECRETS or (name == "state" and _SIGN_IN in names):
        return REDACTED
    return _without_query(text) if name == _SIGN_IN else text


def _given_key(value: dict[str, Any]) -> str | None:
    """The key under which a user's answer to a credential request lies, in an event or in a message's part."""
    if value.get("name") == REQUEST_CREDENTIAL and "response" in value:
        return "response"
    asked = (value.get("toolName"), str(value.get("type")).removeprefix("tool-"))
    return "output" if REQUEST_CREDENTIAL in asked and "output" in value else None


def _auth_config(config: dict[str, Any]) -> dict[str, Any]:
    """The scheme, and what a browser is shown of the exchanged credential. ADK makes a key up if it finds none."""
    kept: dict[str, Any] = {}
    for key, value in config.items():
        match _name(key), value:
            case "authscheme", dict():
                kept[key] = {own: _visit(item) for own, item in value.items() if _name(own) in _SCHEME_KEYS}
            case "exchangedauthcredential", dict():
                kept[key] = _credential(value)
            case "credentialkey", str():
                kept[key] = REDACTED
    return kept


def _credential(credential: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in credential.items():
        match _name(key), value:
            case "authtype", str():
                kept[key] = value
            case "oauth2", dict():
                shown = {own: item for own, item in value.items() if _name(own) in {_SIGN_IN, "state"}}
                kept[key] = {own: _text(own, str(item), {_SIGN_IN}) for own, item in shown.items()}
    return kept


def _without_query(url: str) -> str:
    place, mark, query = url.partition("?")
    return f"{place}{mark}{REDACTED}" if query else url


def _unseen(value: Any) -> Any:
    """A copy of plain JSON that nobody is meant to see, without what its names say is a secret."""
    match value:
        case dict():
            return {key: REDACTED if _tells(key, item) else _unseen(item) for key, item in value.items()}
        case list():
            return [_unseen(item) for item in value]
        case str() if value.startswith(("{", "[")) and _holds_secret(value):
            return REDACTED
    return value


def _tells(key: str, value: Any) -> bool:
    """Whether the key speaks of a secret, and the value could be one. Counts of tokens are none."""
    return isinstance(value, str | dict | list) and any(part in _name(key) for part in _TELLING)


def _holds_secret(text: str) -> bool:
    """Whether the text is JSON with a secret in it, as Google's credentials are kept in state."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    cleaned: Any = _unseen(_visit(value))
    return bool(cleaned != value)


@lru_cache(maxsize=4096)
def _name(key: str) -> str:
    """``access_token``, ``accessToken`` and ``access-token`` are one."""
    return key.translate(_NO_SEPARATORS).lower()
