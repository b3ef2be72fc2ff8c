"""Provides ``SteeringInbox``: the messages that the user sends to one run while it is active (steering messages).

Only the worker that executes the run appends to the run's session, so every steering message goes through the inbox.
See ``docs/decisions/steering.md``.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import USER
from stream_protocol.agents import run_channel
from stream_protocol.serving.base import Tasks, ignore_failure
from stream_protocol.session import replace_context, steering_content
from stream_protocol.session.transcript import AcceptedMessage, TakenInMessage, update_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models import LlmRequest

    from stream_protocol.wire import UIMessage

MAX_WAITING: Final = 16
"""The maximum number of steering messages that wait in one run."""

Refusal: TypeAlias = Literal["finished", "aborted", "left"]
"""The reason why a run refuses a steering message. ``finished``: the run accepts no more messages. ``aborted``: the run
is being stopped. ``left``: another worker continues the run."""

Receipt: TypeAlias = Literal["delivered", "full"] | Refusal
"""A run's reply to a steering message. ``delivered``: the session contains the message. ``full``: too many messages
wait."""


class EarlierExecutions(Protocol):
    """Interface to the earlier executions of a run. A run is executed again after a crash of its worker."""

    async def repeats_model_call(self, agent: str, branch: str | None) -> bool:
        """Return True if the agent's next model call only repeats a model call of an earlier execution."""

    async def events_before(self, message: Event | None, *, author: str, invocation_id: str) -> Sequence[Event]:
        """Return the events that the response must show before a steering message (a user message to an active run).

        ``message``: the stored event with the steering message; ``None`` if no earlier execution has stored this event.
        ``author``: the agent that reads the message.
        """


