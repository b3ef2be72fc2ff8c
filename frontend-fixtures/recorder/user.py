"""Actions of the user: a text, an approval, the output of a client tool. Works with old ADK versions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from recorder.fixture import Action


@dataclass(frozen=True)
class Sent:
    """Input of one turn: the page's action, and ADK's message."""

    actions: list[Action]
    message: types.Content


Send = Callable[[Sequence[Event]], Sent]
"""Makes the input of a turn from the events so far. User's answers need the ids of the calls."""


def say(words: str) -> Send:
    def send(events: Sequence[Event]) -> Sent:
        return Sent([{"text": words}], types.Content(role="user", parts=[types.Part(text=words)]))

    return send


def decide(*approved: bool, reason: str | None = None) -> Send:
    """Approve or deny the last open confirmations, in their order."""

    def send(events: Sequence[Event]) -> Sent:
        asked = _calls(events, "adk_request_confirmation")[-len(approved) :]
        actions: list[Action] = [{"approve": one.id, "approved": yes} for one, yes in zip(asked, approved, strict=True)]
        for action in actions:
            if reason is not None:
                action["reason"] = reason
        replies = [_response(one, {"confirmed": yes}) for one, yes in zip(asked, approved, strict=True)]
        return Sent(actions, types.Content(role="user", parts=replies))

    return send


def answer(name: str, output: dict[str, Any]) -> Send:
    """Give the output of the last call with this name, as a client tool."""

    def send(events: Sequence[Event]) -> Sent:
        asked = last_call(events, name)
        return Sent([{"answer": _shown_id(events, asked), "output": output}], reply(asked, output))

    return send


def both(first: Send, second: Send) -> Send:
    """Send answers of two kinds in one request."""

    def send(events: Sequence[Event]) -> Sent:
        one, other = first(events), second(events)
        parts = [*(one.message.parts or ()), *(other.message.parts or ())]
        return Sent([*one.actions, *other.actions], types.Content(role="user", parts=parts))

    return send


def after_reload(send: Send) -> Send:
    """Send the same from a reloaded page, with the messages of the server's history."""

    def reload(events: Sequence[Event]) -> Sent:
        sent = send(events)
        return Sent([{"reload": True}, *sent.actions], sent.message)

    return reload


def last_call(events: Sequence[Event], name: str) -> types.FunctionCall:
    return _calls(events, name)[-1]


def reply(asked: types.FunctionCall, response: dict[str, Any]) -> types.Content:
    """Return the message with the function response for this call."""
    return types.Content(role="user", parts=[_response(asked, response)])


def _shown_id(events: Sequence[Event], asked: types.FunctionCall) -> str | None:
    """Return the id of this call on the page: the id of its first fragment. Old ADK versions change it in the complete
    call.
    """
    fragments = (event for event in events if event.partial)
    named = [one.id for event in fragments for one in event.get_function_calls() if one.name == asked.name]
    return named[-1] if named else asked.id


def _calls(events: Sequence[Event], name: str) -> list[types.FunctionCall]:
    whole = (event for event in events if not event.partial)
    return [one for event in whole for one in event.get_function_calls() if one.name == name]


def _response(asked: types.FunctionCall, response: dict[str, Any]) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=asked.id, name=asked.name, response=response))
