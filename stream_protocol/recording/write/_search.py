"""``Search``: copies a JSON value without its secrets, with limited work."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64decode
from binascii import Error as Base64Error
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol._secret_names import Meaning, meaning
from stream_protocol._secret_texts import REDACTED, search_work, without_secrets
from stream_protocol.adk import REQUEST_CREDENTIAL
from stream_protocol.session import CREDENTIAL_PROVIDED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Clean = Callable[[Any], Any]

TOO_LARGE: Final = "[too large to be searched for secrets]"
"""Placeholder for a value that is too large to search."""

MAX_WORK: Final = 700_000
"""The maximum estimated work of one search, in units of 0.1 µs: enough for 15,000 members, or for 300 KB of prose."""

MAX_LEVELS: Final = 200
"""Maximum number of nesting levels, including levels in JSON texts. Python's stack would allow about 250."""

MEMBER_WORK: Final = 25
"""The work for each member of a list or an object, in the unit of ``MAX_WORK``."""

NAME_WORK: Final = 45
"""The extra work for each name that is new to the search, in the unit of ``MAX_WORK``."""

_CONFIG_KEYS: Final = frozenset({"authscheme", "rawauthcredential", "exchangedauthcredential"})
_CREDENTIAL_KINDS: Final = frozenset({"oauth2", "http", "apikey", "serviceaccount"})
_SCHEME_KEYS: Final = frozenset(
    {
        *("type", "in", "name", "scheme", "bearerformat", "description", "flows", "openidconnecturl", "scopes"),
        *("authorizationendpoint", "tokenendpoint"),
    }
)
"""The keys of an auth scheme that are kept, because ADK needs them to read the scheme, or a browser gets them."""

_SIGN_IN: Final = "authuri"
"""The key of the sign-in URL in a credential."""

_NO_SEPARATORS: Final = dict.fromkeys(b"_-")
"""Translation table that removes the separators between the words of a name."""

_NAME_KEYS: Final = frozenset({"name", "key", "header", "field", "parameter", "param", "variable", "id", "k", "n"})
_VALUE_KEYS: Final = frozenset({"value", "values", "val", "v", "content", "data", "stringvalue", "rawvalue"})
"""Keys that may hold the value in an object such as ``{"name": "Cookie", "value": …}``."""

_JSON_BEGINNINGS: Final = frozenset('{["')
_ENCODED_BEGINNINGS: Final = ("eyJ", "ewo", "ew0", "W3s", "WyJ")
"""The Base64 forms of ``{"``, of ``{`` with a line end, of ``[{``, and of ``["``."""

_MAX_INDENT: Final = 100

_SCHEMA_KEYS: Final = frozenset(
    {
        *("type", "title", "description", "format", "minLength", "maxLength", "pattern", "nullable", "minimum"),
        *("maximum", "writeOnly", "readOnly", "deprecated", "items", "$ref"),
    }
)
"""Keys of JSON schemas. An object with only these keys, such as the schema of a password field, is not a secret."""


_FILE: Final = re.compile(r"data:[^\s,]{0,255};base64,")
"""Pattern for the beginning of a data URL in a text."""

_MIN_FILE: Final = 1000
"""Minimum number of characters of a Base64 text that counts as a file. API keys are shorter."""

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n"


