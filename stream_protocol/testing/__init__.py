"""What a test or a demo of an ADK agent needs to run without a model. ADK is imported by what needs it."""

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOMES = {"RecordingFinder": "finding", "StreamMatcher": "matching"}

if not TYPE_CHECKING:  # a type checker that saw these would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'scripted_llm')}"), name)

    def __dir__() -> list[str]:
        return [*globals(), *__all__]
