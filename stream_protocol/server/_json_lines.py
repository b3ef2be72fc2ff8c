"""Formats log records as lines of JSON that quote no chat.

This library marks quotations of a chat in its own log records with ``Quoting``. Other packages may log a prompt, a
reply or a tool's arguments, even in the text of an exception. So their messages are written without arguments, and only
if the message is a literal in the source code.
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
"""Loggers whose records, and those of their children, mark every quote of a chat: see ``Quoting``."""

_CONVERSION: Final = re.compile(r"%(?:\(\w*\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?([a-zA-Z%])")
"""The placeholders of ``%`` formatting, such as ``%(name)s`` and ``%5.1f``; ``%%`` is a percent sign."""

_TRACE_LIMIT: Final = 50
"""Maximum number of lines of a stack trace. The innermost lines are kept."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON: ``time``, ``severity``, ``logger``, ``message``, and the ids of
    ``ChatIdFilter``.

    The text of an exception is not written, only its ``error_type`` and ``stack`` (file, line and function of each
    frame). ``whole``: names of loggers. The records of these loggers, and of their child loggers, are written
    completely.

    Do not use a queue handler. The formatter looks at the source code of the logging call, so it must run inside this
    call.
    """

    def __init__(self, whole: Iterable[str] = ()) -> None:
        super().__init__()
        self._whole = tuple(whole)

    def format(self, record: logging.LogRecord) -> str:
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
            with suppress(Exception):  # wrong arguments; logging would print them as text
                return record.getMessage()
        if is_ours(record):
            given = record.args if isinstance(record.args, tuple) else ()
            arguments = tuple(arg.redacted if isinstance(arg, Quoting) else arg for arg in given)
            return str(record.msg) % arguments if arguments else str(record.msg)
        text = _text_in_code(record)
        if text is None:
            return f"{OMITTED} ({record.module}.{record.funcName}, line {record.lineno})"
        return _CONVERSION.sub(_omitted, text) if record.args else text

    def _error(self, record: logging.LogRecord, error: BaseException) -> dict[str, Any]:
        fields: dict[str, Any] = {"error_type": type(error).__name__, "stack": [*_stack(error.__traceback__)]}
        return {**fields, "error": exception_text(error)} if self._is_whole(record) else fields

    def _is_whole(self, record: logging.LogRecord) -> bool:
        return _is_below(record.name, self._whole)


def is_ours(record: logging.LogRecord) -> bool:
    return _is_below(record.name, OURS)


def _is_below(name: str, loggers: Iterable[str]) -> bool:
    return any(name == logger or name.startswith(f"{logger}.") for logger in loggers)


def _text_in_code(record: logging.LogRecord) -> str | None:
    """Return the record's message if the message is a literal in the source code. Returns ``None`` for a message that
    was created at run time.
    """
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename == record.pathname and code.co_name == record.funcName:
            return record.msg if isinstance(record.msg, str) and record.msg in code.co_consts else None
        frame = frame.f_back
    return None


def _omitted(conversion: re.Match[str]) -> str:
    return "%" if conversion[1] == "%" else OMITTED


def _stack(trace: TracebackType | None) -> Iterator[str]:
    """Yield at most ``_TRACE_LIMIT`` innermost frames of a traceback, in the order of the calls. Frames of generated
    code are left out.
    """
    lines = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith("<"):
            lines.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    yield from lines[-_TRACE_LIMIT:]
