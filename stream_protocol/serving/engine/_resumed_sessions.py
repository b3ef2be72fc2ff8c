"""Provides ``ResumedSessions``, the session service of a run that is executed again."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from google.adk.events import Event
from google.adk.flows.llm_flows.functions import AF_FUNCTION_CALL_ID_PREFIX, REQUEST_EUC_FUNCTION_CALL_NAME
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.state import State

from stream_protocol.adk import USER, is_user_event
from stream_protocol.serving.adk_runner import DelegatingSessions, append_in_order
from stream_protocol.serving.engine._shown import is_partial_text
from stream_protocol.session import Transcript
from stream_protocol.session.transcript import (
    AWAITED_KEY,
    AcceptedMessage,
    EventMetadata,
    TakenInMessage,
    update_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.adk.sessions.base_session_service import GetSessionConfig

    from stream_protocol.serving.engine._engine import RunRecord
    from stream_protocol.session.transcript import RunMark


_VERSION: Final = re.compile(r"\d+$")
"""Pattern for the version at the end of an artifact's URI."""


class ResumedSessions(DelegatingSessions):
    """The session service of a run that is executed again. It hides the events of earlier executions from the run.

    If a new event equals a stored event of an earlier execution, it is not stored again. It gets the id of the stored
    event. ``stored``: the session with all events in the store.
    """

    def __init__(self, sessions: BaseSessionService, stored: Session, record: RunRecord) -> None:
        super().__init__(sessions)
        self._stored = stored
        self._record_id = record.id
        self._mark: RunMark = {"idempotency_key": record.idempotency_key, "record": record.id}
        self._since_record = stored.events[record.found_events :]
        """The events that were stored after the engine had stored the run."""
        # Before its input, a run rewinds and repairs the session: see `Job.events`.
        preparing = [*takewhile(self._is_preparing, self._since_record)]
        rewound = {event.actions.rewind_before_invocation_id for event in preparing}
        self.lacks_rewind = record.rewind_before is not None and record.rewind_before not in rewound
        """True if the run's worker died before it rewound the session."""
        begin = record.found_events + len(preparing)
        state = dict(record.state)
        for event in preparing:
            state.update(_lasting(event.actions.state_delta))
        self._found = stored.model_copy(update={"events": list(stored.events[:begin]), "state": state})
        self._earlier = list(stored.events[begin:])
        """The stored events of earlier executions that this execution has not yet repeated."""
        self._partial_texts: list[Event] = []
        """The stored partial texts before the current position that ``take_partial_texts`` has not yet returned."""
        self.earlier = (*self._earlier,)
        """All stored events of earlier executions."""
        self._has_diverged = False
        """True after this execution has stored a new event of the agent."""
        self._prepares = not self._earlier
        """True until this or an earlier execution has stored its input."""
        self._storing = asyncio.Lock()

    @property
    def is_over(self) -> bool:
        """True if the session contains the end of the run, or the message of a later run. The client may have begun the
        later run by sending the same request again.
        """
        return any(map(self._is_after_run, self._since_record))

    @property
    def has_input(self) -> bool:
        """True if an earlier execution has stored the user's message, or the first of the user's answers to
        tool calls.
        """
        return any(map(self._is_input, self.earlier))

    def _is_input(self, event: Event) -> bool:
        return is_user_event(event) and EventMetadata.of(event).idempotency_key == self._mark["idempotency_key"]

    def _is_preparing(self, event: Event) -> bool:
        """Return True for an event that a run stores before its input, such as a rewind or the response to a denied
        tool call.
        """
        is_of_user = event.author == USER or bool(event.get_function_responses())
        return is_of_user and not self._is_input(event)

    def _is_after_run(self, event: Event) -> bool:
        metadata = EventMetadata.of(event)
        return metadata.outcome is not None or (is_user_event(event) and metadata.is_of_another_run(self._mark))

    @property
    def executions(self) -> tuple[str, ...]:
        """The ids of the earlier executions in the run log, the oldest first."""
        recoveries = (EventMetadata.of(event).execution for event in self.earlier)
        return (self._record_id, *(execution for execution in recoveries if execution is not None))

    @property
    def steering(self) -> list[Event]:
        """The steering messages (user messages to an active run) that the agent has read in earlier executions."""
        return [event for event in self.earlier if TakenInMessage.of(event) is not None]

    @property
    def accepted(self) -> list[AcceptedMessage]:
        """The steering messages (user messages to an active run) that earlier executions have accepted. Omits messages
        that the agent has read.
        """
        found = {message.id for message in Transcript(self._found.events).waiting}
        return [message for message in Transcript(self._stored.events).waiting if message.id not in found]

    def is_repeating(self) -> bool:
        """Return True while the agent repeats stored events of an earlier execution."""
        return not self._has_diverged and any(
            event.author != USER and not is_partial_text(event) for event in self._earlier
        )

    @property
    def unrepeated(self) -> tuple[Event, ...]:
        """The stored events of earlier executions that this execution has not yet repeated."""
        return (*self._earlier,)

    @property
    def found(self) -> Session:
        return self._copy()

    async def fence(self, execution: str) -> None:
        """Stores an empty event in the session, so that the store refuses later events of the run's previous worker.

        The previous worker may be paused and not dead. After the new event, its copy of the session is outdated, so the
        store refuses its writes. If it reads the session again, it finds the new event: see ``is_overtaken``.
        ``execution``: the id of the new execution in the run log.
        """
        event = Event(author=USER)
        update_metadata(event, execution=execution)
        await self._store(event)

    async def append_shown(self, event: Event) -> None:
        """Stores an event with a text. The client has received this text from an earlier execution, and this execution
        does not repeat it.
        """
        await self._store(event)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores the event, unless an earlier execution has stored an equal event."""
        if event.partial:
            return event
        content = _comparable(event)
        same = next(
            (earlier for earlier in self._earlier if not is_partial_text(earlier) and _comparable(earlier) == content),
            None,
        )
        reached = len(self._earlier) if same is None else self._earlier.index(same)
        for written in [earlier for earlier in self._earlier[:reached] if _is_written_state(earlier)]:
            self._earlier.remove(written)
            await BaseSessionService.append_event(self, session, written)
        self._pass_partial_texts(len(self._earlier) if same is None else self._earlier.index(same))
        if same is None:
            self._has_diverged = self._has_diverged or event.author != USER
            await self._store(event)
        else:
            self._earlier.remove(same)
            event.id, event.timestamp = same.id, same.timestamp
            # The stored content has the stored call ids. The client may have these ids, and uses them in its answers.
            event.content, event.long_running_tool_ids = same.content, same.long_running_tool_ids
            event.actions.artifact_delta = same.actions.artifact_delta
        self._prepares = self._prepares and self._is_preparing(event)
        if self._prepares:  # the agent reads the prepared session
            await BaseSessionService.append_event(self, self._found, event.model_copy(deep=True))
        return await BaseSessionService.append_event(self, session, event)  # adds the event only to this session object

    def take_partial_texts(self, *, rest: bool = False, before: Event | None = None) -> list[Event]:
        """Remove and return the stored partial texts that come before the current position of this execution. A partial
        text is the text of a model call during which a worker died.

        ``rest``: True to return all partial texts. ``before``: an event of an earlier execution; also return the
        partial texts before this event.
        """
        if rest:
            self._pass_partial_texts(len(self._earlier))
        elif before is not None and before in self._earlier:
            self._pass_partial_texts(self._earlier.index(before))
        texts, self._partial_texts = self._partial_texts, []
        return texts

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return the session of the run, without the events of earlier executions. Other sessions are returned
        unchanged.
        """
        if session_id == self._stored.id:
            return self._copy()
        return await super().get_session(app_name=app_name, user_id=user_id, session_id=session_id, config=config)

    async def _store(self, event: Event) -> None:
        async with self._storing:
            await append_in_order(self._sessions, self._stored, event)

    def _pass_partial_texts(self, index: int) -> None:
        passed = [event for event in self._earlier[:index] if is_partial_text(event)]
        self._earlier = [event for event in self._earlier if event not in passed]
        self._partial_texts += passed

    def _copy(self) -> Session:
        return self._found.model_copy(update={"events": list(self._found.events), "state": dict(self._found.state)})


