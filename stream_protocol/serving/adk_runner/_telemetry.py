"""Chooses what ADK tells OpenTelemetry of a run: everything to who records, and else as little as it can."""

from typing import Literal

from google.adk.agents.run_config import RunConfig
from google.adk.telemetry import TelemetryConfig

from stream_protocol.serving.telemetry import somebody_records


def with_cheap_telemetry(run_config: RunConfig) -> RunConfig:
    """The config of a run, with the telemetry that costs least, unless the config says which.

    Without one ADK reads the environment anew for each chunk of a model, which is a fifth of what a chunk costs. One
    that is read once says the same. If nobody records, the older conventions do: the newer ones keep each chunk until
    the model has ended.
    """
    if run_config.telemetry is not None:
        return run_config
    conventions: Literal["stable"] | None = None if somebody_records() else "stable"
    telemetry = TelemetryConfig(genai_semconv_stability_opt_in=conventions)
    return run_config.model_copy(update={"telemetry": telemetry})
