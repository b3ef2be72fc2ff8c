"""Values that the client sends to the agent: context for one request, and shared session state."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from stream_protocol.serving.base import run_off_loop, unknown_chat_refusal
from stream_protocol.serving.chats import WITHOUT_EVENTS, PageWrites, chat_key, delete_details, find_session
from stream_protocol.session import CONTEXT_KEY, STATE_KEY, SharedState
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.wire import ChatRequest


async def checked_request(service: ServiceContext, user_id: str, request: ChatRequest) -> ChatRequest:
    """Validates the context and the session state in a request against the types of the app. Returns the request with
    the validated values. Raises ``ChatRequestError`` (413, 422) for invalid values.
    """
    checked: dict[str, Any] = {}
    if service.context is not None and request.body.get(CONTEXT_KEY) is not None:
        with service.audit.acting(user_id, request.id, "context") as note:
            work = partial(service.context.check, request.body[CONTEXT_KEY])
            checked[CONTEXT_KEY] = await run_off_loop(work, size=request.size)
            note(checked[CONTEXT_KEY])
    if service.shared_state is not None and request.body.get(STATE_KEY) is not None:
        with service.audit.acting(user_id, request.id, "state") as note:
            work = partial(service.shared_state.check, request.body[STATE_KEY])
            checked[STATE_KEY] = await run_off_loop(work, size=request.size)
            note(checked[STATE_KEY])
    return replace(request, body={**request.body, **checked}) if checked else request


def page_context(service: ServiceContext, request: ChatRequest) -> Any:
    """Return the validated context of a request; ``None`` without context, or if the app declares no type
    for context.
    """
    return request.body.get(CONTEXT_KEY) if service.context is not None else None


async def write_state(service: ServiceContext, user_id: str, chat_id: str, changes: Any) -> dict[str, Any]:
    """Writes the client's changes of the session state: see ``ChatService.write_state``."""
    key = chat_key(user_id, chat_id)
    with service.audit.acting(user_id, chat_id, "state") as note:
        shared = service.shared_state
        if shared is None:
            raise ChatRequestError("The page may not write state.", status=422)
        checked = shared.check(changes)
        note(checked)
        return await service.store.read(user_id, partial(_write, service.runner, key, shared, checked))


async def store_state(service: ServiceContext, key: ChatKey, request: ChatRequest) -> None:
    """Stores the state changes that come with a steering message (a user message to an active run). The active or next
    run applies them.
    """
    if (shared := service.shared_state) is not None and (changes := request.body.get(STATE_KEY)):
        await service.store.with_timeout(_write(service.runner, key, shared, changes))


async def _write(runner: Runner, key: ChatKey, shared: SharedState, changes: dict[str, Any]) -> dict[str, Any]:
    session = await find_session(runner, *key, config=WITHOUT_EVENTS)
    if session is None:
        raise unknown_chat_refusal()
    await PageWrites(runner, session, tuple(shared.types)).add(changes)
    if await find_session(runner, *key, config=WITHOUT_EVENTS) is None:  # the chat was deleted during the write
        await delete_details(runner, session)
        raise unknown_chat_refusal()
    return await readable_state(runner, session, shared)


async def readable_state(runner: Runner, session: Session, shared: SharedState) -> dict[str, Any]:
    """Return the session state that the client may read. It also contains values from the client that no run has
    applied yet.
    """
    pending = await PageWrites(runner, session, tuple(shared.types)).pending() if shared.types else {}
    return shared.readable({**session.state, **pending})
