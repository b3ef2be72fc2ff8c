"""Finds, creates, rewinds, completes, restores and deletes the ADK sessions of chats."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.errors import StaleSessionError
from google.adk.events import Event, EventActions
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin

from stream_protocol.adk import USER, is_user_event
from stream_protocol.serving.adk_runner import (
    MemorySessionService,
    OrderedSessions,
    agent_names,
    append_in_order,
    with_sessions,
)
from stream_protocol.serving.base import SESSION_STORE, changed_refusal, run_off_loop, unreachable_refusal
from stream_protocol.serving.chats._chat_details import delete_details, is_details_id
from stream_protocol.session import Transcript, completing_events, restore_client_history
from stream_protocol.session.transcript import EventMetadata, update_metadata
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from google.adk.runners import Runner
    from google.adk.sessions import Session
    from google.adk.sessions.base_session_service import GetSessionConfig

    from stream_protocol.session import AnsweredCalls, NewUserTurn, RunOutput
    from stream_protocol.session.transcript import RunMark
    from stream_protocol.stream import Ending
    from stream_protocol.wire import ChatRequest


async def find_session(
    runner: Runner, user_id: str, chat_id: str, *, config: GetSessionConfig | None = None
) -> Session | None:
    """Returns the session of the user's chat; ``None`` if the chat does not exist. By default, the session contains all
    events. Do not change the events, because they may be objects of the store.
    """
    if is_details_id(chat_id):
        return None
    key = {"app_name": runner.app_name, "user_id": user_id, "session_id": chat_id}
    if config is None and isinstance(runner.session_service, MemorySessionService):
        return await runner.session_service.read_session(**key)
    return await runner.session_service.get_session(**key, config=config)


async def create_session(runner: Runner, user_id: str, chat_id: str) -> Session:
    """Creates the session of a chat. Raises ``ChatRequestError`` (400) for a reserved chat id."""
    if is_details_id(chat_id):
        raise ChatRequestError("This chat id is reserved.")
    return await runner.session_service.create_session(app_name=runner.app_name, user_id=user_id, session_id=chat_id)


async def delete_session(runner: Runner, session: Session) -> None:
    """Deletes the session, its artifacts, and the settings of the chat. Keeps the artifacts that all chats of the user
    share (``user:…``).
    """
    key = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
    if (artifacts := runner.artifact_service) is not None:
        for name in await artifacts.list_artifact_keys(**key):
            if not name.startswith("user:"):
                await artifacts.delete_artifact(**key, filename=name)
    await runner.session_service.delete_session(**key)
    await delete_details(runner, session)  # last, so that a concurrent change finds no chat and deletes them


async def rewind_session(
    runner: Runner, session: Session, invocation_id: str, *, kept_steering: tuple[str, ...] = ()
) -> Session:
    """Rewinds the session to the point before an invocation. Returns the session after the rewind.

    ``kept_steering``: ids of steering messages (user messages to an active run) that the agent must read again after
    the rewind. The ids are stored before the rewind, so that no message is lost if the worker dies.

    Raises ``ChatRequestError`` (503) if another worker has changed the session since it was read. Without this check,
    the rewind could remove a message that the other worker has accepted.
    """
    event = Event(author=USER, invocation_id=session.events[-1].invocation_id)
    update_metadata(event, kept_steering=kept_steering)
    rewinding = with_sessions(runner, OrderedSessions(runner.session_service))
    try:
        await rewinding.session_service.append_event(session, event)
    except StaleSessionError as error:
        raise unreachable_refusal(SESSION_STORE) from error
    user_id, session_id = session.user_id, session.id
    await rewinding.rewind_async(user_id=user_id, session_id=session_id, rewind_before_invocation_id=invocation_id)
    rewound = await find_session(runner, user_id, session_id)
    if rewound is None:
        raise changed_refusal()  # another worker has deleted the chat
    return rewound


async def repair_session(runner: Runner, session: Session) -> None:
    """Restores session state that a plugin needs, if a rewind has removed it. Each run calls this function, because a
    worker may die between a rewind and the repair.
    """
    if repair := _upload_plugin_state(runner, session.state):
        invocation_id = session.events[-1].invocation_id if session.events else new_invocation_context_id()
        event = Event(author=USER, invocation_id=invocation_id, actions=EventActions(state_delta=repair))
        await append_in_order(runner.session_service, session, event)


def _upload_plugin_state(runner: Runner, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return state that ADK 2.13's plugin for uploads needs after a rewind. The rewind sets a state key of this plugin
    to ``None``, but the plugin expects a mapping.
    """
    plugins = runner.plugin_manager.plugins
    keys = [f"{plugin.name}:pending_delta" for plugin in plugins if isinstance(plugin, SaveFilesAsArtifactsPlugin)]
    return {key: {} for key in keys if state.get(key, {}) is None}


