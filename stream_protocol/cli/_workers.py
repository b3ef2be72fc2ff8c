"""``adk-ui-stream serve --workers N``: several processes serve one address, and one that dies is replaced.

On Linux each worker has its own socket at the address, and the kernel gives each connection to one of them. Elsewhere
all workers accept from one socket. The first one that looks may get all waiting connections, since asyncio accepts as
many as wait. Workers are forked from a process that has loaded ADK already (on Windows each loads it again).
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from time import monotonic, sleep
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from stream_protocol.cli._serve_agent import AgentServer, Shown

LOOK_SECONDS: Final = 0.2
"""Seconds between two checks of the workers. A signal does not interrupt the wait."""

PAUSE_SECONDS: Final = 1.0
"""Seconds before a worker is replaced that died before it served: the cause may still exist."""

FORCED_SECONDS: Final = 5.0
"""Seconds that a worker may take to end after a second signal. Then it is killed."""

if sys.platform == "win32":
    PROCESSES: Final = multiprocessing.get_context("spawn")
else:
    from multiprocessing import forkserver

    PROCESSES: Final = multiprocessing.get_context("forkserver")


def prepare_processes() -> None:
    """Starts a process that loads the servers' modules, while this process continues."""
    if sys.platform != "win32":
        PROCESSES.set_forkserver_preload([f"{__package__}._serve_agent"])
        forkserver.ensure_running()


def start_process(
    server: AgentServer,
    listener: socket.socket,
    *,
    shows: Shown,
    opens_page: bool = False,
    announced: Event,
) -> BaseProcess:
    """Starts a process that serves. ``shows``: its message at the start. ``announced`` is set once it serves."""
    arguments = {"shows": shows, "opens_page": opens_page, "announced": announced}
    process = PROCESSES.Process(target=_serve, args=(server, listener), kwargs=arguments)
    process.start()
    return process


def _serve(server: AgentServer, listener: socket.socket, *, shows: Shown, opens_page: bool, announced: Event) -> None:
    _leave_signals_to_parent()
    with suppress(KeyboardInterrupt):  # while the agent is loaded; later it is the server's
        loaded = server.load()
        server.serve(loaded, workers_socket(listener), shows=shows, opens_page=opens_page, announced=announced)


def _leave_signals_to_parent() -> None:
    """Ignores Ctrl+C, which a terminal sends to all of its processes: it would come twice. Without its parent a worker
    ends.
    """
    if sys.platform != "win32":
        os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    signal.raise_signal(signal.SIGTERM)


def serve_with_workers(server: AgentServer, listener: socket.socket, *, opens_page: bool) -> None:
    """Serves until this process is stopped. If the target cannot be loaded at first, ends it with exit code 2."""
    _Workers(server, reserved_address(listener)).run(opens_page=opens_page)


def reserved_address(listener: socket.socket) -> socket.socket:
    """Returns the listener. On Linux, returns a socket that only reserves the address for the workers' sockets. There
    the listener has checked that the address is free. It is closed, since no other socket can be bound beside it.
    """
    if sys.platform != "linux":
        return listener
    family, address = listener.family, listener.getsockname()
    listener.close()
    return _bound_beside(family, address)


def workers_socket(reserved: socket.socket) -> socket.socket:
    """The socket from which one worker accepts. On Linux it gets its share of the connections from now on, until it is
    closed.
    """
    if sys.platform != "linux":
        return reserved
    own = _bound_beside(reserved.family, reserved.getsockname())
    own.listen()
    return own


def _bound_beside(family: int, address: tuple[str, int]) -> socket.socket:
    """A socket at an address that other sockets share."""
    own = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    own.bind(address)
    return own


class _Worker(NamedTuple):
    process: BaseProcess
    announced: Event


class _Workers:
    """The processes that serve. SIGTERM and SIGINT go to each of them; after the first signal none is replaced."""

    def __init__(self, server: AgentServer, listener: socket.socket) -> None:
        self._server = server
        self._listener = listener
        self._workers: list[_Worker] = []
        self._signals: list[int] = []
        self._kill_at = math.inf

    def run(self, *, opens_page: bool) -> None:
        """Returns when SIGINT has ended all workers. After SIGTERM this process ends as they do."""
        from stream_protocol.server import ending_with_terminal  # noqa: PLC0415 - loads what workers load beside it

        self._server.set_up_log()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        with ending_with_terminal():
            self._start_first(opens_page=opens_page)
            for _ in range(self._server.options.workers - 1):
                self._start()
            self._watch()
        if signal.SIGTERM in self._signals:
            # No cleanup follows: the workers' system resources are freed with the last reference to them.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)

    def _start_first(self, *, opens_page: bool) -> None:
        """Starts the first worker alone: it reports a target that cannot be loaded, and creates the tables."""
        first = self._start(shows="screen", opens_page=opens_page)
        while not first.announced.wait(LOOK_SECONDS) and first.process.exitcode is None:
            pass
        if first.process.exitcode is not None and not self._signals:
            sys.exit(first.process.exitcode)

    def _watch(self) -> None:
        """Returns when all workers have ended."""
        while self._workers:
            wait([worker.process.sentinel for worker in self._workers], LOOK_SECONDS)
            for worker in [*self._workers]:
                self._look_at(worker)

    def _start(self, *, shows: Shown = "nothing", opens_page: bool = False) -> _Worker:
        announced = PROCESSES.Event()
        process = start_process(self._server, self._listener, shows=shows, opens_page=opens_page, announced=announced)
        worker = _Worker(process, announced)
        self._workers.append(worker)
        if self._signals:  # which came while it was started
            process.terminate()
        return worker

    def _look_at(self, worker: _Worker) -> None:
        if worker.process.exitcode is None:
            if monotonic() > self._kill_at:
                worker.process.kill()
            return
        self._workers.remove(worker)
        if not self._signals:
            self._server.warn(
                f"worker {worker.process.pid} has died ({worker.process.exitcode}); another takes its place"
            )
            if not worker.announced.is_set():
                sleep(PAUSE_SECONDS)
            self._start()

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if self._signals:
            self._kill_at = monotonic() + FORCED_SECONDS
        self._signals.append(number)
        for worker in self._workers:
            _send(worker.process, number)


def _send(process: BaseProcess, number: int) -> None:
    if process.pid is not None and process.exitcode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
