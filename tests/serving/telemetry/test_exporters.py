"""The destinations of a server's telemetry, and errors in their configuration."""

import sys

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider

from stream_protocol import StreamProtocolError
from stream_protocol.serving.telemetry import export_for_prometheus


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.prometheus", None)
    with pytest.raises(ImportError, match=r"pip install 'adk-ui-stream\[prometheus\]'"):
        export_for_prometheus()


def test_where_numbers_go_somewhere_already_they_are_not_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    own = MeterProvider()
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: own)
    with pytest.raises(StreamProtocolError, match="go somewhere already"):
        export_for_prometheus()
