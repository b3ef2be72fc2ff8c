"""What a test or a demo of an ADK agent needs to run without a model."""

from stream_protocol.testing.scripted_llm import (
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

__all__ = [
    "Call",
    "ScriptExhaustedError",
    "ScriptedLlm",
    "Step",
    "Thought",
    "Turn",
    "Wait",
    "token_usage",
    "web_sources",
    "words",
]
