"""Versions of the client's ``ai`` package. For chunk types and keys, tables contain the first version that accepts
them.

A client does not send its version, so the app sets it. All clients fail on a chunk of an unknown type. Clients before
6.0.231 and 7.0.32 also fail on an unknown key. Later clients ignore unknown keys.

Source: ``packages/ai/src/ui-message-stream/ui-message-chunks.ts`` of ``vercel/ai``, at its tags and in its changelog.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from stream_protocol.wire._arguments import argument_error
from stream_protocol.wire._chunks import AiSdkVersion

AiSdkOption: TypeAlias = AiSdkVersion | str
"""A major version as a number, or a full version as a text."""

_FULL: Final = re.compile(r"([67])\.(0|[1-9][0-9]{0,4})\.(0|[1-9][0-9]{0,4})")


class ClientVersion(NamedTuple):
    """A version of the client's ``ai`` package. Versions are compared like tuples of numbers."""

    major: AiSdkVersion
    minor: int
    patch: int

    def accepts(self, kind: str, key: str | None = None) -> bool:
        """Return True if the client accepts chunks of the type ``kind``. If ``key`` is given, the client must also
        accept this key in such chunks.
        """
        if not _is_since(self, CHUNK_VERSIONS.get(kind)):
            return False
        return key is None or self >= IGNORING_KEYS[self.major] or _is_since(self, KEY_VERSIONS.get((kind, key)))

    def knows(self, kind: str, key: str) -> bool:
        """Return True if the client uses ``key`` in chunks of the type ``kind``. Return False for a client that accepts
        the key but ignores it.
        """
        return _is_since(self, CHUNK_VERSIONS.get(kind)) and _is_since(self, KEY_VERSIONS.get((kind, key)))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


OLDEST: Final[Mapping[AiSdkVersion, ClientVersion]] = MappingProxyType(
    {6: ClientVersion(6, 0, 39), 7: ClientVersion(7, 0, 32)}
)
"""Major version -> the full version that the library assumes for this option."""

IGNORING_KEYS: Final[Mapping[AiSdkVersion, ClientVersion]] = MappingProxyType(
    {6: ClientVersion(6, 0, 231), 7: ClientVersion(7, 0, 32)}
)
"""Major version -> its first version that ignores unknown keys."""

Since: TypeAlias = Mapping[AiSdkVersion, ClientVersion]
"""Major version -> its first version that accepts a chunk or a key. Major versions that never accept the chunk or key
are left out."""


def _since(v6: str | None, v7: str | None = "7.0.0") -> Since:
    found = (client_version(each) for each in (v6, v7) if each is not None)
    return MappingProxyType({version.major: version for version in found})


def client_version(ai_sdk: object) -> ClientVersion:
    """Return the client version for a value of the option ``ai_sdk``. Raises ``InvalidArgumentError`` for an invalid
    value.
    """
    for version in OLDEST.values():
        if type(ai_sdk) is int and ai_sdk == version.major:
            return version
    if isinstance(ai_sdk, str) and (full := _FULL.fullmatch(ai_sdk)):
        return ClientVersion(6 if full[1] == "6" else 7, int(full[2]), int(full[3]))
    raise argument_error("ai_sdk", '6, 7, or a full version such as "7.0.120"', ai_sdk)


CHUNK_VERSIONS: Final[Mapping[str, Since]] = MappingProxyType(
    {
        "reset-step": _since(None, "7.0.70"),
        "reasoning-file": _since(None),
        "custom": _since(None),
        "tool-approval-response": _since(None),
        "steering-message": _since(None, "7.0.163"),
    }
)
"""Chunk type -> first versions that accept it. All clients accept other chunk types."""

KEY_VERSIONS: Final[Mapping[tuple[str, str], Since]] = MappingProxyType(
    {
        ("abort", "reason"): _since("6.0.15"),
        ("tool-input-start", "providerMetadata"): _since("6.0.39"),
        ("tool-output-available", "providerMetadata"): _since("6.0.120"),
        ("tool-output-error", "providerMetadata"): _since("6.0.120"),
        ("tool-input-start", "toolMetadata"): _since("6.0.176"),
        ("tool-input-available", "toolMetadata"): _since("6.0.176"),
        ("tool-input-error", "toolMetadata"): _since("6.0.176"),
        ("tool-output-available", "toolMetadata"): _since("6.0.176"),
        ("tool-output-error", "toolMetadata"): _since("6.0.176"),
        ("tool-approval-request", "signature"): _since("6.0.202"),
        ("tool-approval-request", "approvalDescriptor"): _since("6.0.274", "7.0.87"),
        ("tool-approval-request", "inputSchemaInput"): _since("6.0.290", "7.0.113"),
        ("tool-approval-request", "isAutomatic"): _since(None),
        ("tool-approval-request", "reason"): _since(None, "7.0.82"),
        ("tool-input-start", "inputEncoding"): _since("6.0.308", "7.0.142"),
        ("text-end", "citations"): _since(None, "7.0.138"),
    }
)
"""Chunk type and key -> first versions that accept the key. All clients accept other keys."""


def _is_since(version: ClientVersion, since: Since | None) -> bool:
    if since is None:
        return True
    first = since.get(version.major)
    return first is not None and version >= first
