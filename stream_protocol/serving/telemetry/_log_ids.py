"""The chat, run and user of each log record, whether it is ours or that of another library."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

from opentelemetry import trace

MAX_ID_LENGTH: Final = 256
"""Characters of an id: of a refused request it is whatever the client sent."""


@dataclass(frozen=True, kw_only=True)
class _Ids:
    chat_id: str = ""
    run_id: str = ""
    user_id: str = ""


NONE: Final = _Ids()

_ids: ContextVar[_Ids] = ContextVar("adk_ui_stream_ids", default=NONE)

ID_NAMES: Final = ("chat_id", "run_id", "user_id", "trace_id", "span_id")
"""The fields that ``ChatIdFilter`` gives a record."""


def note_chat(user_id: str, chat_id: str = "") -> None:
    """Mark the log records of this task, and of the tasks that it starts, with this user and chat, until the next
    call."""
    _ids.set(_Ids(user_id=user_id[:MAX_ID_LENGTH], chat_id=chat_id[:MAX_ID_LENGTH]))


def note_run(user_id: str, chat_id: str, run_id: str) -> None:
    """The same, of a run."""
    _ids.set(_Ids(user_id=user_id, chat_id=chat_id, run_id=run_id))


def add_run(run_id: str) -> None:
    """Mark the log records of this task with this run, too."""
    _ids.set(replace(_ids.get(), run_id=run_id))


def current_chat() -> str:
    """Return the id of the chat that this task is about; empty if it is about none."""
    return _ids.get().chat_id


@contextmanager
def ids_of_request() -> Iterator[None]:
    """Log records in this block have no ids, until the request's user and chat are known. After the block, the ids are
    as before."""
    token = _ids.set(NONE)
    try:
        yield
    finally:
        _ids.reset(token)


class ChatIdFilter(logging.Filter):
    """Gives each record ``chat_id``, ``run_id``, ``user_id``, and OpenTelemetry's ``trace_id`` and ``span_id``.

    Add it to a handler of the app's own: ``handler.addFilter(ChatIdFilter())``. Then a format may hold
    ``%(chat_id)s``, also for records of ADK and other libraries. Unknown ids are empty. Every record passes.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Sets the attributes."""
        ids = _ids.get()
        record.chat_id, record.run_id, record.user_id = ids.chat_id, ids.run_id, ids.user_id
        span = trace.get_current_span().get_span_context()
        record.trace_id = trace.format_trace_id(span.trace_id) if span.is_valid else ""
        record.span_id = trace.format_span_id(span.span_id) if span.is_valid else ""
        return True
