"""Types of a sample: an agent, and a chat with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from google.adk.agents import LlmAgent

from stream_protocol.serving import Target
from stream_protocol.testing import ScriptedLlm

Do: TypeAlias = Mapping[str, Any]
"""A step of ``visit-chats.mjs``."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The user sends ``text``, with ``files`` as parts.

    The page reloads, and then sends the answers for which the agent waits.

    ``shows``: the agent's message at the end of the turn, as its texts and the states of its calls. ``asks``: the
    agent's message before the answers, in the same form. ``error``: the error text on the page at the end of the turn.
    ``stored``: the stored user message and reply, if they cannot be equal to the messages on the page. For the reasons,
    see ``docs/decisions/what-history-equals.md``.
    """

    text: str
    shows: str
    asks: str | None = None
    answers: Sequence[Do] = ()
    error: str | None = None
    stored: Sequence[str] | None = None
    files: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Sample agent, and a chat with it.

    ``build``: makes the agent, from the address of the services in ``services.py``. ``logs``: allowed words in the log,
    besides ``EXPECTED_LOGS``.
    """

    name: str
    build: Callable[[str], Target]
    turns: Sequence[Turn]
    logs: Sequence[str] = ()


def scripted(name: str, *turns: Any, **more: Any) -> LlmAgent:
    """Return an agent whose model sends these ``turns`` of ``ScriptedLlm``."""
    return LlmAgent(name=name, model=ScriptedLlm(turns=turns), **more)


def approve(tool: str, **more: Any) -> Do:
    return {"approve": tool, "approved": True, **more}


def deny(tool: str, **more: Any) -> Do:
    return {"approve": tool, "approved": False, **more}


def answer(tool: str, output: Any) -> Do:
    return {"answer": tool, "output": output}
