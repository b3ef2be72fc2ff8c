"""Chooses what ADK tells OpenTelemetry of a run: everything to who records, and else as little as it can."""

from google.adk.agents.run_config import RunConfig
from google.adk.telemetry import ContentCapturingMode, TelemetryConfig

from stream_protocol.serving.telemetry import somebody_records


def with_cheap_telemetry(run_config: RunConfig) -> RunConfig:
    """The config of a run, with the telemetry that costs least, unless the config says which.

    Without one ADK reads the environment anew for each chunk of a model, which is a fifth of what a chunk costs. One
    that is read once says the same. If nobody records, the older conventions do: the newer ones keep each chunk until
    the model has ended. And the config says what is off, which ADK otherwise looks up elsewhere, several times a chunk.
    """
    if run_config.telemetry is not None:
        return run_config
    if somebody_records():
        telemetry = TelemetryConfig()
    else:
        telemetry = TelemetryConfig(
            genai_semconv_stability_opt_in="stable",
            adk_experimental_telemetry_opt_in=False,
            capture_message_content=ContentCapturingMode.NO_CONTENT,
        )
    return run_config.model_copy(update={"telemetry": telemetry})