class SteeringInbox:
    """Holds the steering messages of a run (user messages that come while it is active) until a model call reads them.
    Until then, they are waiting messages.

    A message is stored in the session twice: when the inbox accepts it, and when a model call reads it.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, AcceptedMessage] = {}
        self._delivered: set[str] = set()
        """The ids of all steering messages that this run has accepted or read."""
        self._earlier_events: defaultdict[str, list[Event]] = defaultdict(list)
        """The events with messages that earlier executions have read. The key is the model call that has read them."""
        self._calls = Counter[str]()
        """The number of started model calls for each agent and branch."""
        self._invocation: InvocationContext | None = None
        """The invocation of the run while ADK appends to its session; otherwise ``None``."""
        self._storing = asyncio.Lock()
        self.context: Any = None
        """The client's context for the next model call: the context of the newest message that a model call has read,
        or else of the request."""
        self._earlier: EarlierExecutions | None = None
        self._changed = asyncio.Condition()
        self._refusal: Refusal | None = None
        self._closed = False
        self._tasks = Tasks()

    def begin(
        self,
        waiting: Iterable[AcceptedMessage],
        *,
        context: Any = None,
        delivered: Iterable[str] = (),
        taken_in: Iterable[Event] = (),
        earlier: EarlierExecutions | None = None,
    ) -> None:
        """Prepares the inbox before the run starts. ``context``: the client's context for the run.

        ``waiting``: the accepted messages that the session contains. ``delivered``: the ids of messages that earlier
        runs have read. ``taken_in``: the session's events for messages that an earlier execution of this run has read.

        ``earlier``: the earlier executions of this run, or ``None``. A repeated model call gets its stored result and
        cannot read new messages. They wait for the first model call that is not repeated.
        """
        self.context = context
        self._earlier = earlier or self._earlier
        self._delivered.update(delivered)
        for event in taken_in:
            if (steering := TakenInMessage.of(event)) is not None:
                self._earlier_events[steering.model_call].append(event)
                self._delivered.add(steering.id)
        self._waiting.update((message.id, message) for message in waiting if message.id not in self._delivered)
        self._delivered.update(self._waiting)

    @property
    def waiting(self) -> tuple[AcceptedMessage, ...]:
        return tuple(self._waiting.values())

    async def enter(self, invocation: InvocationContext) -> None:
        """Records that ADK begins to append to the invocation's session. Until ``leave`` is called, new messages are
        stored in this session.
        """
        async with self._changed:
            self._invocation = invocation
            self._changed.notify_all()

    async def leave(self) -> None:
        """Records that ADK no longer appends to the session. New messages then wait until ``enter`` is called again.

        If a message is being stored, first waits until it is stored.
        """
        async with self._storing:
            self._invocation = None

    def refuse(self, refusal: Refusal) -> None:
        """Refuses all messages from now on, with the reason ``refusal``. A second call does not change the reason."""
        self._refusal = self._refusal or refusal

    async def close(self) -> tuple[AcceptedMessage, ...]:
        """Refuses all messages from now on. Returns the accepted messages that no model call has read."""
        self.refuse("finished")
        async with self._changed:
            self._closed = True
            self._changed.notify_all()
        async with self._storing:
            return self.waiting

    async def receive(self, message: UIMessage, context: Any, holds_lease: Callable[[], bool]) -> Receipt:
        """Stores a message as accepted, and keeps it for the next model call. A message that comes twice is stored
        once.

        If the caller is cancelled, the message is still stored, and an error of the store is ignored. ``context``: the
        client's context that came with the message. ``holds_lease``: function that returns True if this worker still
        has the right to execute the chat's run. Otherwise, the message is not stored, and ``receive`` returns
        ``"left"``.
        """
        receiving = self._tasks.start(self._receive(message, context, holds_lease))
        receiving.add_done_callback(ignore_failure)
        return await asyncio.shield(receiving)

    async def _receive(self, message: UIMessage, context: Any, holds_lease: Callable[[], bool]) -> Receipt:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._invocation is not None)
        async with self._storing:
            if message["id"] in self._delivered:
                return "delivered"
            if self._refusal is not None or (invocation := self._invocation) is None:
                return self._refusal or "finished"
            if len(self._waiting) >= MAX_WAITING:
                return "full"
            if not holds_lease():
                return "left"
            accepted = AcceptedMessage(message={**message}, model_calls=self._calls.total(), context=context)
            event = Event(author=USER, invocation_id=invocation.invocation_id)
            update_metadata(event, accepted=accepted)
            await invocation.session_service.append_event(invocation.session, event)
            self._waiting[accepted.id] = accepted
            self._delivered.add(accepted.id)
            return "delivered"

    async def wait_until_taken_in(self, message_id: str) -> bool:
        """Waits until a model call reads the message. Returns False if the run ends without reading it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or message_id not in self._waiting)
        return message_id in self._delivered and message_id not in self._waiting

    async def take_in(self, context: CallbackContext, request: LlmRequest) -> None:
        """Adds the waiting messages to a model call, to the session, and to the response."""
        invocation = context._invocation_context  # noqa: SLF001 - the public attribute has a copy of the session
        run = self._invocation
        if run is None or invocation.session.id != run.session.id:
            return  # the model call of an agent inside an `AgentTool`, which has its own session
        agent = f"{context.agent_name}/{invocation.branch or ''}"
        self._calls[agent] += 1
        call = f"{agent}/{self._calls[agent]}"
        begun = self._calls.total()
        async with self._storing:
            for event in self._earlier_events.pop(call, ()):
                await self._take_in(context, request, event.content, TakenInMessage.of(event), repeated=event)
            for message in await self._unread(context, begun):
                content = await self._seen_by_plugins(invocation, steering_content(message.message))
                taken_in = TakenInMessage(id=message.id, model_call=call, context=message.context)
                await self._take_in(context, request, content, taken_in)
                del self._waiting[message.id]
        async with self._changed:
            self._changed.notify_all()

    async def _seen_by_plugins(self, invocation: InvocationContext, content: types.Content) -> types.Content:
        changed = await invocation.plugin_manager.run_on_user_message_callback(
            user_message=content, invocation_context=invocation
        )
        return content if changed is None else changed

    async def _unread(self, context: CallbackContext, begun: int) -> list[AcceptedMessage]:
        """Return the waiting messages that this model call must read. ``begun``: the number of started model calls of
        the run, including this call.
        """
        messages = [message for message in self.waiting if message.model_calls < begun]
        branch = context._invocation_context.branch  # noqa: SLF001 - no public access
        if (
            messages
            and self._earlier is not None
            and await self._earlier.repeats_model_call(context.agent_name, branch)
        ):
            return []
        return messages

    async def _take_in(
        self,
        context: CallbackContext,
        request: LlmRequest,
        content: types.Content | None,
        steering: TakenInMessage | None,
        *,
        repeated: Event | None = None,
    ) -> None:
        """Add a message to the session, the response and the model call.

        ``repeated``: the stored event if an earlier execution has already added this message; otherwise ``None``.
        """
        invocation = context._invocation_context  # noqa: SLF001 - the public attribute has a copy of the session
        event = Event(
            author=USER,
            invocation_id=invocation.invocation_id,
            isolation_scope=invocation.isolation_scope,
            content=content,
        )
        update_metadata(event, steering=steering)
        before: Sequence[Event] = ()
        if self._earlier is not None:
            before = await self._earlier.events_before(
                repeated, author=context.agent_name, invocation_id=invocation.invocation_id
            )
        await invocation.session_service.append_event(invocation.session, event)
        if steering is not None and steering.context is not None:
            replace_context(invocation, request, steering.context, earlier=self.context)
            self.context = steering.context
        if event.content is not None:
            request.contents.append(event.content)
        if (channel := run_channel()) is not None:
            for each in (*before, event):
                channel.post(each)
