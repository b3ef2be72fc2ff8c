"""The chat endpoint over HTTP: routes, responses, and a complete app.

Where to change what:

- ``_chat_router``: the FastAPI router of the chat endpoint.
- ``_service_lifespan``, ``_exit_signals``: close the service when the server shuts down.
- ``_routes``: paths and ``identify``.
- ``_endpoints``: the handler of each route.
- ``_request_body``: size and memory limits of request bodies (413, 503).
- ``_stream_response``: the streaming response of a chat request.
- ``_client_connection``: sends keep-alive comments. Ends a response if the client disconnects or stops reading.
- ``_sliced_response``: large responses that are not streams, such as a stored chat.
- ``_cross_origin``: CORS.
- ``_web_app``: a complete app with the built-in page.
- ``_trusted_origins``: decides which sites may change data.
- ``_response_headers``: security headers.
- ``_artifact_response``: downloads of artifacts.
- ``_plain_text_errors``: error responses as text or JSON.
- ``_hooks``: calls the app's hooks ``identify`` and ``prepare``. Logs a warning if remote visitors share one user.
- ``_metrics_page``: the route ``/metrics`` for Prometheus.
"""

from stream_protocol.serving.http._chat_router import chat_router
from stream_protocol.serving.http._cross_origin import cross_origin_routes
from stream_protocol.serving.http._endpoints import ChatEndpoints, unknown_chat_response
from stream_protocol.serving.http._hooks import Identify, Prepare, header_user, identify_user, local_user
from stream_protocol.serving.http._metrics_page import MetricsPage
from stream_protocol.serving.http._plain_text_errors import json_errors, plain_text_errors
from stream_protocol.serving.http._request_body import RequestBodies, dropping_body_if_refused, read_small
from stream_protocol.serving.http._response_body import response_body
from stream_protocol.serving.http._response_headers import API_HEADERS, ResponseHeaders
from stream_protocol.serving.http._routes import RouteOptions, check_route_path
from stream_protocol.serving.http._sliced_response import whole_response
from stream_protocol.serving.http._stream_response import KEEP_ALIVE, UIMessageStreamResponse
from stream_protocol.serving.http._trusted_origins import admit, admit_headers
from stream_protocol.serving.http._web_app import INSPECTOR, PageInfo, Suggestion, app_around, create_app
