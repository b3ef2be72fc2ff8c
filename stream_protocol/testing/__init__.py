"""What a test or a demo of an ADK agent needs to run without a model. ADK is imported by what needs it."""

from typing import TYPE_CHECKING

from stream_protocol.lazy import names_at_home

if TYPE_CHECKING:
    from stream_protocol.testing.finding import RecordingFinder
    from stream_protocol.testing.matching import StreamMatcher
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

_HOMES = dict.fromkeys(__all__, "scripted_llm") | {"RecordingFinder": "finding", "StreamMatcher": "matching"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_at_home(__name__, _HOMES)
