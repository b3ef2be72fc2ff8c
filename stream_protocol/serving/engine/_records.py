"""Creates the ``RunRecord`` of a run. Another worker reads the record to plan the run again."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_jsonable_python

from stream_protocol.serving.adk_runner import resumed_agent
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.chats import load_saved_files
from stream_protocol.serving.engine._engine import RunRecord
from stream_protocol.serving.errors import log_error
from stream_protocol.serving.telemetry import traceparent
from stream_protocol.session import (
    CONTEXT_KEY,
    AnsweredCalls,
    NewUserTurn,
    Transcript,
    content_from_record,
    plan,
    record_content,
)
from stream_protocol.wire import ChatRequestError, parse_chat_request

if TYPE_CHECKING:
    from google.adk.runners import Runner

    from stream_protocol.serving.base import RunOverrides
    from stream_protocol.serving.engine._engine import Deployment
    from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
    from stream_protocol.serving.runs import Job, Run
    from stream_protocol.session import RequestPlan
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)

OVERRIDDEN_TEXT: Final = "The server broke down, and this answer cannot be gone on with. Ask again."
"""Error text for the client if the ``prepare`` hook has set secrets, an agent or a run config. These values are not
stored, so the run cannot be recovered."""

UNPLANNABLE_TEXT: Final = OVERRIDDEN_TEXT
"""Error text for the client if the stored run is unreadable, or its request cannot be planned again."""


def record_of(run: Run, job: Job, deployment: Deployment) -> RunRecord:
    """Return the data with which another worker can recover the run. The job must have an invocation id."""
    assert job.invocation_id is not None
    new_turn = job.request_plan if isinstance(job.request_plan, NewUserTurn) else None
    return RunRecord(
        id=run.id,
        user_id=job.session.user_id,
        chat_id=job.session.id,
        request=_body_of(job.request),
        idempotency_key=run.idempotency_key,
        chat_was_busy=run.chat_was_busy,
        invocation_id=job.invocation_id,
        found_events=len(job.session.events),
        state=to_jsonable_python(job.session.state, fallback=str),
        state_delta=to_jsonable_python({**job.page_state, **job.overrides.state_delta}, fallback=str),
        artifact_base=job.overrides.artifact_base,
        refusal=OVERRIDDEN_TEXT if _is_overridden(job.overrides) else None,
        words=None if new_turn is None else record_content(new_turn.texts_and_files),
        rewind_before=None if new_turn is None else new_turn.rewind_before,
        trace=traceparent(run.observer.span_context),
        deployment=asdict(deployment),
    )


def _is_overridden(overrides: RunOverrides) -> bool:
    return bool(overrides.secrets) or overrides.agent is not None or overrides.run_config is not None


def _body_of(request: ChatRequest) -> dict[str, Any]:
    """Return a request body that ``parse_chat_request`` parses into an equal request."""
    body: dict[str, Any] = {"id": request.id, "messages": [*request.messages]}
    if request.has_trigger:
        body["trigger"] = request.trigger
    if request.message_id is not None:
        body["messageId"] = request.message_id
    if CONTEXT_KEY in request.body:
        body[CONTEXT_KEY] = request.body[CONTEXT_KEY]
    return body


async def planned_again(
    runner: Runner, record: RunRecord, sessions: ResumedSessions, *, loads_files: bool
) -> tuple[ChatRequest, RequestPlan, str | None]:
    """Plan a stored run again. Return the request, its plan, and an error text. Store nothing.

    If the request can be planned, the error text is ``None``. Otherwise, the error text is for the client, and the plan
    only ends the assistant message. ``loads_files``: True to load saved files. Loading may raise errors of the artifact
    service.
    """
    planning = partial(_planned, runner, record, sessions)
    try:
        request, request_plan = await run_off_loop(planning, events=sessions.found.events)
    except Exception as error:  # noqa: BLE001 - any error of an unreadable record
        log_error(logger, error)
        return *_unplanned(record, sessions), UNPLANNABLE_TEXT
    if isinstance(request_plan, NewUserTurn) and loads_files:
        loaded = await load_saved_files(runner, sessions.found, request_plan.texts_and_files)
        request_plan = replace(request_plan, texts_and_files=loaded)
    return request, request_plan, None


def _planned(runner: Runner, record: RunRecord, sessions: ResumedSessions) -> tuple[ChatRequest, RequestPlan]:
    request = parse_chat_request(record.request)
    events = [*sessions.found.events, *sessions.earlier]
    request_plan = plan(
        request,
        Transcript(sessions.found.events),
        resumed_agent=partial(resumed_agent, runner),
        chat_was_busy=record.chat_was_busy,
        known_key=record.idempotency_key,
        texts_and_files=None if record.words is None else content_from_record(record.words, request.target, events),
    )
    return request, request_plan


def _unplanned(record: RunRecord, sessions: ResumedSessions) -> tuple[ChatRequest, NewUserTurn | AnsweredCalls]:
    """Return a request, and a plan that only ends the assistant message. Also works for an unreadable record."""
    try:
        request = parse_chat_request(record.request)
    except ChatRequestError:
        words = {"id": record.id, "role": "user", "parts": [{"type": "text", "text": ""}]}
        request = parse_chat_request({"id": record.chat_id, "messages": [words]})
    transcript = Transcript(sessions.found.events)
    continued = transcript.current if request.continued_message is not None else None
    if continued is None:
        request_plan = NewUserTurn(
            texts_and_files=("",), client_message_id=request.target["id"], call_ids=transcript.call_ids
        )
        return request, request_plan
    return request, AnsweredCalls(
        answers=(), message_id=continued.message_id, past=continued.events, call_ids=continued.call_ids
    )
