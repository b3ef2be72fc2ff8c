"""Checks a running chat server with the requests that AI SDK clients send. The server may be written in any language.

Where to change what:

- ``_settings``: the prompts, routes and headers with which a server is checked.
- ``_stock_client``: a chat client that sends requests and checks the responses.
- ``_chat_response``: reads one response, like ``useChat``.
- ``_stream_checks``, ``_chat_checks``, ``_tool_checks``, ``_durable_checks``, ``_reload_checks``: the checks. Each
  check belongs to a profile, a group of features.
- ``_steps``: steps that several checks share.
- ``_run``: runs the checks, several at a time.
- ``_results``: checks and their outcomes.
- ``_report``: the report as JSON, and the badge.
"""

from stream_protocol.backend_check._report import badge, failures, report
from stream_protocol.backend_check._results import PROFILES, NoBackendError, Outcome, Result
from stream_protocol.backend_check._run import checks_of, run_checks
from stream_protocol.backend_check._settings import Settings, SettingsError, read_settings
