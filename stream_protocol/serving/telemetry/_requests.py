"""Provides ``ObservedRoute``, which records a span and a duration for each HTTP request."""

import time
from contextvars import ContextVar
from typing import Final

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_protocol.serving.telemetry._instruments import (
    CHAT_ID,
    ERROR_TYPE,
    LIBRARY,
    metrics_are_recorded,
    request_duration,
)
from stream_protocol.serving.telemetry._log_ids import ids_of_request

_tracer: Final = trace.get_tracer(LIBRARY)

_own_span: ContextVar[Span | None] = ContextVar("adk_ui_stream_request", default=None)
"""The span that this module has started for the current request. On a keep-alive connection, a request inherits the
span of the previous request."""


class ObservedRoute:
    """ASGI middleware that records the requests of one route. ``route``: the route's path template, such as
    ``/api/chat/{id}``.

    Each request gets a span such as ``POST /api/chat``, and its duration is added to a metric. Nothing is recorded if
    the app's own instrumentation has already started a span for the request.
    """

    def __init__(self, app: ASGIApp, route: str) -> None:
        self._app = app
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        current = trace.get_current_span()
        with ids_of_request():
            if current.get_span_context().is_valid and current is not _own_span.get():
                await self._app(scope, receive, send)
            else:
                await self._call_in_span(scope, receive, send)

    async def _call_in_span(self, scope: Scope, receive: Receive, send: Send) -> None:
        attributes = {
            "http.request.method": scope["method"],
            "http.route": self._route,
            "url.scheme": scope.get("scheme", "http"),
        }
        parent = propagate.extract(Headers(scope=scope), context.Context())
        # Neither the path nor the query is recorded: the name of an artifact and a search are texts of the user.
        chat = {CHAT_ID: str(chat_id)} if (chat_id := scope.get("path_params", {}).get("chat_id")) else {}
        name = f"{scope['method']} {self._route}"
        span = _tracer.start_span(name, parent, SpanKind.SERVER, {**attributes, **chat})
        _own_span.set(span)
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            if span.is_recording() or metrics_are_recorded():
                await self._observe(scope, receive, send, span, attributes)
            else:
                await self._app(scope, receive, send)

    async def _observe(
        self, scope: Scope, receive: Receive, send: Send, span: Span, attributes: dict[str, str | int]
    ) -> None:
        status = 500  # for an app that fails before it sends a status

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        begun = time.perf_counter()
        try:
            await self._app(scope, receive, send_on)
        finally:
            attributes["http.response.status_code"] = status
            if status >= 500:
                attributes[ERROR_TYPE] = str(status)
                span.set_status(Status(StatusCode.ERROR))
            span.set_attributes(attributes)
            request_duration.record(time.perf_counter() - begun, attributes)
