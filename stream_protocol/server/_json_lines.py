"""Log records as lines of JSON that hold no word of a chat.

A server's own records are known, and mark what they quote: ``Quoting``. Any other code may quote a prompt, an answer or
the arguments of a tool, also in the text of an exception. Of such a record, only the text that stands in the code
itself is written.
"""

import inspect
import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from stream_protocol.serving.errors import OMITTED, Quoting, exception_text
from stream_protocol.serving.telemetry import ID_NAMES

OURS: Final = ("stream_protocol.serving", "stream_protocol.server", "stream_protocol.cli")
"""The loggers whose records, and those below them, say nothing that they do not mark."""

_CONVERSION: Final = re.compile(r"%(?:\(\w*\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?([a-zA-Z%])")
"""The placeholders of ``%`` formatting: ``%s``, ``%(name)s``, ``%5.1f``; ``%%`` is a percent sign."""

_TRACE_LIMIT: Final = 50
"""Lines of a stack trace: its innermost ones."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON: ``time``, ``severity``, ``logger``, ``message``, the ids of ``ChatIdFilter``.

    An exception is told by ``error_type`` and ``stack``: file, line and function, without what it says. Records of
    the loggers ``whole``, and of those below them, are written with all that they say. To be used where records are
    logged, not behind a queue.
    """

    def __init__(self, whole: Iterable[str] = ()) -> None:
        super().__init__()
        self._whole = tuple(whole)

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, without its end."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "severity": record.levelname,
            "logger": record.name,
            "message": self._message(record),
        }
        line |= {name: getattr(record, name, None) for name in ID_NAMES}
        line |= getattr(record, "facts", {}) if is_ours(record) else {}
        error = record.exc_info[1] if record.exc_info else getattr(record, "error", None)
        if isinstance(error, BaseException):
            line |= self._error(record, error)
        return json.dumps({name: value for name, value in line.items() if value not in (None, "")})

    def _message(self, record: logging.LogRecord) -> str:
        if self._is_whole(record):
            with suppress(Exception):  # arguments that do not fit: logging would print them as text
                return record.getMessage()
        if is_ours(record):
            told = [arg.redacted if isinstance(arg, Quoting) else arg for arg in _arguments(record)]
            return str(record.msg) % tuple(told) if told else str(record.msg)
        text = _text_in_code(record)
        if text is None:
            return f"{OMITTED} ({record.module}.{record.funcName}, line {record.lineno})"
        return _CONVERSION.sub(_left_out, text) if record.args else text

    def _error(self, record: logging.LogRecord, error: BaseException) -> dict[str, Any]:
        told: dict[str, Any] = {"error_type": type(error).__name__, "stack": [*_stack(error.__traceback__)]}
        return {**told, "error": exception_text(error)} if self._is_whole(record) else told

    def _is_whole(self, record: logging.LogRecord) -> bool:
        return _is_below(record.name, self._whole)


def is_ours(record: logging.LogRecord) -> bool:
    """Return True if a server's own code has logged the record. That code marks all that it says of a chat."""
    return _is_below(record.name, OURS)


def _is_below(name: str, loggers: Iterable[str]) -> bool:
    return any(name == logger or name.startswith(f"{logger}.") for logger in loggers)


def _arguments(record: logging.LogRecord) -> tuple[object, ...]:
    return record.args if isinstance(record.args, tuple) else ()


def _text_in_code(record: logging.LogRecord) -> str | None:
    """The text of the record, if it stands so in the code that logs it, and nothing was put into it before."""
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename == record.pathname and code.co_name == record.funcName:
            return record.msg if isinstance(record.msg, str) and record.msg in code.co_consts else None
        frame = frame.f_back
    return None


def _left_out(conversion: re.Match[str]) -> str:
    return "%" if conversion[1] == "%" else OMITTED


def _stack(trace: TracebackType | None) -> Iterator[str]:
    """The frames, the outermost first. Code without a file was written by who knows whom."""
    lines = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith("<"):
            lines.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    yield from lines[-_TRACE_LIMIT:]
