"""Encode chunks as server-sent events for ``ai@6`` and ``ai@7`` (``parse-json-event-stream.ts``)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import orjson

from stream_protocol.wire._arguments import shown
from stream_protocol.wire._chunks import AnyChunk
from stream_protocol.wire._forbidden_keys import may_hold_forbidden_key, rename_forbidden_keys
from stream_protocol.wire._json_values import JSON_OPTIONS, json_value

SSE_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "connection": "keep-alive",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    }
)
"""The headers of an SSE response: those of the AI SDK's server, and ``no-transform``. ``no-transform`` keeps proxies
from compressing the response, which would delay deltas."""

SSE_DONE: Final = b"data: [DONE]\n\n"
"""The last event of an SSE response. The AI SDK's client ignores it, but other clients wait for it."""

SSE_KEEP_ALIVE: Final = b": keep-alive\n\n"
"""A comment, which keeps proxies from closing an idle connection."""


def encode_sse(chunk: AnyChunk) -> bytes:
    """Return the chunk as one SSE event: ``data: <json>`` and a blank line.

    Never raises for a chunk of the converter. In a chunk that an app has built, ``json_value`` converts values that are
    not JSON. Raises ``TypeError`` if the chunk is not a dictionary.
    """
    if type(chunk) is not dict and not isinstance(chunk, Mapping):
        raise TypeError(f"`encode_sse` takes one chunk, a dictionary, not {shown(chunk)}.")
    try:
        body = orjson.dumps(chunk, option=JSON_OPTIONS)
    except orjson.JSONEncodeError:
        return b"data: " + orjson.dumps(json_value(chunk, lossy=True)) + b"\n\n"
    if may_hold_forbidden_key(body):
        body = orjson.dumps(rename_forbidden_keys(orjson.loads(body)))
    return b"data: " + body + b"\n\n"
