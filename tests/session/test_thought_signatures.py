"""The repair adds thought signatures to the calls of a request that need one."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner
from google.adk.utils.content_utils import SKIP_THOUGHT_SIGNATURE_VALIDATOR
from google.genai import types

from stream_protocol.session import repair_thought_signatures
from stream_protocol.session._thought_signatures import SKIP_SIGNATURE
from stream_protocol.testing import Call, ScriptedLlm

GEMINI_3 = "gemini-3-pro-preview"


def said(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def called(*signatures: bytes | None, call_id: str | None = None, **args: Any) -> types.Content:
    call = types.FunctionCall(id=call_id, name="look", args=args)
    return types.Content(
        role="model", parts=[types.Part(function_call=call, thought_signature=each) for each in signatures]
    )


def result() -> types.Content:
    response = types.FunctionResponse(name="look", response={"ok": 1})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


@dataclass
class Session:
    events: list[Event] = field(default_factory=list)


@dataclass
class Context:
    """The part of ADK's context that the callback reads."""

    session: Session


def signatures(
    *contents: types.Content, stored: Iterable[types.Content] = (), model: str = GEMINI_3
) -> list[list[bytes | None]]:
    """Return the signatures of the calls after the repair, by model response."""
    request = LlmRequest(model=model, contents=list(contents))
    context = Context(Session([Event(author="root", content=content) for content in stored]))
    repair_thought_signatures(cast("CallbackContext", context), request)
    return [
        [part.thought_signature for part in content.parts or () if part.function_call]
        for content in request.contents
        if content.role == "model"
    ]


def test_the_value_is_adks() -> None:
    assert SKIP_SIGNATURE == SKIP_THOUGHT_SIGNATURE_VALIDATOR


def test_calls_of_the_current_turn_without_a_signature_get_the_value_that_stands_for_none() -> None:
    found = signatures(said("one"), called(None), result(), said("two"), called(None), result(), called(None), result())
    assert found == [[None], [SKIP_SIGNATURE], [SKIP_SIGNATURE]]


def test_the_signature_that_the_session_has_comes_first() -> None:
    stored = [called(b"old", call_id="adk-1", q=1), called(b"new", call_id="adk-2", q=1), called(b"other", q=2)]
    assert signatures(said("one"), called(None, q=1), stored=stored) == [[b"new"]]
    assert signatures(said("one"), called(None, q=1, call_id="adk-1"), stored=stored) == [[b"old"]]
    assert signatures(said("one"), called(None, q=3), stored=stored) == [[SKIP_SIGNATURE]]


def test_of_parallel_calls_only_the_first_needs_one() -> None:
    assert signatures(said("one"), called(b"s", None)) == [[b"s", None]]
    assert signatures(said("one"), called(None, None)) == [[SKIP_SIGNATURE, None]]


@pytest.mark.parametrize(
    ("model", "repaired"),
    [
        (GEMINI_3, True),
        ("gemini-3.5-flash", True),
        ("projects/p/locations/global/publishers/google/models/gemini-3-pro-preview", True),
        ("gemini/gemini-3-pro-preview", True),
        ("gemini-2.5-flash", False),
        ("openai/gpt-5", False),
        ("", False),
    ],
)
def test_only_gemini_3_is_concerned(model: str, repaired: bool) -> None:
    assert signatures(said("one"), called(None), model=model) == [[SKIP_SIGNATURE if repaired else None]]


def test_a_request_with_signatures_is_left_untouched() -> None:
    contents = [said("one"), said("Hm.", "model"), called(b"s", None), result(), said("Well.", "model")]
    request = LlmRequest(model=GEMINI_3, contents=contents)
    before = request.model_copy(deep=True)
    repair_thought_signatures(cast("CallbackContext", Context(Session())), request)
    assert request == before
    assert all(kept is given for kept, given in zip(request.contents, contents, strict=True))


class Model(ScriptedLlm):
    """A scripted model with the name of a Gemini model."""

    model: str = GEMINI_3


async def asked_in_a_run(signature: bytes | None, *, strip: bool = False) -> list[bytes | None]:
    """Return the signatures in the second request of a turn in a live session, and the unchanged signatures in the
    session."""
    seen: list[bytes | None] = []

    def strip_signatures(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        for content in llm_request.contents:
            content.parts = [part.model_copy(update={"thought_signature": None}) for part in content.parts or ()]

    def look_at_request(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        seen.extend(p.thought_signature for c in llm_request.contents for p in c.parts or () if p.function_call)

    def look() -> str:
        """Looks."""
        return "ok"

    before: list[Any] = [*([strip_signatures] if strip else []), repair_thought_signatures, look_at_request]
    model = Model(turns=[Call("look", signature=signature), "Done."])
    runner = InMemoryRunner(agent=LlmAgent(name="root", model=model, tools=[look], before_model_callback=before))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    run = runner.run_async(user_id="u", session_id=session.id, new_message=types.UserContent("hi"))
    stored = [
        part.thought_signature
        async for e in run
        for part in (e.content and e.content.parts) or ()
        if part.function_call
    ]
    assert stored == [signature]
    return seen


async def test_in_a_live_session_the_request_is_repaired_and_the_session_is_not() -> None:
    assert await asked_in_a_run(None) == [SKIP_SIGNATURE]
    assert await asked_in_a_run(b"s") == [b"s"]
    assert await asked_in_a_run(b"s", strip=True) == [b"s"]
