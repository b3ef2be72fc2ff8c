"""Checks a chat backend in any language, as stock AI SDK clients use it.

Where to change what:

- ``_settings``: prompts, routes and headers.
- ``_stock_client``: requests, and the folding and judging of responses.
- ``_checks``: the checks.
- ``_run``: limits and order.
- ``_results``: declared checks and their outcomes.
"""

from stream_protocol.backend_check._results import PROFILES, Check, Outcome, Result
from stream_protocol.backend_check._run import run_checks
from stream_protocol.backend_check._settings import Settings, SettingsError, read_settings

__all__ = ["PROFILES", "Check", "Outcome", "Result", "Settings", "SettingsError", "read_settings", "run_checks"]
