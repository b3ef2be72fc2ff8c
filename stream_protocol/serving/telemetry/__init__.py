"""For operators: spans and numbers for OpenTelemetry, and the ids of chats in every line of the log.

Where to change what:

- ``_instruments``: metrics: names, units, counters.
- ``_requests``: spans of requests.
- ``_runs``: spans and log lines of runs.
- ``_log_ids``: ids of chats on log lines.
"""

from stream_protocol.serving.telemetry._exporters import (
    export_as_environment_says,
    export_for_prometheus,
    flush_exports,
)
from stream_protocol.serving.telemetry._instruments import (
    active_readers,
    count_cut_reader,
    count_failed_recovery,
    count_refusal,
    interrupts,
    lease_losses,
    recoveries,
    somebody_records,
)
from stream_protocol.serving.telemetry._log_ids import ID_NAMES, ChatIdFilter, add_run, current_chat, note_chat
from stream_protocol.serving.telemetry._loop_lag import LoopLag
from stream_protocol.serving.telemetry._requests import ObservedRoute
from stream_protocol.serving.telemetry._runs import RunObserver, observed_resume, traceparent
