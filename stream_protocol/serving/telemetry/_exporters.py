"""Sets up the OpenTelemetry exporters of ``adk-ui-stream serve``. Other apps set up their own exporters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from opentelemetry import metrics, trace

from stream_protocol.serving.telemetry._instruments import LIBRARY, metrics_are_recorded
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

FLUSH_MILLISECONDS: Final = 2000
"""The maximum number of milliseconds for sending the remaining data."""


def export_to_otlp() -> None:
    """Send spans, metrics and logs to ``OTEL_EXPORTER_OTLP_ENDPOINT``, as ``adk api_server`` does. Call this function
    only once in a process.
    """
    from google.adk.telemetry.setup import maybe_set_otel_providers

    maybe_set_otel_providers(otel_resource=_resource())


def export_for_prometheus() -> Callable[[], bytes]:
    """Set up the exporters of ``export_to_otlp``, and an exporter for Prometheus.

    Returns a function that returns all metrics in the text format of Prometheus. Raises ``ImportError`` if the extra
    ``prometheus`` is not installed, and ``StreamProtocolError`` if the process already has a meter provider.
    """
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import generate_latest
    except ImportError as error:
        raise ImportError("--metrics needs the extra `prometheus`: pip install 'adk-ui-stream[prometheus]'.") from error
    if metrics_are_recorded():
        raise StreamProtocolError("--metrics cannot be given where OpenTelemetry's numbers go somewhere already.")
    from google.adk.telemetry.setup import OTelHooks, maybe_set_otel_providers

    maybe_set_otel_providers([OTelHooks(metric_readers=[PrometheusMetricReader()])], _resource())
    return generate_latest


def flush_exports() -> None:
    """Send the telemetry that is not sent yet. Call this function before the process ends, because some signals end the
    process without exit handlers.
    """
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        flush: Any = getattr(provider, "force_flush", None)  # OpenTelemetry's default providers lack this method
        if flush is not None:
            flush(FLUSH_MILLISECONDS)


def _resource() -> Resource:
    """Return the OpenTelemetry resource of this process. A random ``service.instance.id`` distinguishes processes at
    one address. The environment variable ``OTEL_RESOURCE_ATTRIBUTES`` can replace this id.
    """
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    own = Resource({"service.name": LIBRARY, "service.instance.id": uuid4().hex})
    return own.merge(OTELResourceDetector().detect())
