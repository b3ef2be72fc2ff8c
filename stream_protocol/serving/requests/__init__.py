"""What a service does for one request: for a response, for a history, for a deletion."""

from stream_protocol.serving.requests._context import ServiceContext, assemble
from stream_protocol.serving.requests._deletion import delete_chat
from stream_protocol.serving.requests._histories import Histories
from stream_protocol.serving.requests._lifecycle import TRANSITIONS, RequestLifecycle, RequestState
from stream_protocol.serving.requests._stored_response import INTERRUPTED_TEXT
