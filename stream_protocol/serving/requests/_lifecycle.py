"""Provides ``RequestLifecycle``: the states of one chat request, and the transitions between them.

Each state has one method, which returns the next state: see ``TRANSITIONS``. In any state, the request can be refused
with ``ChatRequestError``. A refused request loses its claim, the right to begin a run in the chat.
"""

from __future__ import annotations

import time
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from stream_protocol.serving.base import ENGINE, RunSlot, busy_refusal, run_off_loop, unreachable_refusal
from stream_protocol.serving.chats import chat_key
from stream_protocol.serving.requests._page_values import checked_request
from stream_protocol.serving.requests._steering import can_steer, deliver
from stream_protocol.serving.requests._stored_response import stored_response
from stream_protocol.serving.runs import Claim, Incoming, deferred_response, question, refusal_as_events
from stream_protocol.serving.telemetry import interrupts
from stream_protocol.session import NewUserTurn, NothingToRun, idempotency_key
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from stream_protocol.serving.base import AuditScope, RunOverrides
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.serving.run_logs import RunInfo
    from stream_protocol.serving.runs import FoundOrphans, Planned, Run
    from stream_protocol.session import CallAnswer, RequestPlan
    from stream_protocol.wire import ChatRequest

RECOVERIES: Final = 3
"""The maximum number of times that a request waits for the recovery of a dead worker's run. Then the request is
refused."""


class RequestState(Enum):
    """The states of a chat request, from first to last."""

    ADMITTED = auto()
    """The request has arrived. The service computes its idempotency key."""
    CLAIMING = auto()
    """The request tries to claim its chat."""
    BUSY = auto()
    """The chat has an active run. The service already plans the request, to refuse an invalid request."""
    INTERRUPTING = auto()
    """The request is a new message, and stops the chat's active run."""
    STEERING = auto()
    """The message steers the active run (``on_busy="steer"``). The request waits until the agent reads it, or the run
    ends."""
    WAITING = auto()
    """The request waits for the end of the active run. It answers a tool call, or is a steering message that came too
    late."""
    CLAIMED = auto()
    """The request has claimed the chat. The service looks for runs of dead workers."""
    PLANNING = auto()
    """The service decides what to run for the request: see ``RequestPlan``."""
    RECOVERING = auto()
    """The runs of dead workers are recovered first, because the request is not a new message, or because it steers."""
    PREPARING = auto()
    """The request needs a run. The service takes a place within the limits, prepares the session and the job, and
    starts the run."""
    ACCEPTING = auto()
    """The run is active. The request waits until the user's message is stored."""
    REPEATING = auto()
    """The request needs no run, and gets the stored response."""
    ANSWERED = auto()
    """The request has its response."""


(
    ADMITTED,
    CLAIMING,
    BUSY,
    INTERRUPTING,
    STEERING,
    WAITING,
    CLAIMED,
    PLANNING,
    RECOVERING,
    PREPARING,
    ACCEPTING,
    REPEATING,
    ANSWERED,
) = RequestState

TRANSITIONS: Final[Mapping[RequestState, frozenset[RequestState]]] = {
    ADMITTED: frozenset({CLAIMING}),
    CLAIMING: frozenset({CLAIMED, BUSY, ANSWERED}),  # ANSWERED: with an equal request's response
    BUSY: frozenset({CLAIMING, INTERRUPTING, STEERING, WAITING, REPEATING}),  # CLAIMING: see `_plan_beside`
    INTERRUPTING: frozenset({CLAIMING}),
    STEERING: frozenset({STEERING, WAITING, ANSWERED}),  # ANSWERED: with the response of the steered run
    WAITING: frozenset({CLAIMING, WAITING}),
    CLAIMED: frozenset({PLANNING, ACCEPTING}),  # ACCEPTING: the orphaned run of an equal request is recovered
    PLANNING: frozenset({PREPARING, REPEATING, RECOVERING}),
    RECOVERING: frozenset({CLAIMING}),
    PREPARING: frozenset({ACCEPTING}),
    ACCEPTING: frozenset({ANSWERED}),
    REPEATING: frozenset({ANSWERED}),
    ANSWERED: frozenset(),
}


