"""The OpenTelemetry metrics, which ``docs/monitoring.md`` explains. Without a meter provider, nothing is recorded."""

import os
from collections.abc import Iterable
from typing import Final

from opentelemetry import _logs, metrics, trace

LIBRARY: Final = "adk-ui-stream"
"""The OpenTelemetry instrumentation scope of this library."""

CHAT_ID: Final = "gen_ai.conversation.id"
"""The span attribute with a chat's id, named as in ADK's spans. Metrics lack this attribute, because each chat would
create a new time series."""

OUTCOME: Final = "adk_ui_stream.outcome"
REASON: Final = "adk_ui_stream.reason"
ERROR_TYPE: Final = "error.type"
"""OpenTelemetry's attribute for the class of an exception, or for the status of a failed response."""

PLACEHOLDERS: Final = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
"""Packages with OpenTelemetry's default providers, which record nothing."""

VARIABLES: Final = ("OTEL_", "ADK_TELEMETRY_", "ADK_EXPERIMENTAL_TELEMETRY", "ADK_CAPTURE_")
"""Prefixes of the environment variables that select the telemetry to record."""


def is_recorded() -> bool:
    """Return True if the app, a library or an environment variable has set up telemetry."""
    if any(name.startswith(VARIABLES) for name in os.environ):
        return True
    return metrics_are_recorded() or any(map(_was_set, (trace.get_tracer_provider(), _logs.get_logger_provider())))


def metrics_are_recorded() -> bool:
    return _was_set(metrics.get_meter_provider())


def _was_set(provider: object) -> bool:
    return not type(provider).__module__.startswith(PLACEHOLDERS)


_SHORT_TIMES: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Bucket boundaries in seconds, as OpenTelemetry defines them for HTTP requests."""

_RUN_TIMES: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800, 3600)

_LAGS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)


class Total:
    """A number that only grows: the value of an observable OpenTelemetry counter."""

    def __init__(self) -> None:
        self._number = 0

    def add(self, number: int) -> None:
        self._number += number

    def observe(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        """Returns the current number, for OpenTelemetry."""
        return [metrics.Observation(self._number)]


_meter: Final = metrics.get_meter(LIBRARY)

request_duration: Final = _meter.create_histogram(
    "http.server.request.duration",
    unit="s",
    description="Time from a request to the end of its response. A stream ends with its run.",
    explicit_bucket_boundaries_advisory=_SHORT_TIMES,
)
active_runs: Final = _meter.create_up_down_counter(
    "adk_ui_stream.active_runs", unit="{run}", description="Runs that go on in this process."
)
active_readers: Final = _meter.create_up_down_counter(
    "adk_ui_stream.active_readers", unit="{reader}", description="Readers of responses in this process."
)
time_to_first_chunk: Final = _meter.create_histogram(
    "adk_ui_stream.run.time_to_first_chunk",
    unit="s",
    description="Time from a request to the first chunk of its run that shows something.",
    explicit_bucket_boundaries_advisory=_SHORT_TIMES,
)
run_duration: Final = _meter.create_histogram(
    "adk_ui_stream.run.duration",
    unit="s",
    description="Time from the beginning of a run until all of it is stored, by outcome.",
    explicit_bucket_boundaries_advisory=_RUN_TIMES,
)
chunks: Final = Total()
"""The number of written chunks. An addition is cheaper than a call of an OpenTelemetry instrument."""

_meter.create_observable_counter(
    "adk_ui_stream.chunks", [chunks.observe], unit="{chunk}", description="Chunks that runs have written."
)
tool_calls: Final = _meter.create_counter(
    "adk_ui_stream.tool_calls", unit="{call}", description="Tool calls that pages were shown."
)
resumes: Final = _meter.create_counter(
    "adk_ui_stream.resumes", unit="{resume}", description="Pages that came back to a running response."
)
interrupts: Final = _meter.create_counter(
    "adk_ui_stream.interrupts", unit="{run}", description="Runs that a new message of the user has stopped."
)
lease_losses: Final = _meter.create_counter(
    "adk_ui_stream.lease_losses",
    unit="{lease}",
    description="Runs that have lost their chat to another worker, or might have.",
)
recoveries: Final = _meter.create_counter(
    "adk_ui_stream.recoveries", unit="{run}", description="Runs of other workers that this process has continued."
)
failed_recoveries: Final = _meter.create_counter(
    "adk_ui_stream.failed_recoveries",
    unit="{run}",
    description="Runs of other workers that this process has ended with an error, by reason.",
)
refusals: Final = _meter.create_counter(
    "adk_ui_stream.refusals", unit="{request}", description="Refused requests and connections, by reason."
)
cut_readers: Final = _meter.create_counter(
    "adk_ui_stream.cut_readers",
    unit="{reader}",
    description="Readers that were cut off in the middle of a response, by reason.",
)
loop_lag: Final = _meter.create_histogram(
    "adk_ui_stream.event_loop.lag",
    unit="s",
    description="How late the event loop comes to what is due, while runs go on.",
    explicit_bucket_boundaries_advisory=_LAGS,
)


def count_refusal(reason: str) -> None:
    """Count a refused request or connection. ``reason``: one of a few fixed words, because each new word creates a new
    time series.
    """
    refusals.add(1, {REASON: reason})


def count_failed_recovery(reason: str) -> None:
    """Count a failed recovery: this process could not continue the run of a dead worker, so the run ended with an
    error. ``reason``: see ``count_refusal``.
    """
    failed_recoveries.add(1, {REASON: reason})


def count_cut_reader(reason: str) -> None:
    """Count a client that was disconnected in the middle of a response. ``reason``: see ``count_refusal``."""
    cut_readers.add(1, {REASON: reason})
