"""Where a server sends what OpenTelemetry is told. An app sets the providers of its process itself."""

from collections.abc import Callable

from stream_protocol.serving.telemetry._recording import metrics_are_recorded
from stream_protocol.wire import StreamProtocolError


def export_as_environment_says() -> None:
    """Sends spans, numbers and logs where ``OTEL_EXPORTER_OTLP_ENDPOINT`` says, as ``adk api_server`` does; nowhere
    without it. To be called once in a process."""
    from google.adk.telemetry.setup import maybe_set_otel_providers

    maybe_set_otel_providers()


def export_for_prometheus() -> Callable[[], bytes]:
    """The same, and returns what gives all numbers now, in Prometheus's text format: ours, ADK's and the process's.

    Raises ``ImportError`` if the extra ``prometheus`` is not installed, and ``StreamProtocolError`` if numbers are
    recorded already.
    """
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import generate_latest
    except ImportError as error:
        raise ImportError("--metrics needs the extra `prometheus`: pip install 'adk-ui-stream[prometheus]'.") from error
    if metrics_are_recorded():
        raise StreamProtocolError("--metrics cannot be given where OpenTelemetry's numbers go somewhere already.")
    from google.adk.telemetry.setup import OTelHooks, maybe_set_otel_providers

    maybe_set_otel_providers([OTelHooks(metric_readers=[PrometheusMetricReader()])])
    return generate_latest
