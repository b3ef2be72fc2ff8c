"""The linter of streams: is a stream legal for the clients of the AI SDK, and would a page survive it?"""

from stream_protocol.check._check_file import BOTH, check_file
from stream_protocol.check._report import write_report
from stream_protocol.check._rules import Finding, Level

__all__ = [
    "BOTH",
    "Finding",
    "Level",
    "check_file",
    "write_report",
]
