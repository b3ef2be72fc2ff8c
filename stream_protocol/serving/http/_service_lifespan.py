"""The lifespan of an app with a chat service."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette

from stream_protocol.serving._service import ChatService
from stream_protocol.serving.http._exit_signals import a_server_handles_exit_signals, on_exit_signal
from stream_protocol.serving.http._trusted_origins import check_cors_of_app

logger = logging.getLogger(__name__)

NOT_BEGUN: Final = (
    "Nothing closes the chat service when the server shuts down: its runs are cut off, and their texts are not stored. "
    "Servers do not run the lifespan of a mounted app. Pass it to the outer app: "
    "`lifespan=chat.router.lifespan_context` for `chat = create_app(…)`."
)


class ServiceLifespan:
    """An app's lifespan, which starts the service, and closes it when the server shuts down.

    The service is already closed at the signal that stops the server. Some servers end the lifespan only after all
    streams have ended. If the app's own ``CORSMiddleware`` refuses one of ``allow_origins``, raises
    ``StreamProtocolError`` at the start of the server.
    """

    def __init__(self, service: ChatService, allow_origins: Sequence[str]) -> None:
        self._service = service
        self._allow_origins = allow_origins
        self._is_checked = False

    @asynccontextmanager
    async def __call__(self, app: Starlette) -> AsyncIterator[None]:
        self._is_checked = True
        check_cors_of_app(app, self._allow_origins)
        await self._service.start()
        closing: list[asyncio.Task[None]] = []

        def close() -> None:
            if not closing:
                closing.append(asyncio.create_task(self._service.aclose()))

        try:
            with on_exit_signal(close):
                yield
        finally:
            close()
            await closing[0]

    def check(self) -> None:
        """Logs a warning once if the server has not begun the lifespan. The service would then never be closed."""
        if not self._is_checked:
            self._is_checked = True
            if a_server_handles_exit_signals():
                logger.warning(NOT_BEGUN)
