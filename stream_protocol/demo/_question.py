"""Reads the user's message to the travel guide from the model's request."""

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
    """Put the chat's id into the request to a scripted model, as ``before_model_callback`` of its agent.

    Without the id, requests of two chats with the same messages are equal.
    """
    llm_request.config.labels = {**(llm_request.config.labels or {}), _CHAT_LABEL: callback_context.session.id}


@dataclass(frozen=True, slots=True)
class Question:
    """The user's newest message, and the results of tools after it."""

    text: str
    files: Sequence[types.Blob]
    results: Mapping[str, Mapping[str, Any]]
    """Tool -> its newest result."""
    forecasts: Sequence[Mapping[str, Any]] = ()
    """The results of ``get_weather``."""
    chat: str = ""
    """The chat's id, if ``label_chat`` is a callback of the agent."""

    @property
    def cities(self) -> list[str]:
        """Known cities in the message, in alphabetical order."""
        return [city for city in HOTELS if city.casefold() in self.text.casefold()]


Scene = Callable[[Question], list[Step]]
"""Function that handles one kind of message.

It returns the model's next reply, which depends on the tool results so far.
"""


def read_question(request: LlmRequest) -> Question:
    """Return the newest question of a request."""
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
    """Ask for the city. A scene is the handler for one kind of message, and some scenes need a city."""
    return [f"Which city? I know {', '.join(HOTELS)}."]
