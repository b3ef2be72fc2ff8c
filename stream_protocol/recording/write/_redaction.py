"""Removes secrets from what is recorded, before anything is written.

The same rules hold for events, chunks and requests, so that the recorded events still give the recorded chunks:

* ADK's auth configs and credentials are found by their keys, wherever they are. What remains is their kind, and the URL
  where a user signs in, without its query. The credential that a user gave is removed completely.
* A value whose name means a secret is removed, of whatever type it is: see ``_secret_names``. The name is its key, or
  stands beside it: ``{"name": "Cookie", "value": …}``, and ``["Cookie", …]`` in a list.
* A text that shows itself as a credential is removed, and so are credentials in URLs: see ``_secret_texts``. A text
  that is JSON is cleaned like JSON.

What people and models say is not searched, nor are arguments that a model streams: they come in pieces. The app's own
function (``Redact``) must remove secrets from these.
"""

from base64 import b64encode, urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from stream_protocol.convert.calls import REQUEST_CREDENTIAL
from stream_protocol.recording.write._secret_names import Meaning, meaning
from stream_protocol.recording.write._secret_texts import REDACTED, without_secrets
from stream_protocol.session import CREDENTIAL_PROVIDED, METADATA_KEY, STATE_PREFIX
from stream_protocol.wire import check_callable

RecordedKind: TypeAlias = Literal["request", "event", "chunk"]

Redact: TypeAlias = Callable[[RecordedKind, dict[str, Any]], dict[str, Any] | None]
"""An app's own redaction. Takes the kind of a value and its JSON, which it may change. Returns the JSON to write, or
``None`` to write nothing."""


def check_redact(redact: object) -> None:
    """Raises ``InvalidArgumentError`` unless this is an app's own redaction, or ``None``."""
    check_callable("redact", redact, ("kind", "value"), plain=True, or_none=True)


_CONFIG_KEYS: Final = frozenset({"authscheme", "rawauthcredential", "exchangedauthcredential"})
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

_NO_SEPARATORS: Final = dict.fromkeys(b"_-")
"""Characters between the words of a name."""

_SAID: Final = {"text-delta": "delta", "reasoning-delta": "delta", "tool-input-delta": "inputTextDelta"}
"""Type of a chunk -> the key of what was said."""

_COUNTED: Final = ("usageMetadata", "logprobsResult")
"""Keys of an event under which a token is a piece of text."""

_NAME_KEYS: Final = frozenset({"name", "key", "header", "field", "parameter", "param", "variable", "id", "k", "n"})
_VALUE_KEYS: Final = frozenset({"value", "values", "val", "v", "content", "data", "stringvalue", "rawvalue"})
"""Keys of an object that holds a name and its value."""

_JSON_BEGINNINGS: Final = frozenset('{["')
_ENCODED_BEGINNINGS: Final = ("eyJ", "ewo", "ew0", "W3s", "WyJ")
"""``{"``, ``{`` at the end of a line, ``[{`` and ``["`` in Base64."""

_MAX_INDENT: Final = 100
"""Characters of white space before a JSON text."""

_SCHEMA_KEYS: Final = frozenset(
    {
        *(
            "type",
            "title",
            "description",
            "format",
            "minLength",
            "maxLength",
            "pattern",
            "nullable",
            "minimum",
            "maximum",
        ),
        *("writeOnly", "readOnly", "deprecated", "items", "$ref"),
    }
)
"""Keys of a JSON schema that holds no value, as of a form's field for a password."""


def redact_event(event: dict[str, Any]) -> dict[str, Any]:
    """An event's JSON (camelCase) without secrets, ``temp:`` state and this package's own metadata and state."""
    cleaned = _clean_object(event)
    cleaned.update({key: event[key] for key in _COUNTED if key in event})
    _keep_said(cleaned.get("content"), event.get("content"))
    for key in ("inputTranscription", "outputTranscription"):
        _keep(cleaned.get(key), event.get(key), "text")
    if METADATA_KEY in (metadata := cleaned.get("customMetadata", {})):
        cleaned["customMetadata"] = {key: value for key, value in metadata.items() if key != METADATA_KEY}
    actions = cleaned.get("actions", {})
    _keep(actions, event.get("actions"), "artifactDelta")  # file names, and their versions
    if delta := actions.get("stateDelta"):
        actions["stateDelta"] = {key: value for key, value in delta.items() if not key.startswith(_NOT_WRITTEN)}
    return cleaned


