"""Telemetry for operators: OpenTelemetry spans and metrics, and chat ids in all log records.

Where to change what:

- ``_instruments``: names and units of metrics, and their counters.
- ``_requests``: spans of HTTP requests.
- ``_runs``: spans and log lines of runs, and delays of the event loop.
- ``_log_ids``: ids of chats on log lines.
- ``_exporters``: OpenTelemetry exporters of ``adk-ui-stream serve``.
"""

from stream_protocol.serving.telemetry._exporters import (
    export_for_prometheus,
    export_to_otlp,
    flush_exports,
)
from stream_protocol.serving.telemetry._instruments import (
    active_readers,
    count_cut_reader,
    count_failed_recovery,
    count_refusal,
    interrupts,
    is_recorded,
    lease_losses,
    recoveries,
)
from stream_protocol.serving.telemetry._log_ids import ID_NAMES, ChatIdFilter, add_run, current_chat, note_chat
from stream_protocol.serving.telemetry._requests import ObservedRoute
from stream_protocol.serving.telemetry._runs import LoopLag, RunObserver, observed_resume, traceparent
