"""Records telemetry of runs and resumed responses (spans, metrics and log lines), and the delay of the event loop."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from stream_protocol.serving.telemetry._instruments import (
    CHAT_ID,
    ERROR_TYPE,
    LIBRARY,
    OUTCOME,
    active_runs,
    chunks,
    loop_lag,
    metrics_are_recorded,
    resumes,
    run_duration,
    time_to_first_chunk,
    tool_calls,
)
from stream_protocol.serving.telemetry._log_ids import note_run

logger = logging.getLogger(__name__)

_tracer: Final = trace.get_tracer(LIBRARY)

USER_ID: Final = "user.id"

RUN_ID: Final = "adk_ui_stream.run.id"

FIRST_RUN_ID: Final = "adk_ui_stream.run.first_id"
"""Span attribute of a recovered run: the run id of its first execution."""

_TRACEPARENT: Final = "traceparent"

_traces: Final = TraceContextTextMapPropagator()


def traceparent(span: SpanContext) -> str | None:
    """Return the value of the ``traceparent`` header for a span; ``None`` if the span is not valid."""
    carrier: dict[str, str] = {}
    _traces.inject(carrier, trace.set_span_in_context(NonRecordingSpan(span)))
    return carrier.get(_TRACEPARENT)


def _link(span: str | None) -> list[Link]:
    """Return a link to a span, as a list. ``span``: the value of a ``traceparent`` header. The list is empty if
    ``span`` is ``None`` or not valid.
    """
    if span is None:
        return []
    context = trace.get_current_span(_traces.extract({_TRACEPARENT: span})).get_span_context()
    return [Link(context)] if context.is_valid else []


_SHOWN: Final = tuple(
    f'data: {{"type":"{kind}'.encode() for kind in ("text-", "reasoning-", "tool-", "file", "source-", "data-")
)
"""The first bytes of SSE events with content that the client shows."""

_TOOL_CALLS: Final = tuple(f'data: {{"type":"{kind}"'.encode() for kind in ("tool-input-available", "tool-input-error"))
"""The first bytes of the SSE event that completes a tool call's input. Each call has one such event."""


class RunObserver:
    """Records telemetry of one run.

    ``requested_at``: the value of ``time.perf_counter`` when the request arrived. The default is the current value.
    """

    def __init__(self, requested_at: float | None = None) -> None:
        self._requested_at = time.perf_counter() if requested_at is None else requested_at
        self.error: BaseException | None = None
        """The exception with which the run failed."""
        self.span_context: SpanContext = trace.INVALID_SPAN_CONTEXT
        self._chunks = 0
        self._first_chunk: float | None = None
        """Seconds from the request to the first chunk that the client shows."""

    @property
    def has_shown(self) -> bool:
        """True if the run has written content that the client shows, such as text or a tool call."""
        return self._first_chunk is not None

    def failed(self, error: BaseException) -> None:
        self.error = error

    def written(self, events: Sequence[bytes]) -> None:
        """Counts SSE events that the run has written. Each SSE event is one chunk."""
        self._chunks += len(events)
        chunks.add(len(events))
        for event in events:
            if event.startswith(_TOOL_CALLS):
                tool_calls.add(1)
        if self._first_chunk is None and any(event.startswith(_SHOWN) for event in events):
            self._first_chunk = time.perf_counter() - self._requested_at
            time_to_first_chunk.record(self._first_chunk)

    @contextmanager
    def observed(
        self,
        *,
        user_id: str,
        chat_id: str,
        run_id: str,
        agent: str,
        outcome: Callable[[], str | None],
        first_run: tuple[str, str | None] | None = None,
    ) -> Iterator[None]:
        """Context manager around the run: records its span, metrics and log lines. The run needs its own task, because
        this context manager changes the ids in the task's log records.

        ``outcome``: called after the run; returns the run's outcome, or ``None`` for an error. ``first_run``: the run
        id and the ``traceparent`` of the first execution, if this run continues a dead worker's run.
        """
        note_run(user_id, chat_id, run_id)
        ids = {CHAT_ID: chat_id, USER_ID: user_id, RUN_ID: run_id, "gen_ai.agent.name": agent}
        first_id, first_span = first_run or (None, None)
        if first_id is not None:
            ids[FIRST_RUN_ID] = first_id
        begun = time.perf_counter()
        active_runs.add(1)
        with _tracer.start_as_current_span(
            "chat run",
            attributes=ids,
            links=_link(first_span),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            self.span_context = span.get_span_context()
            logger.info("A run has begun.")
            try:
                yield
            finally:
                active_runs.add(-1)
                seconds = time.perf_counter() - begun
                result = {OUTCOME: outcome() or "error"}
                if self.error is not None:
                    result[ERROR_TYPE] = type(self.error).__name__
                run_duration.record(seconds, result)
                span.set_attributes({**result, "adk_ui_stream.chunks": self._chunks})
                if result[OUTCOME] not in ("finish", "abort", "left"):
                    span.set_status(Status(StatusCode.ERROR))
                self._log(seconds, result)

    def _log(self, seconds: float, result: dict[str, str]) -> None:
        facts = {
            "outcome": result[OUTCOME],
            "error_type": result.get(ERROR_TYPE),
            "chunks": self._chunks,
            "seconds": round(seconds, 3),
            "seconds_to_first_chunk": None if self._first_chunk is None else round(self._first_chunk, 3),
        }
        text = "A run has ended: %s after %.3f seconds, %d chunks."
        logger.info(text, facts["outcome"], seconds, self._chunks, extra={"facts": facts})


@contextmanager
def observed_resume(user_id: str, chat_id: str) -> Iterator[Callable[[str, SpanContext | None], None]]:
    """Context manager: records a span while the server searches for the response that a client resumes.

    Yields a function to call if the server finds the response. The function takes the id and the span of the response's
    run. The span is ``None`` if another worker executes the run.
    """
    with _tracer.start_as_current_span(
        "chat resume",
        attributes={CHAT_ID: chat_id, USER_ID: user_id},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def found(run_id: str, run_span: SpanContext | None) -> None:
            resumes.add(1)
            span.set_attribute(RUN_ID, run_id)
            if run_span is not None and run_span.is_valid:
                span.add_link(run_span)

        yield found


LAG_INTERVAL: Final = 0.1
"""Seconds between two measurements of the event loop's delay."""


class LoopLag:
    """Measures the delay of the event loop while a run is active and metrics are recorded."""

    def __init__(self) -> None:
        self._runs = 0
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def measured(self) -> Iterator[None]:
        self._runs += 1
        if self._timer is None and metrics_are_recorded():
            self._wait(asyncio.get_running_loop())
        try:
            yield
        finally:
            self._runs -= 1
            if not self._runs and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + LAG_INTERVAL
        # The context is empty because the timer outlives the run that starts it. The timer's log records must not name
        # that run's chat.
        self._timer = loop.call_at(due, self._measure, loop, due, context=Context())

    def _measure(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        loop_lag.record(max(0.0, loop.time() - due))
        self._wait(loop)
