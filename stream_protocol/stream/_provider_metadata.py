"""Provider metadata of parts: the author and the thought signature."""

from base64 import b64encode

from stream_protocol.adk import SpeakerKey
from stream_protocol.wire import ProviderMetadata


def provider_metadata(speaker: SpeakerKey, signature: bytes | None = None) -> ProviderMetadata:
    """Return provider metadata with the author and branch, and with Gemini's thought signature if there is one."""
    author, branch, _ = speaker
    adk = {"author": author} if branch is None else {"author": author, "branch": branch}
    return {"adk": adk} if signature is None else {"adk": adk} | signature_metadata(signature)


def signature_metadata(signature: bytes) -> ProviderMetadata:
    """Return provider metadata with a thought signature, in the format of the AI SDK's Google provider."""
    return {"google": {"thoughtSignature": b64encode(signature).decode()}}
