"""Checks a running chat server, in any language, with the requests that AI SDK clients send.

Where to change what:

- ``_settings``: prompts, routes and headers.
- ``_stock_client``: a chat client that sends requests and checks the responses.
- ``_chat_response``: a response that the client is reading.
- ``_stream_checks``, ``_chat_checks``, ``_tool_checks``, ``_durable_checks``, ``_reload_checks``: the checks of each
  profile.
- ``_steps``: steps that several checks share.
- ``_run``: runs the checks, several at a time.
- ``_results``: checks and their outcomes.
- ``_report``: the report as JSON, and the badge.
"""

from stream_protocol.backend_check._report import badge, failures, report
from stream_protocol.backend_check._results import PROFILES, NoBackendError, Outcome, Result
from stream_protocol.backend_check._run import checks_of, run_checks
from stream_protocol.backend_check._settings import Settings, SettingsError, read_settings