class RequestLifecycle:
    """One chat request. Call ``respond`` once.

    ``begins_run=False``: the request begins no run. If a response to an equal request is running, the request gets this
    response. ``interrupts=False``: the request is refused (409) if the chat has an active run.

    ``since_stop``: see ``Run``. By default, a stop affects the request only if the stop comes after the request. The
    message of the request is then stored, but gets no reply.
    """

    _incoming: Incoming
    """The request with its idempotency key and other data. Set in the state ``ADMITTED``."""
    _other: RunInfo
    """The chat's active run. Set in the states ``BUSY``, ``INTERRUPTING``, ``STEERING`` and ``WAITING``."""
    _planned: Planned
    """The plan of the request, from ``Planner.plan``. Set in the states ``BUSY`` and ``PLANNING``."""
    _response: AsyncIterator[bytes]
    """The SSE events of the response. Set before the run starts, or before the state ``ANSWERED``."""

    def __init__(
        self,
        service: ServiceContext,
        request: ChatRequest,
        *,
        user_id: str,
        overrides: RunOverrides,
        begins_run: bool,
        since_stop: str | None = None,
        interrupts: bool = True,
    ) -> None:
        self._interrupts = interrupts
        self._since_stop = since_stop
        self._service = service
        self._request = request
        self._user_id = user_id
        self._overrides = overrides
        self._begins_run = begins_run
        self._chat = chat_key(user_id, request.id)
        self._audit_scope = service.audit.scope(user_id, request)
        self._state = ADMITTED
        self._patience: float | None = service.limits.stop_timeout
        """Seconds that the request waits for the active run; ``None`` (no limit) once its own response has begun."""
        self._slot = RunSlot(service.slots, self._chat)
        self._waiting = RunSlot(service.waiting, (user_id, object()))
        self._claim: Claim | None = None
        self._was_busy = False
        self._is_delivered = False
        """True once the chat's active run has accepted the steering message."""
        self._orphans: FoundOrphans = "none"
        self._recoveries = 0

    async def respond(self) -> AsyncIterator[bytes]:
        """Returns the SSE events of the response. Raises ``ChatRequestError`` if the request is refused.

        If the request must wait for long, the response begins, but sends no chunks yet. If the request is then refused,
        the response contains only an ``error`` chunk.
        """
        if await self._advance():
            return self._response
        self._patience = None
        return deferred_response(self._service.tasks.start(refusal_as_events(self._respond_late)))

    async def _respond_late(self) -> AsyncIterator[bytes]:
        await self._advance()
        return self._response

    async def _advance(self) -> bool:
        """Go from state to state until ``ANSWERED``. Return False if the request must still wait."""
        goes_on = False
        try:
            async with self._service.audit.answering(self._user_id, self._request, self._audit_scope):
                while self._state is not ANSWERED and not goes_on:
                    state = await self._STEPS[self._state](self)
                    assert state in TRANSITIONS[self._state]
                    goes_on = state is self._state
                    self._state = state
                return not goes_on
        finally:
            if not goes_on:
                self._give_back()

    def _give_back(self) -> None:
        """Release the claim, and the request's slots within the limits of requests and runs. If a run has started, the
        run keeps them.
        """
        self._waiting.free()
        claim, self._claim = self._claim, None
        if claim is None:
            self._slot.free()
        else:
            claim.give_back()

    async def _admit(self) -> RequestState:
        requested_at = time.perf_counter()
        self._request = await checked_request(self._service, self._user_id, self._request)
        if self._since_stop is None:
            self._since_stop = await self._service.runs.newest_stop(self._chat)
        self._incoming = Incoming(
            request=self._request,
            user_id=self._user_id,
            overrides=self._overrides,
            scope=self._audit_scope,
            idempotency_key=await run_off_loop(lambda: idempotency_key(self._request), size=self._request.size),
            requested_at=requested_at,
        )
        return CLAIMING

    async def _claim_chat(self) -> RequestState:
        found = await self._service.runs.claim(
            self._chat,
            self._incoming.idempotency_key,
            self._waiting,
            request=self._request,
            since_stop=self._since_stop,
            begins_run=self._begins_run,
            requested_at=self._incoming.requested_at,
        )
        if isinstance(found, Claim):
            self._waiting.free()
            self._claim = found
            self._claim.hold(self._slot)
            return CLAIMED
        if found.reader is not None:
            self._response = found.reader
            return ANSWERED
        self._other = found.run
        return BUSY

    async def _plan_beside(self) -> RequestState:
        if not self._interrupts and self._other.phase == "claimed":
            # The other request may need no run, for example because it only gets a stored response.
            await self._service.runs.wait_until_accepted(self._chat, self._other.run_id)
            return CLAIMING
        if self._service.on_busy == "reject" or not self._interrupts:
            raise busy_refusal()
        planned = await self._plan(chat_was_busy=True)
        if self._other.phase == "claimed" and _repeats_newest_answers(planned.request_plan):
            # The other run may belong to a later message that is not yet stored. So plan again once that message is
            # stored.
            await self._service.runs.wait_until_accepted(self._chat, self._other.run_id)
            planned = await self._plan(chat_was_busy=True)
        if _repeats_newest_answers(planned.request_plan):
            raise busy_refusal()  # the active run may have begun with these answers; its end is not yet stored
        self._was_busy = True
        self._planned = planned
        match planned.request_plan:
            case NothingToRun() as stored if stored.repeats == "words" or stored.is_superseded:
                return REPEATING
            case NothingToRun(repeats="steering"):
                return STEERING
            case NewUserTurn() as request_plan if self._may_steer(request_plan):
                return STEERING
            case NewUserTurn():
                return INTERRUPTING
        return WAITING

    def _may_steer(self, request_plan: RequestPlan) -> bool:
        return self._service.on_busy == "steer" and can_steer(request_plan)

    async def _interrupt(self) -> RequestState:
        await self._waiting.take()
        await self._slot.take()
        with self._service.audit.acting(self._user_id, self._request.id, "stop"):
            await self._service.runs.interrupt(self._chat, self._other)
        interrupts.add(1)
        return CLAIMING

    async def _steer(self) -> RequestState:
        await self._waiting.take()
        runs = self._service.runs
        run = await runs.open_run(self._chat)
        if run is None or run.run_id != self._other.run_id:
            return WAITING
        if not self._is_delivered:
            if await deliver(self._service, self._chat, run, self._request, self._planned) != "delivered":
                return WAITING
            self._is_delivered = True
        reply = await runs.ask(self._chat, run, question(self._request.target["id"]), self._patience)
        if reply is None:
            return STEERING
        reader = await runs.read(self._chat, run.run_id) if reply == "taken-in" else None
        if reader is None:
            return WAITING
        self._response = reader
        return ANSWERED

    async def _wait(self) -> RequestState:
        await self._waiting.take()
        has_ended = await self._service.runs.wait_for_end(self._chat, self._other, self._patience)
        return CLAIMING if has_ended else WAITING

    async def _look_for_orphans(self) -> RequestState:
        self._orphans = await self._service.executor.recover_same(self._chat, self._claimed)
        return ACCEPTING if self._orphans == "recovered" else PLANNING

    async def _plan_turn(self) -> RequestState:
        was_busy = self._was_busy or self._claimed.run.chat_was_busy
        self._planned = await self._plan(chat_was_busy=was_busy)
        if self._orphans == "others":
            if not isinstance(self._planned.request_plan, NewUserTurn) or self._may_steer(self._planned.request_plan):
                return RECOVERING
            await self._service.executor.cancel(self._chat)
        return REPEATING if isinstance(self._planned.request_plan, NothingToRun) else PREPARING

    async def _recover(self) -> RequestState:
        self._give_back()
        self._was_busy = False
        await self._service.executor.recover(self._chat)
        self._recoveries += 1
        if self._recoveries == RECOVERIES:
            raise unreachable_refusal(ENGINE)
        return CLAIMING

    async def _prepare(self) -> RequestState:
        claim, request_plan, service = self._claimed, self._planned.request_plan, self._service
        assert not isinstance(request_plan, NothingToRun)
        await self._slot.take()
        await claim.check_lease()
        accept = partial(_accept, claim.run, self._audit_scope)
        job = await service.store.with_timeout(
            service.planner.prepare(self._incoming, self._planned, request_plan, accept)
        )
        self._response = claim.run.log.read()
        claim.start(service.executor.execute(claim.run, job))
        return ACCEPTING

    async def _accept(self) -> RequestState:
        claim = self._claimed
        if self._orphans == "recovered":
            self._response = claim.run.log.read()
        try:
            await self._service.store.with_timeout(claim.wait_until_accepted())
        except ChatRequestError:
            claim.run.give_up()
            raise
        return ANSWERED

    async def _repeat(self) -> RequestState:
        assert isinstance(self._planned.request_plan, NothingToRun)
        self._response = await stored_response(self._service, self._incoming, self._planned.request_plan)
        return ANSWERED

    async def _plan(self, *, chat_was_busy: bool) -> Planned:
        planning = self._service.planner.plan(self._incoming, chat_was_busy=chat_was_busy)
        return await self._service.store.with_timeout(planning)

    @property
    def _claimed(self) -> Claim:
        assert self._claim is not None
        return self._claim

    _STEPS: ClassVar = {
        ADMITTED: _admit,
        CLAIMING: _claim_chat,
        BUSY: _plan_beside,
        INTERRUPTING: _interrupt,
        STEERING: _steer,
        WAITING: _wait,
        CLAIMED: _look_for_orphans,
        PLANNING: _plan_turn,
        RECOVERING: _recover,
        PREPARING: _prepare,
        ACCEPTING: _accept,
        REPEATING: _repeat,
    }


def _accept(run: Run, scope: AuditScope, answers: Sequence[CallAnswer]) -> None:
    """Accept a request when its input is stored. The input is the message, or all answers to tool calls. If the user
    stops the run before that, the request is refused, even if some denials are stored.
    """
    if not run.is_open:
        scope.accept(answers)
        if not scope.decisions:
            run.open()


def _repeats_newest_answers(request_plan: RequestPlan) -> bool:
    """Return True if the request repeats the newest answers to tool calls in the chat."""
    return (
        isinstance(request_plan, NothingToRun) and request_plan.repeats == "answers" and not request_plan.is_superseded
    )
