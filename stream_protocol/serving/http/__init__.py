"""The chat endpoint over HTTP: routes, responses, and a whole app."""

from stream_protocol.serving.http._chat_router import chat_router
from stream_protocol.serving.http._cross_origin import cross_origin_routes
from stream_protocol.serving.http._endpoints import ChatEndpoints, no_such_chat
from stream_protocol.serving.http._hooks import Identify, Prepare, header_user, identify_user, local_user
from stream_protocol.serving.http._metrics_page import MetricsPage
from stream_protocol.serving.http._plain_text_errors import json_errors, plain_text_errors
from stream_protocol.serving.http._request_body import RequestBodies, dropping_body_if_refused, read_small
from stream_protocol.serving.http._response_body import response_body
from stream_protocol.serving.http._response_headers import ANSWER_HEADERS, ResponseHeaders
from stream_protocol.serving.http._routes import check_route_path
from stream_protocol.serving.http._sliced_response import whole_response
from stream_protocol.serving.http._stream_response import KEEP_ALIVE, UIMessageStreamResponse
from stream_protocol.serving.http._trusted_origins import is_foreign, require_trusted_origin
from stream_protocol.serving.http._web_app import INSPECTOR, PageInfo, Suggestion, app_around, create_app
