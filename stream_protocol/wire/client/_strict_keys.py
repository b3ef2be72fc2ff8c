"""Which keys the strict clients know: v6 before 6.0.231 and v7 before 7.0.32, which die of any other.

They validate with ``z.strictObject`` where later clients keep what they do not know. The keys of ``chunks.py`` are
those that every v6 client from 6.0.39 on knows; 7.0.0 knew a few more.
"""

from collections.abc import Mapping, Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final, get_args, get_type_hints

from stream_protocol.wire._chunks import AiSdkVersion, Chunk, DataChunk

_KNOWN: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {get_args(hints["type"])[0]: frozenset(hints) for hints in map(get_type_hints, get_args(Chunk))}
)
_DATA: Final = frozenset(get_type_hints(DataChunk))

_KNOWN_TO_V7: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "tool-input-start": frozenset({"toolMetadata"}),
        "tool-input-available": frozenset({"toolMetadata"}),
        "tool-input-error": frozenset({"toolMetadata"}),
        "tool-approval-request": frozenset({"signature"}),
        "tool-output-available": frozenset({"providerMetadata", "toolMetadata"}),
        "tool-output-error": frozenset({"providerMetadata", "toolMetadata"}),
    }
)
"""What v6 learned after 6.0.39 and v7 had from the beginning."""


def unknown_keys(chunk: Mapping[str, Any], *, ai_sdk: AiSdkVersion) -> AbstractSet[str]:
    """Returns the keys of a chunk of a known type that the oldest clients of the version refuse."""
    unknown = chunk.keys() - _KNOWN.get(chunk["type"], _DATA)
    return unknown - _KNOWN_TO_V7.get(chunk["type"], frozenset()) if unknown and ai_sdk == 7 else unknown
