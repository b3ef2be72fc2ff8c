"""Explains a failure in one plain sentence: for the log, for the terminal, and for a page that may show it.

Where to change what:

- ``_sentences``: one sentence for each failure.
- ``_text``: texts of exceptions.
- ``_log``: one line in log and terminal.
"""

from stream_protocol.serving.errors._log import LEFT_OUT, Quoting, log_error
from stream_protocol.serving.errors._origin import is_of_session_store, own_line
from stream_protocol.serving.errors._sentences import explain_error, located_text
from stream_protocol.serving.errors._store_errors import is_unreachable
from stream_protocol.serving.errors._text import MAX_PROBLEMS, error_text, one_line, problem_text, said
