"""Decide from the name of a variable, header or key whether its value is a secret.

Only whole words count. ``x-api-key``, ``apiKey`` and ``API_KEY`` all have the words ``api key``, but ``keyboard`` does
not contain the word ``key``. The last word may show that a value is not secret, for example in ``token_count``.
"""

import re
import unicodedata
from enum import Enum, auto
from functools import lru_cache
from typing import Final

_MAX_LENGTH: Final = 200
"""Maximum number of characters of a name. A longer string is treated as text."""

_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_A-Za-z]+")


def _plain(name: str) -> str:
    """Return the name with full-width letters replaced by normal letters, and without accents and invisible
    characters.
    """
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in ("Cf", "Mn"))


_IN_OTHER_LANGUAGES: Final = "|".join(
    map(
        _plain,
        (
            *("passwort", "kennwort", "mot de passe", "contraseña", "clave", "senha", "wachtwoord"),
            *("пароль", "パスワード", "密码", "密碼", "비밀번호"),
        ),
    )
)

_SECRETS: Final = (
    r"\bpass ?(?:words?|wd|phrase|code|key)\b",
    rf"\b(?:pwd|pswd|{_IN_OTHER_LANGUAGES})\b",
    r"(?:^|github |gitlab )pat$",
    r"\b(?:secrets?|token|cookies?|jwts?|credentials?|creds|authorization|bearer|o ?auth|keytab)\b",
    r"\b(?:pin|[ht]?otp|cvv|cvc|csrf|xsrf|sessid|phpsessid|jsessionid|mnemonic)\b",
    r"\b(?:api|access|secret|private|signing|encryption|ssh|master|auth|account|shared|subscription) ?keys?\b",
    r"\b(?:decryption|session|consumer|license|hmac|aes|rsa|pgp|gpg|deploy|admin|webhook|functions) keys?\b",
    r"\b(?:app|application|client|service|server|stripe|openai|anthropic|gemini|google|azure|github|slack) keys?$",
    r"\b(?:auth|authorization|verification|recovery|backup|security|access|mfa|sms|device|login) ?codes?\b",
    r"\b(?:fa|factor|one time) codes?\b",
    r"\b(?:access|refresh|id|auth|api|bearer|session|device|push|csrf) ?tokens?\b",
    r"\b(?:db|database|user|smtp|imap|mail|root|admin|redis|proxy|ftp|pg)pass\b",
    r"\b(?:(?:seed|recovery) phrase|security answer|connect sid)\b",
    r"\b(?:code ?verifier|client assertion|connection ?string|auth ?response ?uri)\b",
    r"(?:^|\b(?:basic|http|proxy|x) )auth(?: header)?$",
    # Words that can follow another word without a gap, such as `mypassword`.
    r"(?:password|passwd|apikey|secretkey|accesstoken|refreshtoken|authtoken|csrf\w*token|clientsecret)s?\b",
)
_SECRET: Final = re.compile("|".join(_SECRETS))
"""Pattern that finds words of a secret in a name of lowercase words with spaces between them."""

_ABOUT: Final = re.compile(
    r" (?:counts?|counter|types?|limits?|length|size|ur[il]s?|endpoint|expires(?: in| at)?|expiry|expiration|ttl|at|age"
    r"|polic(?:y|ies)|budget|usage|used|price|cost|rate|ratio|format|scheme|kind|fields?|status|required|enabled|date"
    r"|supported|strength|label|placeholder|hint|prompt|errors?|message|help|index|position|details?|servers?|issuer"
    r"|colou?r|address|symbol|icon|names?|title|description|banner|consent|recipe|algorithm|audience|scopes?|rules)$"
)
"""Pattern for the end of a name whose value only describes a secret, such as the number of tokens."""

_HOLDS_SECRET: Final = re.compile(r"\b(?:auth ?response ?uri|id token hint)$")
"""Pattern for names whose value is a secret, although ``_ABOUT`` matches them."""

_PLACE: Final = re.compile(r"\b(?:page|continuation|sync|cancellation|cursor|resume) ?token$|\baccount key (?!s?$)")
"""Pattern for names of tokens and keys that are not secret, such as ``page token``."""


class Meaning(Enum):
    """Tells if the value with a name is secret, not secret, or secret only if it is a text."""

    PLAIN = auto()
    SECRET = auto()
    """The value is a secret, whatever its type."""
    SECRET_TEXTS = auto()
    """Texts in the value are secrets, but numbers are not. For example, a number under ``tokens`` is a count."""


def meaning(name: str) -> Meaning:
    """Return the ``Meaning`` of the name of a variable, header or key."""
    return _meaning(name) if len(name) <= _MAX_LENGTH else Meaning.PLAIN


@lru_cache(maxsize=4096)
def _meaning(name: str) -> Meaning:
    words = " ".join(_WORD.findall(_plain(name))).lower()
    if (_ABOUT.search(words) and not _HOLDS_SECRET.search(words)) or _PLACE.search(words):
        return Meaning.PLAIN
    if _SECRET.search(words):
        return Meaning.SECRET
    return Meaning.SECRET_TEXTS if words.endswith("tokens") or words.split()[-1:] == ["pass"] else Meaning.PLAIN
