"""Removes secrets from the texts in JSON values: credentials that show what they are, in whatever field they stand.

Texts with JSON in them are another matter: ``_redaction`` cleans these like the values around them.
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from typing import Final
from urllib.parse import unquote_plus

from stream_protocol.recording.write._secret_names import Meaning, meaning

REDACTED: Final = "[redacted]"
"""Written in place of a removed value."""

_MAX_SEARCHED: Final = 2**18
"""Characters of a text that is searched. A longer one is a document or a file."""

_MIN_TOKEN: Final = 8
_MAX_TOKEN: Final = 2**13
"""Characters of a text that is a token."""

_TOKEN: Final = re.compile(
    r"(?:Bearer|Token|ApiKey|Negotiate|DPoP)\s+(?=\S*[\d._~+/=-])\S{6,}"  # a scheme, and no word after it
    r"|eyJ[\w-]{5,}\.eyJ[\w-]{5,}\.[\w-]*"  # a JSON Web Token
    r"|(?:sk|pk|rk)[-_][\w-]{16,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w.-]{10,}|SG\.[\w-]{10,}\.[\w-]{10,}|hf_\w{20,}|npm_\w{20,}"
    r"|pypi-[\w-]{20,}|whsec_\S{16,}",
    re.IGNORECASE,
)
"""A whole text that is a token: those of providers are known by their beginnings."""

_BASIC: Final = re.compile(r"Basic\s+([A-Za-z0-9+/]{4,}={0,2})", re.IGNORECASE)
_PEM: Final = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]*(?:-----END \1-----)?")
_URL: Final = re.compile(r"(?<![\w+.-])[a-zA-Z][\w+.-]{0,30}(?::[a-zA-Z][\w+.-]{0,30})?://[^\s\"'<>`]+")
_USER: Final = re.compile(r"(://)([^/?#@\s]*)@(?=[^/?#@]*)")
_PARAMETER: Final = re.compile(r"(?<=[?&#;])([^?&#;=]{1,200})=([^&#;]*)")
_FORM: Final = re.compile(r"[^\s=&?/:]{1,200}=[^\s&]*(?:&[^\s=&]{1,200}=[^\s&]*)*")
_HEADER: Final = re.compile(
    r"(?im)^((?:[\w-]*[-_])?(?:authorization|cookie|api-?key|auth-token|access-token))(: *)(\S.*)$"
)
_ASSIGNMENT: Final = re.compile(
    r"(?m)^([ \t]*(?:- |export )?[\"']?([\w.-]{1,200})[\"']?)(?:( ?= ?)\S.*|(: *)\S+[ \t\r]*)$"
)
"""``name = value``, and ``name: value`` where that is one word."""

_URL_SECRETS: Final = re.compile(
    r"(?:x-(?:amz|goog)-)?(?:signature|credential|security-token)|sig|hmac|awsaccesskeyid|googleaccessid|auth|hash-?key",
    re.IGNORECASE,
)
"""Parameters that sign a URL, or hold a credential."""

_LONG: Final = 20
"""Characters of a value that only a machine reads: the ``key`` of a URL, a lone user in it."""


def without_secrets(text: str) -> str:
    """The text without what shows itself as a credential; the same text if there is none."""
    if _MIN_TOKEN <= len(text) <= _MAX_TOKEN and (_TOKEN.fullmatch(text.strip()) or _is_basic(text.strip())):
        return REDACTED
    if len(text) > _MAX_SEARCHED:
        return text
    if "=" in text or ":" in text:
        text = _without_assignments(text)
        text = _HEADER.sub(rf"\1\2{REDACTED}", text)
    if "PRIVATE KEY-----" in text:
        text = _PEM.sub(REDACTED, text)
    return _URL.sub(lambda match: _clean_url(match[0]), text) if "://" in text else text


def _without_assignments(text: str) -> str:
    if _FORM.fullmatch(text):
        return _clean_parameters(f"?{text}")[1:]
    return _ASSIGNMENT.sub(
        lambda match: (
            f"{match[1]}{match[3] or match[4]}{REDACTED}" if meaning(match[2]) is not Meaning.PLAIN else match[0]
        ),
        text,
    )


def _is_basic(text: str) -> bool:
    match = _BASIC.fullmatch(text)
    try:
        return match is not None and b":" in b64decode(match[1] + "=" * (-len(match[1]) % 4))
    except Base64Error:
        return False


def _clean_url(url: str) -> str:
    return _clean_parameters(_USER.sub(_clean_user, url, count=1))


def _clean_user(match: re.Match[str]) -> str:
    user, colon, password = match[2].partition(":")
    if password:
        return f"{match[1]}{user}:{REDACTED}@"
    return f"{match[1]}{user if len(user) < _LONG else REDACTED}{colon}@"


def _clean_parameters(url: str) -> str:
    """Takes the secrets out of the query and the fragment."""
    names = {unquote_plus(match[1]).lower() for match in _PARAMETER.finditer(url)}
    signs_in = "code" in names and "state" in names

    def clean(match: re.Match[str]) -> str:
        name = unquote_plus(match[1])
        is_secret = (
            meaning(name) is Meaning.SECRET
            or _URL_SECRETS.fullmatch(name)
            or (name.lower() == "key" and len(match[2]) >= _LONG)
            or (signs_in and name.lower() in ("code", "state"))
        )
        return f"{match[1]}={REDACTED}" if is_secret and match[2] else match[0]

    return _PARAMETER.sub(clean, url)
