"""Command ``adk-ui-stream serve --workers N``: several processes serve one address. A process that dies is replaced.

On Linux, each worker has its own socket at the address, and the kernel distributes the connections. On other systems,
all workers accept connections from one socket. One worker may then get many connections at once. Except on Windows,
workers are forked from a process that has already loaded ADK.
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

POLL_SECONDS: Final = 0.2

PAUSE_SECONDS: Final = 1.0
"""Seconds before a worker that died during its start is replaced. Without this pause, the cause might still exist."""

FORCED_SECONDS: Final = 5.0
"""Seconds that a worker may take to end after a second signal, before it is killed."""

if sys.platform == "win32":
    PROCESSES: Final = multiprocessing.get_context("spawn")
else:
    from multiprocessing import forkserver

    PROCESSES: Final = multiprocessing.get_context("forkserver")


def prepare_processes() -> None:
    """Start the process from which workers are forked. The new process loads ADK, while the calling process
    continues.
    """
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
    """Start a process that serves the agent. ``announced``: an event that the process sets after its server has
    started.
    """
    arguments = {"shows": shows, "opens_page": opens_page, "announced": announced}
    process = PROCESSES.Process(target=_serve, args=(server, listener), kwargs=arguments)
    process.start()
    return process


def _serve(server: AgentServer, listener: socket.socket, *, shows: Shown, opens_page: bool, announced: Event) -> None:
    _leave_signals_to_parent()
    with suppress(KeyboardInterrupt):  # during the loading of the agent; later the server handles Ctrl-C
        loaded = server.load()
        server.serve(loaded, workers_socket(listener), shows=shows, opens_page=opens_page, announced=announced)


def _leave_signals_to_parent() -> None:
    """Let the parent process handle signals. The worker ignores Ctrl-C in the terminal. If the parent dies, the worker
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
    """Serve the agent until this process is stopped. If the agent cannot be loaded at the start, exit with code 2."""
    _Workers(server, reserved_address(listener)).run(opens_page=opens_page)


def reserved_address(listener: socket.socket) -> socket.socket:
    """Return a socket that reserves the address of ``listener`` for the workers.

    On Linux, this is a new socket that does not listen. ``listener`` is closed, because the workers could not bind
    their own sockets while it is open. On other systems, this is ``listener`` itself.
    """
    if sys.platform != "linux":
        return listener
    family, address = listener.family, listener.getsockname()
    listener.close()
    return _bound_beside(family, address)


def workers_socket(reserved: socket.socket) -> socket.socket:
    """Return the socket from which a worker accepts connections."""
    if sys.platform != "linux":
        return reserved
    own = _bound_beside(reserved.family, reserved.getsockname())
    own.listen()
    return own


def _bound_beside(family: int, address: tuple[str, int]) -> socket.socket:
    """Return a socket that is bound to ``address``. Several sockets of this function can share the address."""
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
    """Starts the workers, and replaces workers that die. After SIGTERM or SIGINT, this object forwards the signal to
    the workers, and no longer replaces workers.
    """

    def __init__(self, server: AgentServer, listener: socket.socket) -> None:
        self._server = server
        self._listener = listener
        self._workers: list[_Worker] = []
        self._signals: list[int] = []
        self._kill_at = math.inf

    def run(self, *, opens_page: bool) -> None:
        """Serve until a signal has ended all workers. After SIGTERM, this process finally ends itself with SIGTERM."""
        from stream_protocol.server import ending_with_terminal  # noqa: PLC0415 - slow; workers start meanwhile

        self._server.set_up_log()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._forward_signal)
        with ending_with_terminal():
            self._start_first(opens_page=opens_page)
            for _ in range(self._server.options.workers - 1):
                self._start()
            self._watch()
        if signal.SIGTERM in self._signals:
            # Ending by a signal skips Python's cleanup. No cleanup is needed, because all workers have ended.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)

    def _start_first(self, *, opens_page: bool) -> None:
        """Start the first worker alone, and wait until it serves. This worker creates the tables of the stores. If the
        worker ends, for example because it cannot load the agent, exit with the worker's exit code.
        """
        first = self._start(shows="screen", opens_page=opens_page)
        while not first.announced.wait(POLL_SECONDS) and first.process.exitcode is None:
            pass
        if first.process.exitcode is not None and not self._signals:
            sys.exit(first.process.exitcode)

    def _watch(self) -> None:
        while self._workers:
            wait([worker.process.sentinel for worker in self._workers], POLL_SECONDS)
            for worker in [*self._workers]:
                self._check_worker(worker)

    def _start(self, *, shows: Shown = "nothing", opens_page: bool = False) -> _Worker:
        announced = PROCESSES.Event()
        process = start_process(self._server, self._listener, shows=shows, opens_page=opens_page, announced=announced)
        worker = _Worker(process, announced)
        self._workers.append(worker)
        if self._signals:  # a signal came while the worker was started
            process.terminate()
        return worker

    def _check_worker(self, worker: _Worker) -> None:
        if worker.process.exitcode is None:
            if monotonic() > self._kill_at:
                worker.process.kill()
            return
        self._workers.remove(worker)
        if not self._signals:
            self._server.warn(
                f"worker {worker.process.pid} ended with exit code {worker.process.exitcode}: starting a new worker"
            )
            if not worker.announced.is_set():
                sleep(PAUSE_SECONDS)
            self._start()

    def _forward_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._signals:
            self._kill_at = monotonic() + FORCED_SECONDS
        self._signals.append(number)
        for worker in self._workers:
            _send(worker.process, number)


def _send(process: BaseProcess, number: int) -> None:
    if process.pid is not None and process.exitcode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
