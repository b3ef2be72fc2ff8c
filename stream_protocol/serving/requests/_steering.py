"""Provides ``steer``, which sends a user message to an active run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from stream_protocol.serving.base import RUN_LOG, run_off_loop, unknown_chat_refusal, unreachable_refusal
from stream_protocol.serving.chats import chat_key
from stream_protocol.serving.requests._page_values import checked_request, page_context, store_state
from stream_protocol.serving.runs import Incoming, delivery
from stream_protocol.session import NewUserTurn, NothingToRun, idempotency_key
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.serving.base import RunOverrides
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.serving.run_logs import RunInfo
    from stream_protocol.serving.runs import Planned, Reply
    from stream_protocol.session import RequestPlan
    from stream_protocol.wire import ChatRequest

NotDelivered: TypeAlias = Literal["finished", "waiting-for-tool-results", "aborted"]
"""The reason why a steering message was not delivered, in the AI SDK's terms. ``finished``: the chat has no run that
accepts messages. ``waiting-for-tool-results``: no run is active, because the agent waits for an answer to a tool call.
``aborted``: the run is being stopped."""


class SteeringOutcome(TypedDict):
    """The outcome of a steering message: a user message to an active run. The outcomes have the AI SDK's names."""

    type: Literal["delivered", "not-delivered"]
    """``delivered``: the message is stored. The agent reads it in the active run, or begins the next turn with it."""
    id: str
    reason: NotRequired[NotDelivered]
    """The reason for ``not-delivered``. The message is not stored then, and the client should send it as a new
    message."""


def can_steer(request_plan: RequestPlan) -> bool:
    """Return True if the request is only a new message. Edits, and messages with answers to tool calls, cannot be sent
    to an active run.
    """
    return isinstance(request_plan, NewUserTurn) and request_plan.rewind_before is None and not request_plan.answers


async def deliver(service: ServiceContext, key: ChatKey, run: RunInfo, request: ChatRequest, planned: Planned) -> Reply:
    """Sends the message of a request to a run. First stores the request's state changes. So the model call that reads
    the message already has the new state.

    If the message was already delivered, the state changes are not stored again, because newer values may exist. Raises
    ``ChatRequestError``: 429 if too many messages wait, 503 if the run does not reply.
    """
    message = request.target
    if planned.transcript is None or message["id"] not in planned.transcript.accepted:
        await store_state(service, key, request)
    post = delivery(message, page_context(service, request))
    reply = await service.store.with_timeout(service.runs.ask(key, run, post, service.limits.stop_timeout))
    if reply is None or reply == "left":
        raise unreachable_refusal(RUN_LOG)
    if reply == "full":
        text = "Too many of your messages wait for the answer. Try again in a moment."
        raise ChatRequestError(text, status=429, retry_after=2, reason="steering_messages")
    return reply


async def steer(
    service: ServiceContext, request: ChatRequest, user_id: str, overrides: RunOverrides
) -> SteeringOutcome:
    """Sends the user's message to the active run of the chat: see ``ChatService.steer``."""
    if not service.keeps_history:
        raise ChatRequestError("The server does not keep this chat: wait for the answer, or stop it.", status=409)
    request = await checked_request(service, user_id, request)
    key, message = chat_key(user_id, request.id), request.target
    delivered: SteeringOutcome = {"type": "delivered", "id": message["id"]}
    planned = await _plan(service, request, user_id, overrides)
    if isinstance(planned.request_plan, NothingToRun) or _waits(planned, message["id"]):
        return delivered
    if not can_steer(planned.request_plan):
        raise ChatRequestError("This message is stored already. Send it as an edit.", status=409)
    run, reply = await service.runs.open_run(key), None
    if run is None and planned.session is not None and await service.executor.wait_until_recovered(key):
        run = await service.runs.open_run(key)
    if run is not None:
        reply = await deliver(service, key, run, request, planned)
        if reply == "delivered":
            return delivered
        planned = await _plan(service, request, user_id, overrides)  # the run may have read this message before
        if isinstance(planned.request_plan, NothingToRun) or _waits(planned, message["id"]):
            return delivered
    elif planned.session is None:
        raise unknown_chat_refusal()
    return {"type": "not-delivered", "id": message["id"], "reason": _reason(planned, reply)}


async def _plan(service: ServiceContext, request: ChatRequest, user_id: str, overrides: RunOverrides) -> Planned:
    incoming = Incoming(
        request=request,
        user_id=user_id,
        overrides=overrides,
        scope=service.audit.scope(user_id, request),
        idempotency_key=await run_off_loop(lambda: idempotency_key(request), size=request.size),
    )
    return await service.store.with_timeout(service.planner.plan(incoming, chat_was_busy=True))


def _waits(planned: Planned, message_id: str) -> bool:
    """Return True if a run has accepted the message and no agent has read it."""
    return planned.transcript is not None and any(each.id == message_id for each in planned.transcript.waiting)


def _reason(planned: Planned, reply: Reply | None) -> NotDelivered:
    """Return the reason why a message was not delivered. ``reply``: the reply of the active run; ``None`` without a
    run.
    """
    if reply == "aborted":
        return "aborted"
    turn = planned.transcript.current if planned.transcript is not None else None
    is_waiting = turn is not None and any(call.is_awaited for call in turn.external_calls)
    return "waiting-for-tool-results" if is_waiting else "finished"
