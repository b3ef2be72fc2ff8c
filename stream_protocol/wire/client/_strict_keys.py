"""The keys that strict clients accept: v6 before 6.0.231 and v7 before 7.0.32 refuse a chunk with any other key.

Mirrors ``ui-message-stream/ui-message-chunks.ts`` of ``vercel/ai`` at those versions: it validates with
``z.strictObject``, where later clients keep keys that they do not know. Every v6 client from 6.0.39 on accepts the keys
in ``wire/_chunks.py``; 7.0.0 accepted a few more.
"""

from collections.abc import Mapping, Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final, get_args, get_type_hints

from stream_protocol.wire._chunks import AiSdkVersion, Chunk, DataChunk

_CHUNK_KEYS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {get_args(hints["type"])[0]: frozenset(hints) for hints in map(get_type_hints, get_args(Chunk))}
)
_DATA_KEYS: Final = frozenset(get_type_hints(DataChunk))

_V7_KEYS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "tool-input-start": frozenset({"toolMetadata"}),
        "tool-input-available": frozenset({"toolMetadata"}),
        "tool-input-error": frozenset({"toolMetadata"}),
        "tool-approval-request": frozenset({"signature"}),
        "tool-output-available": frozenset({"providerMetadata", "toolMetadata"}),
        "tool-output-error": frozenset({"providerMetadata", "toolMetadata"}),
    }
)
"""Keys that v6 accepts only since a later version than 6.0.39, and every v7."""


def unknown_keys(chunk: Mapping[str, Any], *, ai_sdk: AiSdkVersion) -> AbstractSet[str]:
    """Returns the keys of a chunk of a known type that the oldest clients of the version refuse."""
    unknown = chunk.keys() - _CHUNK_KEYS.get(chunk["type"], _DATA_KEYS)
    return unknown - _V7_KEYS.get(chunk["type"], frozenset()) if unknown and ai_sdk == 7 else unknown
