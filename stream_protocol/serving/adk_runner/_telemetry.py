"""Chooses what ADK tells OpenTelemetry of a run: everything to who records, and else as little as it can."""

from google.adk.agents.run_config import RunConfig
from google.adk.telemetry import TelemetryConfig

from stream_protocol.serving.telemetry import somebody_records


def with_cheap_telemetry(run_config: RunConfig) -> RunConfig:
    """The config of a run, with the telemetry that costs least, unless the config says which.

    Without one ADK reads the environment anew for each chunk of a model, which is a fifth of what a chunk costs. One
    that is read once says the same. If nobody records, the older conventions do: the newer ones keep each chunk until
    the model has ended. And ADK is told that no experimental feature is on, which it otherwise finds out by looking
    into the environment's list, twice a chunk.
    """
    if run_config.telemetry is not None:
        return run_config
    if somebody_records():
        telemetry = TelemetryConfig()
    else:
        telemetry = TelemetryConfig(genai_semconv_stability_opt_in="stable", adk_experimental_telemetry_opt_in=False)
    return run_config.model_copy(update={"telemetry": telemetry})
