"""Wraps a model so that its complete responses are stored. If a run is executed again, the stored response replaces the
model call.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING
from uuid import uuid4

from google.adk.flows.llm_flows.functions import AF_FUNCTION_CALL_ID_PREFIX
from google.adk.models import LlmResponse

from stream_protocol.durable._call_journal import current_calls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models import BaseLlm, LlmRequest

    from stream_protocol.durable._call_journal import CallJournal


class ModelCallNames:
    """Names for the calls of one agent's model. A name contains the agent and the branch.

    ADK passes the branch to callbacks, but not to the model. So a callback notes the name, and the model takes the name
    from here.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        """The ``id()`` of a request -> the name of its model call. The request exists until the model gets it."""

    def note(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Store the name of the next model call.

        Use this method as the last ``before_model_callback``. If another callback returns a response, ADK makes no
        model call and does not call this method.
        """
        calls = current_calls()
        if calls is not None:
            branch = callback_context._invocation_context.branch  # noqa: SLF001 - no public access
            self._names[id(llm_request)] = calls.model_call(callback_context.agent_name, branch)

    def take(self, llm_request: LlmRequest) -> str | None:
        """Return the stored name of the model call that sends ``llm_request``, and delete it."""
        return self._names.pop(id(llm_request), None)


def durable_model(model: BaseLlm, names: ModelCallNames) -> BaseLlm:
    """Return a copy of the model. The copy stores its responses during a durable run. The class of the model does not
    change.
    """

    async def generate_content_async(
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        calls, name = current_calls(), names.take(llm_request)
        if calls is None or name is None:
            responses = model.generate_content_async(llm_request, stream)
        elif (kept := await calls.kept(name)) is not None:
            responses = _from_json(kept)
        else:
            responses = _generate(calls, name, model, llm_request, stream=stream)
        async for response in responses:
            yield response

    durable = model.model_copy()
    # Pydantic refuses to set a method as a field. An entry in `__dict__` takes precedence over the method of the class.
    durable.__dict__["generate_content_async"] = generate_content_async
    return durable


async def _generate(
    calls: CallJournal, name: str, model: BaseLlm, request: LlmRequest, *, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """Call the model, and yield its responses. A partial response is yielded immediately, a complete response after it
    is stored.

    After a complete response, ADK immediately runs the tools that the response calls. So it must be stored before that.
    """
    calls.go_live()
    partial = asyncio.Queue[LlmResponse | None]()
    whole: list[LlmResponse] = []

    async def ask() -> str:
        async for response in model.generate_content_async(request, stream):
            if response.partial:
                partial.put_nowait(response)
            else:
                _give_ids(response)
                whole.append(response)
        return _to_json(whole)

    asking = asyncio.create_task(calls.do(name, ask, repeatable=True))
    asking.add_done_callback(lambda _: partial.put_nowait(None))
    try:
        while (response := await partial.get()) is not None:
            yield response
        await asking
    finally:
        asking.cancel()
    for response in whole:
        yield response


def _give_ids(response: LlmResponse) -> None:
    """Give an id to each tool call that has none. Otherwise, ADK would generate the id, and it would differ in each
    execution of the run.
    """
    for part in (response.content and response.content.parts) or ():
        if part.function_call is not None and not part.function_call.id:
            part.function_call.id = f"{AF_FUNCTION_CALL_ID_PREFIX}{uuid4()}"


def _to_json(responses: list[LlmResponse]) -> str:
    return json.dumps([response.model_dump(mode="json", exclude_none=True) for response in responses])


async def _from_json(kept: str) -> AsyncGenerator[LlmResponse, None]:
    for response in json.loads(kept):
        yield LlmResponse.model_validate(response)
