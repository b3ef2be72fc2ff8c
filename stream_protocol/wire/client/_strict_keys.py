"""The keys of chunks that strict clients accept. Strict clients (v6 before 6.0.231, v7 before 7.0.32) refuse a chunk
with any other key. Mirrors ``ui-message-stream/ui-message-chunks.ts`` of ``vercel/ai`` at the strict versions.
"""

from collections.abc import Mapping, Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final, get_args, get_type_hints

from stream_protocol.wire._chunks import AiSdkVersion, Chunk, DataChunk
from stream_protocol.wire._client_versions import KEY_VERSIONS, OLDEST

_CHUNK_KEYS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {get_args(hints["type"])[0]: frozenset(hints) for hints in map(get_type_hints, get_args(Chunk))}
)
_DATA_KEYS: Final = frozenset(get_type_hints(DataChunk))


def unknown_keys(chunk: Mapping[str, Any], *, ai_sdk: AiSdkVersion) -> AbstractSet[str]:
    """Return the keys that the oldest supported client of this major version refuses in a chunk. The chunk must have a
    known type.

    For v7, the result does not contain keys that only later clients use: the oldest supported client (7.0.32) ignores
    them.
    """
    kind, oldest = chunk["type"], OLDEST[ai_sdk]
    of_all = _CHUNK_KEYS.get(kind, _DATA_KEYS)
    return {key for key in chunk if not (oldest.accepts(kind, key) if (kind, key) in KEY_VERSIONS else key in of_all)}
