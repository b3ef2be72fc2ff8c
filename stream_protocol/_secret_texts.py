"""Remove secrets from the texts of recordings, logs and error messages. Regular expressions find texts that look like
credentials.

``without_secrets`` is for recordings. It removes only text that is clearly a credential, because a replay of the
recording must still work. ``message_without_secrets`` is for logs and errors. It also removes text that may be a
credential.
"""

import os
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Collection
from typing import Final
from urllib.parse import unquote_plus

from stream_protocol._secret_names import Meaning, meaning

REDACTED: Final = "[redacted]"

_MAX_TOKEN: Final = 2**13
"""Maximum number of characters of an ``Authorization`` value."""

_SCHEME: Final = re.compile(r"(?:Bearer|Token|ApiKey|Negotiate|DPoP)\s+(?=\S*[\d._~+/=-])\S{6,}", re.IGNORECASE)
"""Pattern for a whole ``Authorization`` value: a scheme and a token."""

_TOKEN: Final = re.compile(
    r"(?<![\w-])(?:eyJ[\w-]{5,}\.eyJ[\w-]{5,}\.[\w-]*"
    r"|[sr]k[-_][\w-]{16,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{12,}|xox[a-z]-[\w-]{10,}|AKIA[A-Z0-9]{16}"
    r"|ASIA[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w.-]{10,}|SG\.[\w-]{10,}\.[\w-]{10,}|hf_\w{20,}|npm_\w{16,}"
    r"|pypi-[\w-]{20,}|dop_v1_\w{16,}|GOCSPX-[\w-]{16,}|1//0[\w-]{20,}|xapp-[\w-]{16,}|hvs\.[\w-]{16,}"
    r"|(?:gsk|r8)_\w{20,}|(?:xai|pplx|nvapi|tvly)-[\w-]{20,}|lin_api_\w{20,}|AQ\.[\w-]{20,}"
    r"|AGE-SECRET-KEY-1\w+|whsec_[\w+/=]{16,}|(?:Bearer|bearer)\s+[\w.~+/=-]{16,})"
)
"""Pattern for tokens that can be recognized: JSON Web Tokens, tokens of providers, and long tokens after ``Bearer``."""

_BASIC: Final = re.compile(r"Basic\s+([A-Za-z0-9+/]{4,}={0,2})", re.IGNORECASE)
_PEM: Final = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY(?: BLOCK)?)-----[^-]*(?:-----END \1-----)?")
_URL: Final = re.compile(r"(?<![\w+.-])[a-zA-Z][\w+.-]{0,30}(?::[a-zA-Z][\w+.-]{0,30})?://[^\s\"'<>`]+")
_WEBHOOK: Final = re.compile(r"(://(?:hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com/api/webhooks)/)[^\s?#]+")
"""Pattern for URLs whose path is a credential."""
_USER: Final = re.compile(r"(://)([^/?#@\s]*)@(?=[^/?#@]*)")
_PARAMETER: Final = re.compile(r"(?<=[?&#;])([^?&#;=]{1,200})=([^&#;]*)")
_HEADER: Final = re.compile(
    r"(?<![\w-])((?:[\w-]{0,40}[-_])?(?:authorization|cookie|api-?key|auth-token|access-token): *)[^\s\"'][^\r\n\"']*",
    re.IGNORECASE,
)
_QUOTED_NAME: Final = re.compile(r"[\"']\s{0,9}:")
"""Pattern for the end of a quoted name: the quote and the colon after it."""
_LINE: Final = re.compile(r"(?m)^([ \t]*(?:- |export )?([\w.-]{1,200})(?: ?= ?|: *))(\S.*)$")
_INLINE: Final = re.compile(
    r"(?<![\w.-])((?P<quote>\\{0,8}[\"'])?(?P<name>[\w.-]{2,100})(?(quote)(?P=quote)\s{0,9}[:=]|[ ]?=)\s{0,9})"
    r"(\\{0,8}\"[^\"\n]*\"|\\{0,8}'[^'\n]*'|[^\s\"'&;,<>(){}\[\]]+)"
)
"""Pattern for ``name=value`` and ``"name": value`` anywhere in a text."""
_ELEMENT: Final = re.compile(r"(<([\w.:-]{2,100})(?:\s[^<>]{0,200})?>)[^<]+(?=</)")
_USER_OPTION: Final = re.compile(r"((?<!\S)(?:-u|--user)[ =][^\s:]{1,100}:)[^\s:@]+")

