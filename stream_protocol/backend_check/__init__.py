"""Checks a chat backend in any language, as stock AI SDK clients use it.

Where to change what:

- ``_settings``: prompts, routes and headers.
- ``_stock_client``: requests, and the folding and judging of responses.
- ``_stream_checks``, ``_chat_checks``, ``_tool_checks``, ``_durable_checks``: the checks of each profile.
- ``_steps``: steps that several checks share.
- ``_run``: limits and order.
- ``_results``: declared checks and their outcomes.
- ``_report``: the report as JSON, and the badge.
"""

from stream_protocol.backend_check._report import badge, failures, report
from stream_protocol.backend_check._results import PROFILES, NoBackendError, Outcome, Result
from stream_protocol.backend_check._run import run_checks
from stream_protocol.backend_check._settings import Settings, SettingsError, read_settings