def _is_written_state(event: Event) -> bool:
    """Return True for an event that only stores session state. The client has written this state during the run."""
    return event.author == USER and event.content is None and bool(event.actions.state_delta)


def _comparable(event: Event) -> str:
    """Return the event as JSON, without values that differ in each execution."""
    actions, metadata = event.actions, EventMetadata.of(event)
    content = event.content and event.content.model_dump(mode="json", exclude_none=True)
    for part in (content and content.get("parts")) or ():
        if call := part.get("function_call"):
            part["function_call"] = _comparable_call(call)
        if link := part.get("file_data"):  # a link to an artifact; each execution saves a new version
            part["file_data"] = {**link, "file_uri": _VERSION.sub("", link.get("file_uri") or "")}
    # ADK's session services change the details of a sign-in. The ids of widgets and of ADK's calls are random.
    update = {
        "state_delta": {key: value for key, value in _lasting(actions.state_delta).items() if key != AWAITED_KEY},
        "artifact_delta": dict.fromkeys(actions.artifact_delta, 0),
        "requested_auth_configs": {},
        "render_ui_widgets": None,
    }
    does = actions.model_copy(update=update).model_dump(mode="json", exclude_defaults=True, fallback=str)
    shows = [widget.payload for widget in actions.render_ui_widgets or ()]
    steering = [message and message.id for message in (metadata.accepted, metadata.steering)]
    compared = [event.author, event.branch, content, does, [*actions.requested_auth_configs], shows, steering]
    return json.dumps(compared, sort_keys=True, default=str)


def _comparable_call(call: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call without random values of ADK: generated ids, and the state of a sign-in."""
    if call["name"] == REQUEST_EUC_FUNCTION_CALL_NAME:
        return {"name": call["name"], "for": call.get("args", {}).get("functionCallId")}
    drawn = str(call.get("id")).startswith(AF_FUNCTION_CALL_ID_PREFIX)
    return {**call, "id": None} if drawn else call


def _lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state without ``temp:`` keys, which no session service stores."""
    return {name: value for name, value in state.items() if not name.startswith(State.TEMP_PREFIX)}
