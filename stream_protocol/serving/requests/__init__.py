"""One request to the service: for a response, for a history, for a version, for a deletion."""

from stream_protocol.serving.requests._chat_reads import ChatReads, StoredChat, delete_chat, stop_chat
from stream_protocol.serving.requests._context import assemble
from stream_protocol.serving.requests._lifecycle import RequestLifecycle
from stream_protocol.serving.requests._page_values import write_state
from stream_protocol.serving.requests._parsed_events import chunks_of
from stream_protocol.serving.requests._service_options import ServiceOptions, check_request, checked_options
from stream_protocol.serving.requests._steering import SteeringOutcome, steer
from stream_protocol.serving.requests._versions import choose_version
