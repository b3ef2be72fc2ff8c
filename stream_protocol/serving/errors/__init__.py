"""Explains an exception in one plain sentence, for the log and the terminal. The app decides whether the client gets
this sentence.

Where to change what:

- ``_sentences``: the sentence for each kind of failure.
- ``_text``: the text of an exception, on one line and without secrets.
- ``_log``: the log line of an error.
- ``_origin``: the tool, model or agent that raised an exception.
- ``_provider_response``: the HTTP response in an exception of a model's client.
- ``_store_errors``: recognizes the errors of a store that is unavailable at present.
"""

from stream_protocol.serving.errors._log import OMITTED, Quoting, is_new, log_error, quiet_unconfigured_log
from stream_protocol.serving.errors._origin import app_line, is_of_session_store
from stream_protocol.serving.errors._sentences import error_name, explain_error, explain_missing_key, located_text
from stream_protocol.serving.errors._store_errors import is_unreachable
from stream_protocol.serving.errors._text import error_text, exception_text, listed_problems, one_line, problem_text
