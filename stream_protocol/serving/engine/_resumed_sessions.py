"""The session of a run that is executed again: as the run found it, while the store has what was stored since."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from google.adk.events import Event
from google.adk.flows.llm_flows.functions import AF_FUNCTION_CALL_ID_PREFIX, REQUEST_EUC_FUNCTION_CALL_NAME
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.state import State

from stream_protocol.adk import is_user_event
from stream_protocol.serving.adk_runner import DelegatingSessions
from stream_protocol.serving.engine._shown import is_partial_text
from stream_protocol.session import Transcript
from stream_protocol.session.transcript import AcceptedMessage, EventMetadata, TakenInMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.adk.sessions.base_session_service import GetSessionConfig

    from stream_protocol.serving.engine._engine import RunRecord


_VERSION: Final = re.compile(r"\d+$")
"""The version at the end of an artifact's URI."""


class ResumedSessions(DelegatingSessions):
    """A session service for one session, whose run is executed again.

    It gives the session as it was when the run began. An event that an earlier execution has stored is recognised by
    what it says, and is not stored twice; it keeps its id.

    ``stored``: the session as it stands.
    """

    def __init__(self, sessions: BaseSessionService, stored: Session, record: RunRecord) -> None:
        super().__init__(sessions)
        self._stored = stored
        found = list(stored.events[: record.found_events])
        self._found = stored.model_copy(update={"events": found, "state": record.state})
        self._earlier = list(stored.events[record.found_events :])
        """The events that earlier executions have stored, and this one has not reached."""
        self._partial_texts: list[Event] = []
        """The partial texts before what it has come to, unless they were taken."""
        self.earlier = (*self._earlier,)
        """All that earlier executions have stored."""
        self._idempotency_key = record.idempotency_key

    @property
    def is_over(self) -> bool:
        """Return True if the session says that the run has ended, or that the user has said something else since."""
        return any(map(self._is_later_than_run, self.earlier))

    @property
    def has_input(self) -> bool:
        """Return True if an earlier execution has stored the user's message, or the first answers."""
        return any(
            is_user_event(event) and EventMetadata.of(event).idempotency_key == self._idempotency_key
            for event in self.earlier
        )

    def _is_later_than_run(self, event: Event) -> bool:
        metadata = EventMetadata.of(event)
        answers_another = is_user_event(event) and metadata.idempotency_key not in (None, self._idempotency_key)
        return metadata.outcome is not None or answers_another

    @property
    def steering(self) -> list[Event]:
        """The steering messages that earlier executions have taken in."""
        return [event for event in self.earlier if TakenInMessage.of(event) is not None]

    @property
    def accepted(self) -> list[AcceptedMessage]:
        """The steering messages that earlier executions have accepted, and not taken in."""
        found = {one.id for one in Transcript(self._found.events).waiting}
        return [one for one in Transcript(self._stored.events).waiting if one.id not in found]

    @property
    def found(self) -> Session:
        """The session as the run found it."""
        return self._copy()

    async def fence(self) -> None:
        """Stores an event without content. A worker that was only paused has an outdated session from now on, and every
        session service refuses what it would append to that."""
        await self._sessions.append_event(self._stored, Event(author="user"))

    async def append_shown(self, event: Event) -> None:
        """Stores the partial text that the page was shown, and no model has said in this execution."""
        await self._sessions.append_event(self._stored, event)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores the event, unless it is stored."""
        if event.partial:
            return event
        said = _said(event)
        same = next(
            (earlier for earlier in self._earlier if not is_partial_text(earlier) and _said(earlier) == said), None
        )
        self._pass_partial_texts(len(self._earlier) if same is None else self._earlier.index(same))
        if same is None:
            await self._sessions.append_event(self._stored, event)
        else:
            self._earlier.remove(same)
            event.id, event.timestamp = same.id, same.timestamp
            # With the ids of its calls: the page may have them, and answers under these.
            event.content, event.long_running_tool_ids = same.content, same.long_running_tool_ids
            event.actions.artifact_delta = same.actions.artifact_delta
        return await BaseSessionService.append_event(self, session, event)  # adds it to this session alone

    def take_partial_texts(self, *, rest: bool) -> list[Event]:
        """The partial texts that earlier executions have stored, each once: those before what this one has come to, and
        with ``rest`` all others."""
        if rest:
            self._pass_partial_texts(len(self._earlier))
        texts, self._partial_texts = self._partial_texts, []
        return texts

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session as the run found it; any other as it stands."""
        if session_id == self._stored.id:
            return self._copy()
        return await super().get_session(app_name=app_name, user_id=user_id, session_id=session_id, config=config)

    def _pass_partial_texts(self, index: int) -> None:
        """Finds the partial texts that were stored before the event with this index."""
        passed = [event for event in self._earlier[:index] if is_partial_text(event)]
        self._earlier = [event for event in self._earlier if event not in passed]
        self._partial_texts += passed

    def _copy(self) -> Session:
        return self._found.model_copy(update={"events": list(self._found.events), "state": dict(self._found.state)})


def _said(event: Event) -> str:
    """The content and actions of an event, without the parts that differ from one execution to the next."""
    actions = event.actions
    content = event.content and event.content.model_dump(mode="json", exclude_none=True)
    for part in (content and content.get("parts")) or ():
        if call := part.get("function_call"):
            part["function_call"] = _asked(call)
        if link := part.get("file_data"):  # to an artifact, which the execution may have saved again
            part["file_data"] = {**link, "file_uri": _VERSION.sub("", link.get("file_uri") or "")}
    # ADK's stores do not give the details of a sign-in back as they got them; the ids of widgets are random.
    update = {
        "state_delta": _lasting(actions.state_delta),
        "artifact_delta": dict.fromkeys(actions.artifact_delta, 0),
        "requested_auth_configs": {},
        "render_ui_widgets": None,
    }
    does = actions.model_copy(update=update).model_dump(mode="json", exclude_defaults=True, fallback=str)
    shows = [widget.payload for widget in actions.render_ui_widgets or ()]
    said = [event.author, event.branch, content, does, [*actions.requested_auth_configs], shows]
    return json.dumps(said, sort_keys=True, default=str)


def _asked(call: dict[str, Any]) -> dict[str, Any]:
    """A call without ADK's random values: its id if the model gave none, and the state of a sign-in."""
    if call["name"] == REQUEST_EUC_FUNCTION_CALL_NAME:
        return {"name": call["name"], "for": call.get("args", {}).get("functionCallId")}
    drawn = str(call.get("id")).startswith(AF_FUNCTION_CALL_ID_PREFIX)
    return {**call, "id": None} if drawn else call


def _lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """Without what no session service stores."""
    return {name: value for name, value in state.items() if not name.startswith(State.TEMP_PREFIX)}
