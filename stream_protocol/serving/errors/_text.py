"""The text of an exception, on one line, not too long, and without secrets."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from stream_protocol.wire import printable, whole_words

LIMIT: Final = 300
"""Characters of foreign text in a sentence."""

REMOVED: Final = "[removed]"
"""Written in place of a secret."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(r"^\S.*", re.MULTILINE | re.DOTALL)
"""The exception below the frames of a traceback, which are indented."""

MAX_PROBLEMS: Final = 3
"""Errors of a group, and problems of a ``ValidationError``, that a sentence has. It counts the others."""

_URL: Final = re.compile(r"\w://[^\s\"'<>]+")
_USER: Final = re.compile(r"(?<=\w)://(?:[^/@:?#]*:(?!\d+[/?#])|[^/@?#]+@)")
"""The beginning of a user's name and password in a URL, up to the colon, or a name alone."""
_SCHEME: Final = re.compile(r"\w://")
_MARK: Final = re.compile(r"[?#]")
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)")
_NAMED: Final = re.compile(
    r"(?i)((?<![\w-])(?:[\w-]*(?:(?:api|access|account|private|secret|signing)[-_ ]?key|token|secret|password|passwd"
    r"|passphrase|pwd|authorization|credential)|key)(?: provided|s(?=[\"']?\s*[:=]\s*[\[(]))?(?:\\*[\"'])?\s*[:=]\s*)"
    r"[\[(]*(?:(?:bearer|basic|token|apikey|digest)\s+)?"
    r"(?:b?\"(?:[^\"\\]|\\.)+\"?|b?'(?:[^'\\]|\\.)+'?|\\+[\"'][^\"']+|[^\s\"',;&}\])]{4,})"
)
"""``api_key=…``, ``"Authorization": "Bearer …"``, ``x-goog-api-key: …``, ``{\\"password\\": \\"…\\"}``.
Each attempt begins at the beginning of a word: else a long word takes seconds."""
_COOKIE: Final = re.compile(r"(?i)\b((?:set-)?cookie[\"']?\s*[:=]\s*[\"']?)[^\s\"';,]+(?:;\s*[^\s\"';,]+)*")
_BEARER: Final = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}")
_SHAPES: Final = re.compile(
    r"\b(?:AIza[\w-]{4,}|AQ\.[\w-]{10,}|ya29\.[\w.-]+|(?:sk|pk|rk|gsk|hf|r8|xai|pplx)[-_][\w*-]{4,}|gh[pousr]_\w{10,}"
    r"|(?:glpat|nvapi|tvly|sess|GOCSPX)-[\w-]{8,}|(?:npm|whsec|dop_v1|lin_api)_\w{8,}|SG\.[\w-]{8,}\.[\w-]+"
    r"|github_pat_\w+|xox[a-z]-[\w-]+|A[KS]IA[A-Z0-9]{12,})"
    r"|(?<![\w-])(?:eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,})"
)
"""Keys as the well-known providers write them, JSON web tokens, and any long word of letters and digits."""

_SECRET_VARIABLE: Final = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET: Final = 8
"""A shorter value of such a variable may be an ordinary word."""


def one_line(text: str, limit: int = LIMIT, *, known: Collection[str] = ()) -> str:
    """Return the text on one line of at most ``limit`` characters, without secrets and tracebacks.

    A longer text ends after a whole word. A text that is only a traceback becomes its exception.
    Control characters are escaped: see ``printable``. ``known``: words that look like a key and are not.
    """
    read = whole_words(text, 20 * limit)
    told, traceback, _ = read.partition(_TRACEBACK)
    if traceback and not told.strip():
        told = _raised(text[-20 * limit :])
    line = printable(without_secrets(" ".join(told.split()), known=known))
    if len(line) <= limit and (traceback or len(read) == len(text)):
        return line
    return f"{whole_words(line, limit - 1)}…"


def _raised(traceback: str) -> str:
    """Return the exception at the end of a printed traceback."""
    *_, frames = traceback.split(_TRACEBACK)
    *_, frame = frames.split('  File "')
    found = _RAISED.search(frame.partition("\n")[2])
    return found[0] if found else traceback


