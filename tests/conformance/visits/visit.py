"""Types of a visit: the model's replies, the actions on the page, and the expected results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.genai import types

from stream_protocol.serving import ServiceLimits
from stream_protocol.session import TruncatedHistory
from stream_protocol.testing import Call, Wait
from tests.frontends.actions import Action

TOO_LONG = "The answer became too long and was ended. Ask for less at once."

FAILED = "An error occurred."
"""The page's default text for a failed run."""


@dataclass(frozen=True, slots=True)
class Step:
    """Actions, ``do`` as in ``visit-chats.mjs``, then the expected state.

    ``shows``: messages on the page, each as its texts and the states of its calls. ``posts``: number of requests.
    ``ran``: all tools that have run. ``kept``: number of earlier messages with unchanged ids and places; by default
    all. ``error``: the page's error text. ``stored``: the server's messages, if they differ from the page. They may
    differ by refused or unsent answers, and by the rest of a response that the page did not read.
    """

    do: Mapping[str, Any]
    shows: Sequence[str]
    posts: int = 1
    ran: Sequence[str] = ()
    kept: int | None = None
    error: str | None = None
    stored: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A chat with an agent whose model sends ``turns``, and the steps on the page.

    ``asks``: questions that a workflow asks before the agent runs. All have the same id. ``streams``: if False, the
    model does not stream. In a streamed response, ADK would drop a call that has the id of another call. ``awaited``:
    calls without the page's answer when ADK calls the model again, after another tool's output. ``sends``: when the
    page sends by itself, and what: see ``harness/chat.js``.
    ``leaving_stops``: a run ends when its page closes. ``truncated_history``, ``limits``: options of ``ChatService``.
    ``action``: the action of the visit in docs/frontends.md.
    """

    name: str
    turns: Sequence[Any]
    steps: Sequence[Step]
    awaited: Sequence[str] = ()
    sends: str = "helpers"
    asks: Sequence[str] = ()
    streams: bool = True
    leaving_stops: bool = True
    truncated_history: TruncatedHistory = "append"
    limits: ServiceLimits | None = None
    action: Action | None = None

    @property
    def is_template(self) -> bool:
        """True if the client sends requests of Vercel's chatbot template, without `trigger` and `messageId`."""
        return self.sends in ("template", "adapted")


def pay(amount: int) -> Call:
    return Call("pay", {"amount": amount})


def half_a_call() -> list[types.Part]:
    """Return a call that the model has begun to write: its name and half of an argument."""
    city = types.PartialArg(json_path="$.city", string_value="Os", will_continue=True)
    return [
        types.Part(function_call=types.FunctionCall(name="look", will_continue=True)),
        types.Part(function_call=types.FunctionCall(partial_args=[city], will_continue=True)),
    ]


FOREVER = Wait(3600)

WHERE = Call("where", {"question": "city"})

LOOK = Call("look", {"city": "Oslo"})

WHO = Call(
    "adk_request_input",
    {"message": "Who?", "response_schema": {"type": "object", "properties": {"age": {"type": "integer"}}}},
)

WRONG = "The answer is not what was asked for: the field age does not fit."

CREDENTIAL = "adk_request_credential"

NO_KEY = "The credential must be an object with texts; it takes apiKey."

OFFLINE = "offline"

OTHERWISE = "That request was answered differently before."

GONE = "There is no such request to answer any more."


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"text": words, **more}


def approve(**more: Any) -> dict[str, Any]:
    return {"approve": "pay", "approved": True, **more}


def deny(**more: Any) -> dict[str, Any]:
    return {"approve": "pay", "approved": False, **more}


def book(approved: bool = True, **more: Any) -> dict[str, Any]:
    return {"approve": "book", "approved": approved, **more}


RELOAD = {"reload": True}

SEND = {"send": True}

ASKED = ["pay", "pay approval-requested"]

ASKED_TWICE = ["pay", "pay approval-requested, pay approval-requested"]

SUPERSEDED = ["pay", "pay output-error"]

HALF_ANSWERED = ["pay", "pay approval-responded, pay approval-requested"]

PAID = ["pay", "pay output-available, Paid."]

SEAT_ASKED = ["book", "book approval-requested, Which seat?, I asked."]

BOOKED = ["book", "book output-available, Which seat?, I asked., Booked."]

KEY_ASKED = ["go", "calendar input-available, adk_request_credential input-available"]

KEY_GIVEN = ["go", "calendar output-available, adk_request_credential output-available, Three."]

TWO_TURNS = ["hi", "one", "and?", "two"]


def two_turns() -> list[Step]:
    return [Step(text("hi"), ["hi", "one"]), Step(text("and?"), TWO_TURNS)]


def answer(output: Any, call: int = 0, tool: str = "where") -> dict[str, Any]:
    return {"answer": tool, "call": call, "output": output}
