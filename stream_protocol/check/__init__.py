"""Checks if the AI SDK's clients accept a stream, and if they show its content correctly.

Where to change what:

- ``_rules``: names, severities and effects of the rules.
- ``_response_checker``: tests most of the rules.
- ``_captured_response``: explains why a captured response is not a stream.
- ``_simulated_chat``: finds the message that a response continues.
"""

from stream_protocol.check._check_file import ALL_VERSIONS, check_file, check_stream
from stream_protocol.check._rules import Finding, Rule, Severity
from stream_protocol.recording.read import UnreadableError

__all__ = [
    "ALL_VERSIONS",
    "Finding",
    "Rule",
    "Severity",
    "UnreadableError",
    "check_file",
    "check_stream",
]