def without_secrets(text: str, *, known: Collection[str] = ()) -> str:
    """The text without the values of the environment's secrets, without queries and passwords in URLs, and without what
    looks like a key, but for those that are ``known``."""
    for value in _environment_secrets():
        text = text.replace(value, REMOVED)
    text = _URL.sub(lambda found: _without_query(_without_user(found[0])), text)
    text = _PRIVATE_KEY.sub(REMOVED, text)
    text = _COOKIE.sub(rf"\1{REMOVED}", _NAMED.sub(rf"\1{REMOVED}", text))
    text = _BEARER.sub(rf"\1{REMOVED}", text)
    return _SHAPES.sub(lambda found: found[0] if found[0] in known else REMOVED, text)


def _without_user(url: str) -> str:
    """The URL without user names and passwords, also in a URL that it holds.

    A password may have any character but spaces and quotes: the author of the URL may have forgotten to encode it. So a
    password ends at the last ``@``. Each character is looked at once. A search for the last ``@`` from each ``://``
    would take quadratic time.
    """
    last = url.rfind("@")
    kept, begin = [], 0
    while begin <= last and (user := _USER.search(url, begin, last + 1)) is not None:
        kept.append(url[begin : user.start() + len("://")])
        begin = user.end() if user[0].endswith("@") else last + 1
    return "".join([*kept, url[begin:]])


def _without_query(url: str) -> str:
    """The URL without its query. Each character is looked at once."""
    begin = 0
    for mark in _MARK.finditer(url, 0, len(url) - 1):
        if mark[0] == "?" and _SCHEME.search(url, begin, mark.start()):
            return url[: mark.start()]
        begin = mark.end()
    return url


def _environment_secrets() -> list[str]:
    """The secrets, each on one line. Longer ones come first: one may begin with another."""
    named = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name.upper()))
    values = {form for value in named for form in (value, " ".join(value.split()))}
    return sorted((value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)


def said(error: BaseException) -> str:
    """``str(error)``; empty if the exception cannot be written, as anybody's class may fail there."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - anybody's code
        return ""


def error_text(error: BaseException) -> str:
    """The type of the exception, and what it says."""
    name, text = type(error).__name__, one_line(_message(error))
    return f"{name}: {text}" if text else name


def _message(error: BaseException) -> str:
    match error:
        case KeyError(args=(str() as text,)):  # its own text is that of `repr`
            return text if " " in text else repr(text)
        case BaseExceptionGroup():
            return "; ".join(error_text(inner) for inner in islice(_inner(error), MAX_PROBLEMS))
    if (problems := _validation_problems(error)) is not None:
        return problems
    return said(error)


def _inner(group: BaseExceptionGroup) -> Iterator[BaseException]:
    """The exceptions in the group and in the groups in it, however deep they are."""
    left: list[BaseException] = [group]
    while left:
        error = left.pop()
        if isinstance(error, BaseExceptionGroup):
            left.extend(reversed(error.exceptions))
        else:
            yield error


def _validation_problems(error: BaseException) -> str | None:
    """Return what a pydantic ``ValidationError`` says, without the values that it refuses and without links."""
    if type(error).__name__ != "ValidationError" or not hasattr(error, "errors"):
        return None
    try:
        problems: list[dict[str, Any]] = error.errors()
        told = [problem_text(problem) for problem in problems[:MAX_PROBLEMS]]
        more = len(problems) - len(told)
        told += [f"{more} more problem{'s' * (more > 1)}"] if more else []
        return f"{getattr(error, 'title', '')}: {'; '.join(told)}".removeprefix(": ")
    except Exception:  # noqa: BLE001 - another library's class of this name
        return None


def problem_text(problem: Mapping[str, Any]) -> str:
    """Return one problem of a ``ValidationError``, with the name of the field if it is that of a field."""
    place = f"`{'.'.join(map(str, problem['loc']))}`" if problem["loc"] else ""
    match problem["type"]:
        case "missing":
            return f"{place} is missing"
        case "extra_forbidden":
            return f"{place} is not one of its fields"
    reason = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
    return f"{place}: {reason}" if place else reason
