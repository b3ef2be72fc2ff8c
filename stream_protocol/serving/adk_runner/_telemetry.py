"""Chooses what ADK tells OpenTelemetry of a run: everything to who records, and else as little as it can."""

import os
from typing import Final, Literal

from google.adk.agents.run_config import RunConfig
from google.adk.telemetry import TelemetryConfig
from opentelemetry import _logs, metrics, trace

PLACEHOLDERS: Final = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
"""Where the API's own providers are, which record nothing. Any other was set by somebody."""

VARIABLES: Final = ("OTEL_", "ADK_TELEMETRY_", "ADK_EXPERIMENTAL_TELEMETRY", "ADK_CAPTURE_")
"""How the environment variables begin that say what is to be recorded."""


def with_cheap_telemetry(run_config: RunConfig) -> RunConfig:
    """The config of a run, with the telemetry that costs least, unless the config says which.

    Without one ADK reads the environment anew for each chunk of a model, which is a fifth of what a chunk costs. One
    that is read once says the same. If nobody records, the older conventions do: the newer ones keep each chunk until
    the model has ended.
    """
    if run_config.telemetry is not None:
        return run_config
    conventions: Literal["stable"] | None = None if _somebody_records() else "stable"
    telemetry = TelemetryConfig(genai_semconv_stability_opt_in=conventions)
    return run_config.model_copy(update={"telemetry": telemetry})


def _somebody_records() -> bool:
    """Whether a tracer, meter or logger provider is set, or an environment variable asks for something."""
    if any(name.startswith(VARIABLES) for name in os.environ):
        return True
    providers = trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider()
    return not all(type(provider).__module__.startswith(PLACEHOLDERS) for provider in providers)