def is_overtaken(events: Iterable[Event], *, mark: RunMark, execution: str) -> bool:
    """Return True if another run, or a later execution of this run, has stored an event.

    This can happen if the run log's database switches to a replica that lacks the lease of the run (its right to be the
    only active run). ``events``: the events since the run began. ``execution``: the id of this execution in the run
    log.
    """
    newest = execution
    for event in events:
        if event.author == USER:
            metadata = EventMetadata.of(event)
            if is_user_event(event) and metadata.is_of_another_run(mark):
                return True
            newest = metadata.execution or newest
    return newest != execution


class Completion:
    """Stores the outcome of a run in the session. Also stores output that the client has received and the session
    lacks.

    ``before``: the session when the run began. ``agent``: the name of the root agent. ``mark``: the data that the run
    has stored in its user events. ``holds_lease``: function that returns True if this worker may still change the chat.
    """

    def __init__(
        self,
        runner: Runner,
        before: Session,
        output: RunOutput,
        outcome: Ending,
        *,
        agent: str,
        mark: RunMark,
        holds_lease: Callable[[], Awaitable[bool]],
        is_overtaken: Callable[[Session], bool],
    ) -> None:
        self._runner = runner
        self._before = before
        self._output = output
        self._outcome: Ending = outcome
        self._agent = agent
        self._mark: RunMark = mark
        self._holds_lease = holds_lease
        self._is_overtaken = is_overtaken
        self._events: list[Event] | None = None
        """The events to store. They are created only once, so that a second attempt can skip the stored events."""

    async def store(self) -> None:
        """Stores the missing events. May be called again after a failure; no event is stored twice."""
        session = await find_session(self._runner, self._before.user_id, self._before.id)
        if session is None or not await self._holds_lease() or self._is_overtaken(session):
            return
        if self._events is None:
            self._events = await run_off_loop(lambda: self._missing(session.events), events=session.events)
        stored = {event.id for event in session.events}
        for event in self._events:
            if event.id not in stored:
                await append_in_order(self._runner.session_service, session, event)

    def _begin(self, events: Sequence[Event]) -> int:
        """Return the number of events before the first event of the run."""
        found = len(self._before.events)
        own = (
            index
            for index in range(found, len(events))
            if is_user_event(events[index])
            and EventMetadata.of(events[index]).idempotency_key == self._mark["idempotency_key"]
        )
        return next(own, found)

    def _missing(self, events: Sequence[Event]) -> list[Event]:
        return completing_events(
            Transcript(events),
            self._output,
            self._outcome,
            events_before_run=self._begin(events),
            agent=self._agent,
            now=time.time(),
        )


async def restore_session(
    runner: Runner, request: ChatRequest, *, user_id: str, mode: Literal["client", "text"]
) -> tuple[Runner, Session, NewUserTurn | AnsweredCalls]:
    """Creates a session in memory from the client's history, for one request. Also returns a runner that uses this
    session. Raises ``ChatRequestError`` for an invalid request.
    """
    agents = agent_names(runner.agent)
    restored = await run_off_loop(
        lambda: restore_client_history(request, agent=runner.agent.name, agents=agents, mode=mode), size=request.size
    )
    store = MemorySessionService()
    own = with_sessions(runner, store)
    session = await create_session(own, user_id, request.id)
    store.set_history(session, restored.events)
    return own, session, restored.request_plan
