"""Finds the user's last message in a request to the travel guide's model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from stream_protocol.demo._tools import HOTELS
from stream_protocol.testing import Step

_CHAT_LABEL: Final = "chat"


def label_chat(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """``before_model_callback`` that adds the chat's id to each request. So a scripted model can distinguish two chats
    with the same messages.
    """
    llm_request.config.labels = {**(llm_request.config.labels or {}), _CHAT_LABEL: callback_context.session.id}


@dataclass(frozen=True, slots=True)
class Question:
    """The user's last message, and the results of the tools that were called after it."""

    text: str
    files: Sequence[types.Blob]
    results: Mapping[str, Mapping[str, Any]]
    """Name of a tool -> its newest result."""
    forecasts: Sequence[Mapping[str, Any]] = ()
    """The results of ``get_weather``."""
    chat: str = ""
    """The id of the chat; empty if ``label_chat`` is not a callback of the agent."""

    @property
    def cities(self) -> list[str]:
        """The known cities in the message, in alphabetical order."""
        return [city for city in HOTELS if city.casefold() in self.text.casefold()]


Scene = Callable[[Question], list[Step]]
"""Function that returns the model's next reply to one kind of user message."""


def read_question(request: LlmRequest) -> Question:
    """Return the user's last message in a request, and the results of the tools that were called after it."""
    since = [*takewhile(lambda parts: not _is_typed(parts), (c.parts or [] for c in reversed(request.contents)))]
    typed = request.contents[-1 - len(since)].parts or [] if len(since) < len(request.contents) else []
    responses = [part.function_response for parts in reversed(since) for part in parts if part.function_response]
    return Question(
        text=" ".join(part.text for part in typed if part.text),
        files=[part.inline_data for part in typed if part.inline_data],
        results={response.name or "": response.response or {} for response in responses},
        forecasts=[response.response or {} for response in responses if response.name == "get_weather"],
        chat=(request.config.labels or {}).get(_CHAT_LABEL, ""),
    )


def _is_typed(parts: Sequence[types.Part]) -> bool:
    return any(part.text or part.inline_data for part in parts) and not any(part.function_call for part in parts)


def which_city(_: Question) -> list[Step]:
    """Scripted reply that asks the user for a city. Other replies call this function if the user's message names no
    city.
    """
    return [f"Which city? I know {', '.join(HOTELS)}."]
