"""Whether anybody records what OpenTelemetry is told."""

import os
from typing import Final

from opentelemetry import _logs, metrics, trace

PLACEHOLDERS: Final = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
"""Where the API's own providers are, which record nothing. Any other was set by somebody."""

VARIABLES: Final = ("OTEL_", "ADK_TELEMETRY_", "ADK_EXPERIMENTAL_TELEMETRY", "ADK_CAPTURE_")
"""How the environment variables begin that say what is to be recorded."""


def somebody_records() -> bool:
    """Whether a tracer, meter or logger provider is set, or an environment variable asks for something."""
    if any(name.startswith(VARIABLES) for name in os.environ):
        return True
    return metrics_are_recorded() or any(map(_was_set, (trace.get_tracer_provider(), _logs.get_logger_provider())))


def metrics_are_recorded() -> bool:
    """Whether a meter provider is set."""
    return _was_set(metrics.get_meter_provider())


def _was_set(provider: object) -> bool:
    return not type(provider).__module__.startswith(PLACEHOLDERS)
