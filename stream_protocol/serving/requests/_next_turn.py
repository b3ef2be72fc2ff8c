"""``begin_turn``: begins a turn with a steering message that came too late for its run."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from stream_protocol.serving.errors import log_error
from stream_protocol.serving.requests._lifecycle import RequestLifecycle
from stream_protocol.session import CONTEXT_KEY
from stream_protocol.wire import ChatRequestError, parse_chat_request

if TYPE_CHECKING:
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.serving.runs import NextTurn

logger = logging.getLogger(__name__)


def begin_turn(service: ServiceContext, key: ChatKey, request_plan: NextTurn) -> None:
    """Begins a turn with a message that came too late for its run. If it is refused, the next run reads the message."""
    _ = service.tasks.start(_begin_turn(service, key, request_plan))


async def _begin_turn(service: ServiceContext, key: ChatKey, request_plan: NextTurn) -> None:
    user_id, chat_id = key
    lifecycle = RequestLifecycle(
        service,
        parse_chat_request({"id": chat_id, "message": request_plan.message, CONTEXT_KEY: request_plan.context}),
        user_id=user_id,
        overrides=request_plan.overrides,
        begins_run=True,
        is_stopped=request_plan.was_stopped,
    )
    try:
        events = await lifecycle.respond()
    except ChatRequestError as refused:
        logger.warning("A message that came too late for its run waits for the next run of the chat: %s", refused)
    except Exception as error:  # noqa: BLE001 - any error of the agent; no client gets it
        logger.error("A message that came too late for its run waits for the next run of the chat.")  # noqa: TRY400 - the next line has the reason
        log_error(logger, error)
    else:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
