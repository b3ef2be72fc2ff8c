"""Tools for testing ADK agents without a real model: scripted models, recordings and expected streams.

The module ``run_log_conformance`` has tests for your own ``RunLog``.
"""

from stream_protocol.testing._find_recording import RecordingFinder
from stream_protocol.testing._scripted_llm import (
    Call,
    ScriptedLlm,
    ScriptExhaustedError,
    Step,
    Thought,
    Turn,
    Wait,
    token_usage,
    web_sources,
    words,
)
from stream_protocol.testing._stream_matcher import StreamMatcher

__all__ = [
    "Call",
    "RecordingFinder",
    "ScriptExhaustedError",
    "ScriptedLlm",
    "Step",
    "StreamMatcher",
    "Thought",
    "Turn",
    "Wait",
    "token_usage",
    "web_sources",
    "words",
]