_URL_SECRETS: Final = re.compile(
    r"(?:x-(?:amz|goog)-)?(?:signature|credential|security-token)|sig|hmac|awsaccesskeyid|googleaccessid|auth|hash-?key",
    re.IGNORECASE,
)
"""Pattern for names of URL parameters that are a signature or a credential."""

_LONG: Final = 20
"""The minimum length of a secret in two places of a URL: the parameter ``key``, and a user without a password."""


# Patterns that only `message_without_secrets` uses

_ANY_URL: Final = re.compile(r"\w://[^\s\"'<>]+")
_ANY_USER: Final = re.compile(r"(?<=\w)://(?:[^/@:?#]*:(?!\d+[/?#])|[^/@?#]+@)")
"""Pattern for the user in a URL: a name alone, or a name and the colon before its password."""
_ANY_ADDRESS: Final = re.compile(r"\w://")
_MARK: Final = re.compile(r"[?#]")
_NAMED: Final = re.compile(
    r"(?<![\w-])((?P<name>[\w-]{2,100}(?: key)?)(?: provided)?(?:\\*[\"'])?\s{0,9}[:=]\s{0,9})"
    r"[\[(]*(?:(?:bearer|basic|token|apikey|digest)\s+)?"
    r"(?P<value>b?\"(?:[^\"\\]|\\.)+\"?|b?'(?:[^'\\]|\\.)+'?|\\+[\"'][^\"']+|[^\s\"',;&}\])]{4,})",
    re.IGNORECASE,
)
"""Pattern for names with values in a sentence, such as ``api_key=…`` and ``API key provided: …``.

A match begins only at the beginning of a word. Otherwise the search of a long word would take seconds.
"""
_COOKIE: Final = re.compile(r"(?i)\b((?:set-)?cookie[\"']?\s*[:=]\s*[\"']?)[^\s\"';,]+(?:;\s*[^\s\"';,]+)*")
_CUT_TOKEN: Final = re.compile(r"\b(?:AIza|AKIA|(?:sk|pk|rk|gsk|hf|r8|xai|pplx)[-_])[\w*-]{4,}")
"""Pattern for a truncated or masked API key. Providers quote such keys in errors."""
_BEARER: Final = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}")
_LONG_WORD: Final = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}")
"""Pattern for a long word of letters and digits, which may be a key without a known prefix."""

_SECRET_VARIABLE: Final = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET: Final = 8
"""Minimum number of characters of a secret environment variable's value. Shorter values may be ordinary words."""


def search_work(text: str) -> int:
    """Estimate the maximum time of ``without_secrets`` for the text, in units of 0.1 µs. The estimate itself takes
    little time.
    """
    colons, equals, has_addresses = text.count(":"), text.count("="), "://" in text
    work = len(text)
    if colons or equals:
        has_inline_names = _has_inline_names(text)
        work += len(text) * (1 + 3 * has_inline_names + 2 * _has_headers(text))
        work += 50 * min(text.count("\n") + 1, colons + equals) + 5 * colons
        work += 50 * (equals + colons) if has_inline_names else 0
    work += 60 * text.count("</")
    if has_addresses:
        marks = text.count("&") + text.count(";") + text.count("#") + text.count("?")
        work += len(text) + 60 * text.count("://") + 40 * marks
    return work


def without_secrets(text: str) -> str:
    """Return the text with ``[redacted]`` in place of each part that is clearly a credential."""
    if len(text) <= _MAX_TOKEN and (_SCHEME.fullmatch(text.strip()) or _is_basic(text.strip())):
        return REDACTED
    text = _TOKEN.sub(REDACTED, text)
    if _has_names(text):
        text = _LINE.sub(_clean_line, text)
        if _has_inline_names(text):
            text = _INLINE.sub(lambda found: _clean_value(found, found["name"]), text)
        if _has_headers(text):
            text = _HEADER.sub(rf"\1{REDACTED}", text)
        if "-u" in text:
            text = _USER_OPTION.sub(rf"\1{REDACTED}", text)
    if "</" in text:
        text = _ELEMENT.sub(lambda found: _clean_value(found, found[2]), text)
    if "PRIVATE KEY" in text:
        text = _PEM.sub(REDACTED, text)
    return _URL.sub(lambda found: _clean_url(found[0]), text) if "://" in text else text


def _has_names(text: str) -> bool:
    return ":" in text or "=" in text


def _has_inline_names(text: str) -> bool:
    return "=" in text or _QUOTED_NAME.search(text) is not None


def _has_headers(text: str) -> bool:
    lowered = text.lower()
    return any(end in lowered for end in ("authorization:", "cookie:", "key:", "token:"))