def redact_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk without secrets. Removes the same as from the event that the chunk was made from."""
    cleaned = _clean_object(chunk)
    if said := _SAID.get(str(chunk.get("type"))):
        _keep(cleaned, chunk, said)
    return cleaned


def redact_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """A client's request body without secrets, in its messages and in the app's own keys."""
    cleaned = _clean_object(dict(body))
    messages = body.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        _keep_said(cleaned["messages"][index], message)
    return cleaned


def _keep_said(cleaned: Any, original: Any) -> None:
    """Puts back what people and models say in the parts of a message."""
    parts = original.get("parts") if isinstance(original, dict) else None
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        _keep(cleaned["parts"][index], part, "text")


def _keep(cleaned: Any, original: Any, key: str) -> None:
    if isinstance(original, dict) and isinstance(cleaned, dict) and key in original:
        cleaned[key] = original[key]


def _clean(value: Any) -> Any:
    """A copy of a value without secrets."""
    match value:
        case str():
            return _clean_text(value)
        case dict():
            return _clean_object(value)
        case list():
            return _clean_list(value)
    return value


def _clean_list(items: list[Any]) -> list[Any]:
    """A copy of a list. What follows the option of a command line is its value: ``--password``."""
    cleaned = [_clean_pair(item) if _is_pair(item) else _clean(item) for item in items]
    for index, item in enumerate(items[:-1]):
        if isinstance(item, str) and item.startswith("--") and meaning(item) is Meaning.SECRET:
            cleaned[index + 1] = REDACTED
    return cleaned


def _clean_object(value: dict[str, Any]) -> dict[str, Any]:
    names = {_plain_name(key) for key in value}
    if not _CONFIG_KEYS.isdisjoint(names):
        return _clean_auth_config(value)
    if "authtype" in names and not _CREDENTIAL_KINDS.isdisjoint(names):
        return _clean_credential(value)
    answer_key = _credential_answer_key(value)
    held = _meaning_of_held(value)
    return {
        key: CREDENTIAL_PROVIDED
        if key == answer_key
        else _without(held, item)
        if held is not Meaning.PLAIN and _plain_name(key) in _VALUE_KEYS
        else _clean_member(key, item, names)
        for key, item in value.items()
    }


def _clean_member(key: str, value: Any, names: set[str]) -> Any:
    name = _plain_name(key)
    if name == _SIGN_IN and isinstance(value, str):
        return _without_query(value)
    if name == "state" and _SIGN_IN in names:
        return REDACTED
    if name.endswith("headers") and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _clean_header_list(value)
    return _without(meaning(key), value)


def _meaning_of_held(value: dict[str, Any]) -> Meaning:
    """What the name in an object means that holds a name and its value."""
    held = (item for key, item in value.items() if isinstance(item, str) and _plain_name(key) in _NAME_KEYS)
    return next((told for name in held if (told := meaning(name)) is not Meaning.PLAIN), Meaning.PLAIN)


def _clean_header_list(items: list[str]) -> list[Any]:
    """Names and values by turns, as ``rawHeaders`` of Node has them; or lines, each with both."""
    names = [None, *items] if len(items) % 2 == 0 else [None] * len(items)
    return [
        _without(meaning(name) if name is not None and index % 2 else Meaning.PLAIN, item)
        for index, (name, item) in enumerate(zip(names, items, strict=False))
    ]


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)


def _clean_pair(pair: list[Any]) -> list[Any]:
    return [_clean(pair[0]), _without(meaning(pair[0]), pair[1])]


def _without(told: Meaning, value: Any) -> Any:
    """A value without secrets, whose name tells this."""
    if value in (None, "", [], {}) or isinstance(value, bool):
        return value
    match told, value:
        case Meaning.SECRET, dict() if _is_schema(value):
            return _clean(value)
        case Meaning.SECRET, _:
            return REDACTED
        case Meaning.SECRET_TEXTS, str():
            return REDACTED
        case Meaning.SECRET_TEXTS, list():
            return [_without(told, item) for item in value]
        case Meaning.SECRET_TEXTS, dict():
            return {key: _without(told, item) for key, item in value.items()}
    return _clean(value)


def _is_schema(value: dict[str, Any]) -> bool:
    return ("type" in value or "$ref" in value) and value.keys() <= _SCHEMA_KEYS


def _clean_text(text: str) -> str:
    if text[:_MAX_INDENT].lstrip()[:1] in _JSON_BEGINNINGS and (json := _parsed(text)) is not None:
        cleaned = _clean(json)
        return text if cleaned == json else orjson.dumps(cleaned).decode()
    if text.startswith(_ENCODED_BEGINNINGS) and (json := _decoded(text)) is not None:
        cleaned = _clean(json)
        return text if cleaned == json else b64encode(orjson.dumps(cleaned)).decode()
    return without_secrets(text)


def _decoded(text: str) -> Any:
    """The JSON value that a text has in Base64; ``None`` if it has none."""
    try:
        return _parsed(urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)).decode())
    except (Base64Error, UnicodeError):
        return None


def _parsed(text: str) -> Any:
    """The JSON value of a text; ``None`` if it has none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


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
                kept[key] = {
                    own: _clean_scheme(item) for own, item in value.items() if _plain_name(own) in _SCHEME_KEYS
                }
            case "exchangedauthcredential", dict():
                kept[key] = _clean_credential(value)
            case "credentialkey", str():
                kept[key] = REDACTED
    return kept


def _clean_scheme(value: Any) -> Any:
    """A copy of what an auth scheme says of itself: names of flows and scopes, which are no names of secrets."""
    match value:
        case str():
            return without_secrets(value)
        case dict():
            return {key: _clean_scheme(item) for key, item in value.items()}
        case list():
            return [_clean_scheme(item) for item in value]
    return value


def _clean_credential(credential: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in credential.items():
        match _plain_name(key), value:
            case "authtype", str():
                kept[key] = value
            case "oauth2", dict():
                sign_in = {own: item for own, item in value.items() if _plain_name(own) in {_SIGN_IN, "state"}}
                kept[key] = {own: _clean_member(own, str(item), {_SIGN_IN}) for own, item in sign_in.items()}
    return kept


def _without_query(url: str) -> str:
    base, mark, query = url.partition("?")
    return f"{base}{mark}{REDACTED}" if query else url


@lru_cache(maxsize=4096)
def _plain_name(key: str) -> str:
    """``accesstoken`` for ``access_token``, ``accessToken`` and ``access-token``."""
    return key.translate(_NO_SEPARATORS).lower()
