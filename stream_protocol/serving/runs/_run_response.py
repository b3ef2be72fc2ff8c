"""Provides ``RunResponse``, which writes the response of one run to the run's log, the recorders and the metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from stream_protocol.adk import read
from stream_protocol.serving.base import TurnRecorders
from stream_protocol.serving.errors import log_error
from stream_protocol.serving.runs._auto_resend import ending_in_error, prevent_auto_resend
from stream_protocol.stream import Conversion, Ending, Settings, fail_response, sse_conversion
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.serving.run_logs import EventBuffer
    from stream_protocol.serving.telemetry import RunObserver
    from stream_protocol.session import RunOutput
    from stream_protocol.wire import UIMessage

logger = logging.getLogger(__package__)


@dataclass(frozen=True)
class StartedResponse:
    """A response that has begun: the converter that creates its chunks, and the earlier content of the message."""

    conversion: Conversion[bytes]
    past_sse: bytes = b""
    """SSE events with the earlier content of the message that the response continues: see ``EventBuffer.set_past``."""


ResponseFactory: TypeAlias = Callable[[str | None], StartedResponse]
"""Function that starts the response. Its argument is the invocation id of the run's first event; ``None`` without
events."""


class RunResponse:
    """The response of one run. The response begins with the first event of the run. If the run has no event, the
    response begins when the run ends.

    ``output``: object that finds output that the response contains, but that ADK has not stored.
    """

    def __init__(self, log: EventBuffer, output: RunOutput, observer: RunObserver) -> None:
        self._continued: UIMessage | None = None
        """The assistant message that the response continues; ``None`` for a new message."""
        self._told_error_text: str | None = None
        self._log = log
        self._output = output
        self._observer = observer
        self._factory: ResponseFactory = _empty_response
        self._recorder = TurnRecorders()
        self._conversion: Conversion[bytes] | None = None

    def continue_message(self, message: UIMessage | None) -> None:
        self._continued = message

    def repeat_error_text(self, text: str) -> None:
        """Sets the text of the ``error`` chunk at the end. Hooks of the app do not change this text, because a client
        has already received it.
        """
        self._told_error_text = text

    @property
    def outcome(self) -> Ending | None:
        return None if self._conversion is None else self._conversion.outcome

    @property
    def is_prepared(self) -> bool:
        """True after ``prepare`` was called."""
        return self._factory is not _empty_response

    def prepare(self, factory: ResponseFactory, recorder: TurnRecorders) -> None:
        self._factory = factory
        self._recorder = recorder

    def forget_factory(self) -> None:
        """Removes the function that starts the response, because this function keeps the job of the run in memory."""
        self._factory = _empty_response

    def add(self, event: Event) -> None:
        """Converts an event of the agent, and writes the chunks. Raises errors of the app's hooks."""
        conversion = self._started(event)
        self._recorder.event(event)
        self._write(conversion.items(event))

    def show_nested(self, *, shows: bool) -> None:
        """If ``shows``, sends the preliminary outputs of agents inside tool calls from now on; otherwise holds them
        back. Final outputs are always sent.
        """
        if self._conversion is not None:
            self._conversion.show_nested(shows=shows)

    def send_nested(self) -> None:
        """Sends the current preliminary outputs of agents inside tool calls, and also later ones."""
        if self._conversion is not None and not self._log.closed:
            self._conversion.show_nested()
            self._write(self._conversion.take())

    def end(self, write_end: Callable[[Conversion[bytes]], None]) -> bool:
        """Writes the last chunks of the response. Returns True if the response ended with ``finish``."""
        conversion = self._ended(write_end)
        written = conversion.take()
        if self._told_error_text is not None and conversion.outcome in ("error", "timeout"):
            written = ending_in_error(written, self._told_error_text)
        ending = prevent_auto_resend(written, before=self._log.events(), continued=self._continued)
        self._write(ending)
        self._output.end(_error_text(ending))
        self._recorder.end(conversion.outcome if ending is written else "error")
        return conversion.outcome == "finish" and ending is written

    def note_failure(self, error: BaseException) -> None:
        """Reports the error to the log, the recorders, and the tracing span of the run."""
        self._observer.failed(error)
        self._recorder.failed(error)
        log_error(logger, error)

    def _ended(self, write_end: Callable[[Conversion[bytes]], None]) -> Conversion[bytes]:
        """End the ``Conversion`` of events to chunks, and return it. If a hook of the app raises an exception, the
        response ends with an error.
        """
        try:
            conversion = self._started(None)
            write_end(conversion)
        except Exception as error:  # noqa: BLE001 - any error of the hook
            self.note_failure(error)
            conversion = self._started(None)
            fail_response(conversion, error)
        return conversion

    def _started(self, event: Event | None) -> Conversion[bytes]:
        """Return the ``Conversion`` of events to chunks. The first call starts it."""
        if self._conversion is None:
            try:
                started = self._factory(None if event is None else read(event).invocation_id)
                self._conversion = started.conversion
                self._log.set_past(started.past_sse)
                self._recorder.begin(started.conversion.message_id)
            except Exception:  # an app's hook raised an error; an empty response sends the error
                self._conversion = _empty_response(None).conversion
                self._recorder.begin(None)
                raise
            finally:
                if self._conversion is not None:
                    self._output.follow(self._conversion)
        return self._conversion

    def _write(self, events: list[bytes]) -> None:
        self._log.append(*events)
        self._observer.written(events)
        self._recorder.written(events)


def _error_text(ending: Sequence[bytes]) -> str | None:
    """Return the text of the ``error`` chunk at the end of a response; ``None`` without this chunk. ``ending``: the
    last SSE events of the response.
    """
    match [*parse_sse(ending[-1:])]:
        case [*_, {"type": "error", "errorText": str(text)}]:
            return text
    return None


def _empty_response(_invocation_id: str | None) -> StartedResponse:
    """Return an empty response. It is used if the run was stopped before its start, or if the start of the response
    failed.
    """
    return StartedResponse(sse_conversion((), None, Settings()))
