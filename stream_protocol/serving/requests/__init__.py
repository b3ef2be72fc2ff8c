"""Handles the requests to a service.

Where to change what:

- ``_lifecycle``: handles a chat request, from its arrival to its run.
- ``_chat_reads``: reads histories, lists of chats and files. Stops and deletes chats.
- ``_steering``: steering messages, which are user messages to an active run.
- ``_versions``: continues a chat from an earlier version of a message.
- ``_page_values``: context and session state that the client sends.
- ``_stored_response``: the response to a repeated request.
- ``_service_options``: the options of ``ChatService``.
- ``_readiness``: the check of the stores for ``/readyz``.
"""

from stream_protocol.serving.requests._chat_reads import ChatReads, FailedMessage, StoredChat, delete_chat, stop_chat
from stream_protocol.serving.requests._context import assemble
from stream_protocol.serving.requests._lifecycle import RequestLifecycle
from stream_protocol.serving.requests._page_values import write_state
from stream_protocol.serving.requests._parsed_events import chunks_of
from stream_protocol.serving.requests._service_options import ServiceOptions, check_request, checked_options
from stream_protocol.serving.requests._steering import SteeringOutcome, steer
from stream_protocol.serving.requests._versions import choose_version
