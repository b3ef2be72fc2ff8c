from collections.abc import Callable

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig
from google.adk.telemetry import ContentCapturingMode, TelemetryConfig
from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from stream_protocol.serving import ChatService, create_app, default_run_config
from stream_protocol.testing import ScriptedLlm
from tests.serving.support import chat, said, stream

CHEAPEST = TelemetryConfig(
    genai_semconv_stability_opt_in="stable",
    adk_experimental_telemetry_opt_in=False,
    capture_message_content=ContentCapturingMode.NO_CONTENT,
)

ADKS_OWN = TelemetryConfig()
"""The settings of the environment and ADK's defaults."""


async def used_by_a_run(run_config: RunConfig | None = None) -> TelemetryConfig | None:
    """The settings that ADK gets in a run of a service with this config."""
    used: list[TelemetryConfig | None] = []

    def look(callback_context: CallbackContext) -> None:
        assert callback_context.run_config is not None
        used.append(callback_context.run_config.telemetry)

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]), before_agent_callback=look)
    await stream(create_app(ChatService(agent, run_config=run_config)), chat(said("hi")))
    (telemetry,) = used
    return telemetry


async def test_a_run_that_nobody_records_has_adks_cheapest_telemetry() -> None:
    assert await used_by_a_run() == CHEAPEST
    assert await used_by_a_run(RunConfig(max_llm_calls=3)) == CHEAPEST


async def test_an_apps_own_telemetry_wins() -> None:
    own = TelemetryConfig(genai_semconv_stability_opt_in="experimental")
    assert await used_by_a_run(default_run_config().model_copy(update={"telemetry": own})) == own


@pytest.mark.parametrize("name", ["OTEL_SEMCONV_STABILITY_OPT_IN", "OTEL_SERVICE_NAME", "ADK_EXPERIMENTAL_TELEMETRY"])
async def test_what_the_environment_asks_for_is_left_to_adk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert await used_by_a_run() == ADKS_OWN


@pytest.mark.parametrize(
    ("module", "name", "provider"),
    [
        (trace, "get_tracer_provider", TracerProvider),
        (metrics, "get_meter_provider", MeterProvider),
        (_logs, "get_logger_provider", LoggerProvider),
    ],
    ids=["tracer", "meter", "logger"],
)
async def test_whoever_records_gets_what_adk_gives(
    module: object, name: str, provider: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = provider()
    monkeypatch.setattr(module, name, lambda: recording)
    assert await used_by_a_run() == ADKS_OWN
