"""What a service does for one request: for a response, for a history, for a deletion."""

from stream_protocol.serving.requests._context import assemble
from stream_protocol.serving.requests._deletion import delete_chat
from stream_protocol.serving.requests._histories import Histories
from stream_protocol.serving.requests._lifecycle import RequestLifecycle
from stream_protocol.serving.requests._service_options import OnBusy, ServiceOptions, check_request