def _clean_line(found: re.Match[str]) -> str:
    """``found`` is a line with a name and a value. If the name is that of a secret, redact the value. Several words
    after a colon are a sentence, and are not redacted.
    """
    is_sentence = found[1].rstrip().endswith(":") and len(found[3].split()) > 1
    return found[0] if is_sentence else _clean_value(found, found[2])


def _clean_value(found: re.Match[str], name: str) -> str:
    value = found[0].removeprefix(found[1])
    return f"{found[1]}{REDACTED}" if value != REDACTED and _is_secret(name, value) else found[0]


def _is_secret(name: str, value: str) -> bool:
    kind = meaning(name)
    return kind is Meaning.SECRET or (kind is Meaning.SECRET_TEXTS and not value.strip().isdecimal())


def _is_basic(text: str) -> bool:
    match = _BASIC.fullmatch(text)
    try:
        return match is not None and b":" in b64decode(match[1] + "=" * (-len(match[1]) % 4))
    except Base64Error:
        return False


def _clean_url(url: str) -> str:
    return _clean_parameters(_WEBHOOK.sub(rf"\1{REDACTED}", _USER.sub(_clean_user, url, count=1)))


def _clean_user(match: re.Match[str]) -> str:
    user, colon, password = match[2].partition(":")
    if password:
        return f"{match[1]}{user}:{REDACTED}@"
    return f"{match[1]}{user if len(user) < _LONG else REDACTED}{colon}@"


def _clean_parameters(url: str) -> str:
    """Redact the secrets in the query and the fragment of the URL."""
    names = {unquote_plus(match[1]).lower() for match in _PARAMETER.finditer(url)}
    signs_in = "code" in names and "state" in names

    def clean(match: re.Match[str]) -> str:
        name = unquote_plus(match[1])
        is_secret = (
            _is_secret(name, match[2])
            or _URL_SECRETS.fullmatch(name)
            or (name.lower() == "key" and len(match[2]) >= _LONG)
            or (signs_in and name.lower() in ("code", "state"))
        )
        return f"{match[1]}={REDACTED}" if is_secret and match[2] else match[0]

    return _PARAMETER.sub(clean, url)


def message_without_secrets(text: str, *, known: Collection[str] = ()) -> str:
    """Return the text of a log line or an error. ``[redacted]`` replaces everything that may be a secret.

    Removes more than ``without_secrets``. Also removes users and queries of URLs, values of secret environment
    variables, and long words. If a sentence contains the name of a secret, also removes the word after the name.
    ``known``: long words that are not secret.
    """
    for value in _environment_secrets():
        text = text.replace(value, REDACTED)
    text = _ANY_URL.sub(lambda found: _without_query(_without_user(found[0])), text)
    text = _PEM.sub(REDACTED, text) if "PRIVATE KEY" in text else text
    text = _COOKIE.sub(rf"\1{REDACTED}", _NAMED.sub(_clean_named, text))
    text = _CUT_TOKEN.sub(REDACTED, text)
    text = _TOKEN.sub(REDACTED, _BEARER.sub(rf"\1{REDACTED}", text))
    return _LONG_WORD.sub(lambda found: found[0] if found[0] in known else REDACTED, text)


def _clean_named(found: re.Match[str]) -> str:
    is_secret = found["name"].lower() == "key" or _is_secret(found["name"], found["value"].rstrip("."))
    return f"{found[1]}{REDACTED}" if is_secret else found[0]


def _without_user(url: str) -> str:
    """Return the URL without user names and passwords. Also removes them from URLs inside the URL. Takes linear time.

    Some programs do not encode the password in a URL. So all characters up to the last ``@`` count as the password,
    except spaces and quotes.
    """
    last = url.rfind("@")
    kept, begin = [], 0
    while begin <= last and (user := _ANY_USER.search(url, begin, last + 1)) is not None:
        kept.append(url[begin : user.start() + len("://")])
        begin = user.end() if user[0].endswith("@") else last + 1
    return "".join([*kept, url[begin:]])


def _without_query(url: str) -> str:
    begin = 0
    for mark in _MARK.finditer(url, 0, len(url) - 1):
        if mark[0] == "?" and _ANY_ADDRESS.search(url, begin, mark.start()):
            return url[: mark.start()]
        begin = mark.end()
    return url


def _environment_secrets() -> list[str]:
    """Return the values of secret environment variables. Longer values come first, because a value may contain a
    shorter one.
    """
    named = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name.upper()))
    values = {form for value in named for form in (value, " ".join(value.split()))}
    return sorted((value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)
