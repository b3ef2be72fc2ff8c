"""Runs code at the beginning of a server's shutdown.

uvicorn ends the app's lifespan only after all responses have ended, so the lifespan cannot end an open stream. This
module runs the app's code at the signal that stops the server. Otherwise, uvicorn would wait until the run has ended.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

EXIT_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def a_server_handles_exit_signals() -> bool:
    """Return True if the process has a handler for SIGTERM, as in a server."""
    return callable(signal.getsignal(signal.SIGTERM))


@contextmanager
def on_exit_signal(action: Callable[[], None]) -> Iterator[None]:
    """Context manager: calls ``action`` in the event loop at each signal that stops the server. The server's own
    handler also runs.

    Does nothing outside the main thread, and for a signal without a handler. Also does nothing if the handler is a
    method of a server with ``ends_streams = True``. Such a server ends the streams itself.
    """
    loop, is_active = asyncio.get_running_loop(), True
    replaced: list[tuple[signal.Signals, Callable[[int, FrameType | None], object], Callable[..., None]]] = []

    def replace(number: signal.Signals) -> None:
        server_handler = signal.getsignal(number)
        if not callable(server_handler) or server_handler is signal.default_int_handler:
            return
        if getattr(getattr(server_handler, "__self__", None), "ends_streams", False):
            return

        def handle(received: int, frame: FrameType | None) -> None:
            if is_active and not loop.is_closed():
                loop.call_soon_threadsafe(action)
            server_handler(received, frame)

        signal.signal(number, handle)
        replaced.append((number, server_handler, handle))

    if threading.current_thread() is threading.main_thread():
        for number in EXIT_SIGNALS:
            replace(number)
    try:
        yield
    finally:
        is_active = False
        for number, server_handler, handle in replaced:
            if signal.getsignal(number) is handle:  # nobody else has replaced the handler meanwhile
                signal.signal(number, server_handler)
