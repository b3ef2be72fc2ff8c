"""What operators see: spans and numbers for OpenTelemetry, and the ids of chats in every line of the log."""

from stream_protocol.serving.telemetry._exporters import (
    export_as_environment_says,
    export_for_prometheus,
    flush_exports,
)
from stream_protocol.serving.telemetry._instruments import (
    active_readers,
    count_cut_reader,
    count_refusal,
    interrupts,
    lease_losses,
)
from stream_protocol.serving.telemetry._log_ids import ID_NAMES, ChatIdFilter, add_run, current_chat, note_chat
from stream_protocol.serving.telemetry._loop_lag import LoopLag
from stream_protocol.serving.telemetry._recording import somebody_records
from stream_protocol.serving.telemetry._requests import ObservedRoute
from stream_protocol.serving.telemetry._runs import RunObserver, observed_resume

__all__ = [
    "ID_NAMES",
    "ChatIdFilter",
    "LoopLag",
    "ObservedRoute",
    "RunObserver",
    "active_readers",
    "add_run",
    "count_cut_reader",
    "count_refusal",
    "current_chat",
    "export_as_environment_says",
    "export_for_prometheus",
    "flush_exports",
    "interrupts",
    "lease_losses",
    "note_chat",
    "observed_resume",
    "somebody_records",
]