class Search:
    """Copies JSON values without their secrets. One search stops after a limited amount of work (``MAX_WORK``).

    The work for each value is estimated before the value is searched. A placeholder replaces a value that needs more
    work than is left. Files in Base64 are not searched.

    ``typed``: True if fields must keep their types, as in an ADK event. Then the placeholder for a list is an empty
    list, and the placeholder for an object is an empty object.
    """

    def __init__(self, *, typed: bool = False) -> None:
        self._left = MAX_WORK
        self._typed = typed
        self._levels = 0
        self._names: dict[str, tuple[str, Meaning]] = {}
        """Name -> the name without separators, and its meaning (secret or not)."""

    def object_with(self, **cleaners: Clean) -> Clean:
        """Return a function that removes secrets from an object. ``cleaners``: for each key, a function that removes
        secrets from the value of this key.
        """
        return lambda value: self.clean_object(value, cleaners) if isinstance(value, dict) else self.clean(value)

    def list_of(self, clean: Clean) -> Clean:
        """Return a function that removes secrets from a list. ``clean``: the function that removes secrets from one
        item."""

        def clean_list(value: Any) -> Any:
            if not isinstance(value, list) or not self._enter(value):
                return self.clean(value)
            self._levels -= 1
            return [clean(item) for item in value]

        return clean_list

    def clean(self, value: Any) -> Any:
        match value:
            case str():
                return self._clean_text(value)
            case dict():
                return self.clean_object(value)
            case list():
                return self._clean_list(value)
        return value

    def clean_object(self, value: dict[str, Any], cleaners: Mapping[str, Clean] | None = None) -> Any:
        """Return a copy of an object without secrets. ``cleaners``: for a key, a function that removes secrets from the
        value of this key.
        """
        if not self._enter(value):
            return self._omitted(value)
        names = {self._known(key)[0] for key in value}
        cleaned: dict[str, Any] = {}
        if not _CONFIG_KEYS.isdisjoint(names):
            cleaned = self._clean_auth_config(value)
        elif "authtype" in names and not _CREDENTIAL_KINDS.isdisjoint(names):
            cleaned = self._clean_credential(value)
        else:
            answer_key = _credential_answer_key(value)
            meaning_of_name = self._meaning_of_name_in(value)
            for key, item in value.items():  # a comprehension would add a call for each level
                if key == answer_key:
                    cleaned[key] = CREDENTIAL_PROVIDED
                elif cleaners is not None and key in cleaners:
                    cleaned[key] = cleaners[key](item)
                elif meaning_of_name is not Meaning.PLAIN and self._known(key)[0] in _VALUE_KEYS:
                    cleaned[key] = self._without(meaning_of_name, item)
                else:
                    cleaned[key] = self._clean_member(key, item, names)
        self._levels -= 1
        return cleaned

    def _enter(self, members: dict[str, Any] | list[Any]) -> bool:
        """Subtract the work for a list or an object, and enter its nesting level. Return False if a limit is
        reached."""
        work = MEMBER_WORK * (1 + len(members))
        if work > self._left or self._levels >= MAX_LEVELS:
            return False
        self._left -= work
        self._levels += 1
        return True

    def _take(self, work: int) -> bool:
        if work > self._left:
            return False
        self._left -= work
        return True

    def _omitted(self, value: Any) -> Any:
        return type(value)() if self._typed and isinstance(value, dict | list) else TOO_LARGE

    def _known(self, name: str) -> tuple[str, Meaning]:
        """Return a name without separators, and its meaning (secret or not). If the search has almost reached its
        limit, a name that it has not seen before counts as secret.
        """
        if (known := self._names.get(name)) is None:
            if not self._take(NAME_WORK):
                return name, Meaning.SECRET
            known = self._names[name] = _plain_name(name), meaning(name)
        return known

    def _clean_member(self, key: str, value: Any, names: set[str]) -> Any:
        name, name_meaning = self._known(key)
        if name == _SIGN_IN and isinstance(value, str):
            return _without_query(value)
        if name == "state" and _SIGN_IN in names:
            return REDACTED
        if name.endswith("headers") and isinstance(value, list):
            return self._clean_header_list(value)
        return self._without(name_meaning, value)

    def _meaning_of_name_in(self, value: dict[str, Any]) -> Meaning:
        """Return the meaning (secret or not) of the name inside an object such as ``{"name": "Cookie", "value": …}``.
        Return ``PLAIN`` if the object has no such name.
        """
        names = (item for key, item in value.items() if isinstance(item, str) and self._known(key)[0] in _NAME_KEYS)
        return next(
            (name_meaning for name in names if (name_meaning := self._known(name)[1]) is not Meaning.PLAIN),
            Meaning.PLAIN,
        )

    def _clean_list(self, items: list[Any]) -> Any:
        """Return a copy of a list without secrets. The item after an option such as ``--password`` counts as a
        secret."""
        if not self._enter(items):
            return self._omitted(items)
        cleaned = [self._clean_pair(item) if _is_pair(item) else self.clean(item) for item in items]
        for index, item in enumerate(items[:-1]):
            if isinstance(item, str) and item.startswith("--") and self._known(item)[1] is Meaning.SECRET:
                cleaned[index + 1] = REDACTED
        self._levels -= 1
        return cleaned

    def _clean_header_list(self, items: list[Any]) -> Any:
        """Return a list of HTTP headers without secrets. Names and values alternate in the list, as in Node's
        ``rawHeaders``, or each item is a header line."""
        if not self._take(MEMBER_WORK * len(items)):
            return self._omitted(items)
        if not all(isinstance(item, str) for item in items):
            return self._clean_list(items)
        names = [None, *items] if len(items) % 2 == 0 else [None] * len(items)
        return [
            self._without(self._known(name)[1] if name is not None and index % 2 else Meaning.PLAIN, item)
            for index, (name, item) in enumerate(zip(names, items, strict=False))
        ]

    def _clean_pair(self, pair: list[Any]) -> list[Any]:
        return [self.clean(pair[0]), self._without(self._known(pair[0])[1], pair[1])]

    def _without(self, name_meaning: Meaning, value: Any) -> Any:
        """Return the value without secrets. ``name_meaning``: the meaning (secret or not) of the value's name."""
        if value in (None, "", [], {}) or isinstance(value, bool):
            return value
        match name_meaning, value:
            case Meaning.SECRET, dict() if _is_schema(value):
                return self.clean(value)
            case Meaning.SECRET, _:
                return REDACTED
            case Meaning.SECRET_TEXTS, str():
                return REDACTED
            case Meaning.SECRET_TEXTS, (dict() | list()) if not self._enter(value):
                return self._omitted(value)
            case Meaning.SECRET_TEXTS, list():
                texts: Any = [self._without(name_meaning, item) for item in value]
            case Meaning.SECRET_TEXTS, dict():
                texts = {key: self._without(name_meaning, item) for key, item in value.items()}
            case _:
                return self.clean(value)
        self._levels -= 1
        return texts

    def _clean_text(self, text: str) -> str:
        if _FILE.match(text) or (len(text) >= _MIN_FILE and self._take(len(text) // 50) and _is_base64(text)):
            return text
        if text[:_MAX_INDENT].lstrip()[:1] in _JSON_BEGINNINGS:
            if not self._take(len(text) // 4 + text.count(",")):
                return TOO_LARGE
            if (json := _parsed(text)) is not None:
                cleaned = self.clean(json)
                return text if cleaned == json else orjson.dumps(cleaned).decode()
        if text.startswith(_ENCODED_BEGINNINGS):
            if not self._take(len(text) // 4):
                return TOO_LARGE
            if (json := _decoded(text)) is not None:
                cleaned = self.clean(json)
                return text if cleaned == json else b64encode(orjson.dumps(cleaned)).decode()
        return self._searched(text)

    def _searched(self, text: str) -> str:
        is_affordable = self._take(len(text) // 10) and self._take(search_work(text))  # the estimate also costs work
        return without_secrets(text) if is_affordable else TOO_LARGE

    def _clean_auth_config(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return an auth config with only two values: its scheme, and the part of the credential that may be sent to a
        browser.

        A fixed text replaces ``credentialKey``. If it were missing, ADK would compute it again.
        """
        kept: dict[str, Any] = {}
        for key, value in config.items():
            match self._known(key)[0], value:
                case "authscheme", dict():
                    kept[key] = {
                        own: self._clean_scheme(item)
                        for own, item in value.items()
                        if self._known(own)[0] in _SCHEME_KEYS
                    }
                case "exchangedauthcredential", dict():
                    kept[key] = self._clean_credential(value)
                case "credentialkey", str():
                    kept[key] = REDACTED
        return kept

    def _clean_scheme(self, value: Any) -> Any:
        """Return a copy of an auth scheme without secrets. The scheme's keys, such as the names of OAuth flows, are not
        treated as names of secrets.
        """
        match value:
            case str():
                return self._searched(value)
            case dict() | list() if not self._enter(value):
                return self._omitted(value)
            case dict():
                cleaned: Any = {key: self._clean_scheme(item) for key, item in value.items()}
            case list():
                cleaned = [self._clean_scheme(item) for item in value]
            case _:
                return value
        self._levels -= 1
        return cleaned

    def _clean_credential(self, credential: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in credential.items():
            match self._known(key)[0], value:
                case "authtype", str():
                    kept[key] = value
                case "oauth2", dict():
                    sign_in = {own: item for own, item in value.items() if self._known(own)[0] in {_SIGN_IN, "state"}}
                    kept[key] = {own: self._clean_member(own, str(item), {_SIGN_IN}) for own, item in sign_in.items()}
        return kept


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)


def _is_schema(value: dict[str, Any]) -> bool:
    return ("type" in value or "$ref" in value) and value.keys() <= _SCHEMA_KEYS


def _credential_answer_key(value: dict[str, Any]) -> str | None:
    """If the object is an answer to a credential request, return the key of the credential in it; otherwise
    ``None``.
    """
    if value.get("name") == REQUEST_CREDENTIAL and "response" in value:
        return "response"
    tools = (value.get("toolName"), str(value.get("type")).removeprefix("tool-"))
    return "output" if REQUEST_CREDENTIAL in tools and "output" in value else None


def _without_query(url: str) -> str:
    base, mark, query = url.partition("?")
    return f"{base}{mark}{REDACTED}" if query else url


def _is_base64(text: str) -> bool:
    return text.isascii() and not text.encode().translate(None, delete=_BASE64)


def _decoded(text: str) -> Any:
    """Return the JSON value in a Base64 text; ``None`` if the text contains no JSON."""
    try:
        return _parsed(urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)).decode())
    except (Base64Error, UnicodeError):
        return None


def _parsed(text: str) -> Any:
    """Return the JSON value of a text; ``None`` if it is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


@lru_cache(maxsize=4096)
def _plain_name(key: str) -> str:
    """Return a name in lower case and without separators: ``accesstoken`` for ``access_token`` and ``accessToken``."""
    return key.translate(_NO_SEPARATORS).lower()
