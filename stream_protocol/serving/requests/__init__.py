"""One request to the service: for a response, for a history, for a deletion."""

from stream_protocol.serving.requests._chat_reads import ChatReads, delete_chat, stop_chat
from stream_protocol.serving.requests._context import assemble
from stream_protocol.serving.requests._lifecycle import RequestLifecycle
from stream_protocol.serving.requests._service_options import ServiceOptions, check_request, checked_options
from stream_protocol.serving.requests._steering import SteeringOutcome, steer
