"""Exporters of a server for OpenTelemetry. An app sets the providers of its process itself."""

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
"""Milliseconds that a process that ends may take to send the rest of its data."""


def export_as_environment_says() -> None:
    """Sends spans, numbers and logs where ``OTEL_EXPORTER_OTLP_ENDPOINT`` says, as ``adk api_server`` does; nowhere
    without it. To be called once in a process."""
    from google.adk.telemetry.setup import maybe_set_otel_providers

    maybe_set_otel_providers(otel_resource=_resource())


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

    maybe_set_otel_providers([OTelHooks(metric_readers=[PrometheusMetricReader()])], _resource())
    return generate_latest


def flush_exports() -> None:
    """Sends what has not been sent yet. To be called before the process ends, which a signal does without a word."""
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        flush: Any = getattr(provider, "force_flush", None)  # the API's own have none
        if flush is not None:
            flush(FLUSH_MILLISECONDS)


def _resource() -> Resource:
    """The OpenTelemetry resource of this process, unless the environment names it. Several processes at one address
    must have different resources."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    own = Resource({"service.name": LIBRARY, "service.instance.id": uuid4().hex})
    return own.merge(OTELResourceDetector().detect())
