"""Adds the ids of the chat, the run and the user to each log record, including records of other libraries."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

from opentelemetry import trace

MAX_ID_LENGTH: Final = 256
"""The maximum number of characters of an id in a log record. The ids of a refused request may be longer."""


@dataclass(frozen=True, kw_only=True)
class _Ids:
    chat_id: str = ""
    run_id: str = ""
    user_id: str = ""


NONE: Final = _Ids()

_ids: ContextVar[_Ids] = ContextVar("adk_ui_stream_ids", default=NONE)

ID_NAMES: Final = ("chat_id", "run_id", "user_id", "trace_id", "span_id")
"""The attributes that ``ChatIdFilter`` sets on a record."""


def note_chat(user_id: str, chat_id: str = "") -> None:
    """Put the ids of a user and a chat on the log records of the current task. Tasks that the current task starts later
    inherit the ids.

    The next call of ``note_chat`` or ``note_run`` replaces the ids.
    """
    _ids.set(_Ids(user_id=user_id[:MAX_ID_LENGTH], chat_id=chat_id[:MAX_ID_LENGTH]))


def note_run(user_id: str, chat_id: str, run_id: str) -> None:
    """Like ``note_chat``, put the ids of a user, a chat and a run on log records."""
    _ids.set(_Ids(user_id=user_id, chat_id=chat_id, run_id=run_id))


def add_run(run_id: str) -> None:
    """Put a run's id on the log records of the current task, in addition to the ids of user and chat."""
    _ids.set(replace(_ids.get(), run_id=run_id))


def current_chat() -> str:
    """Return the chat id that ``note_chat`` or ``note_run`` has set for the current task. If none is set, return an
    empty text."""
    return _ids.get().chat_id


@contextmanager
def ids_of_request() -> Iterator[None]:
    """Context manager around one request. Log records have no ids until ``note_chat`` is called. At the end, the ids
    from before the request are restored.
    """
    token = _ids.set(NONE)
    try:
        yield
    finally:
        _ids.reset(token)


class ChatIdFilter(logging.Filter):
    """Logging filter that sets five attributes on each record: ``chat_id``, ``run_id``, ``user_id``, and
    OpenTelemetry's ``trace_id`` and ``span_id``.

    Add the filter to a handler of your app: ``handler.addFilter(ChatIdFilter())``. Then the handler's format can
    contain ``%(chat_id)s``, even for records of ADK and other libraries. An unknown id is an empty text. The filter
    drops no record.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Sets the ids as attributes of the record."""
        ids = _ids.get()
        record.chat_id, record.run_id, record.user_id = ids.chat_id, ids.run_id, ids.user_id
        span = trace.get_current_span().get_span_context()
        record.trace_id = trace.format_trace_id(span.trace_id) if span.is_valid else ""
        record.span_id = trace.format_span_id(span.span_id) if span.is_valid else ""
        return True
