"""PostgreSQL server for tests, in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

from tests.ports import free_port
from tests.tools import missing

USER: Final = "ann"

UNPRIVILEGED: Final = "nobody"
"""Account of the server if root starts it: PostgreSQL refuses to run as root."""

HANG: Final = 120
"""Maximum seconds of a PostgreSQL command."""

DEBIAN_BINARIES: Final = Path("/usr/lib/postgresql")
"""Debian's folder of the server commands, one for each version. Only client commands are on the PATH."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """Running server. A test that breaks it needs its own server."""

    binaries: Path
    port: int
    _folder: Path
    _settings: Sequence[str] = ()
    _numbers: Iterator[int] = field(default_factory=count)

    def new_database(self) -> str:
        """Return the URI of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        createdb: list[str | Path] = [self.binaries / "createdb", "--host=127.0.0.1", f"--port={self.port}"]
        command = [*createdb, *_copy_options(self.binaries), f"--username={USER}", name]
        subprocess.run(command, check=True, capture_output=True, timeout=HANG)
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        """Start the server again at the same port, with its data."""
        settings = f"-c listen_addresses=127.0.0.1 -p {self.port} -c unix_socket_directories= -c fsync=off"
        settings = " ".join((settings, *(f"-c {setting}" for setting in self._settings)))
        self._control("start", f"--log={self._folder}/log", f"--options={settings}")

    def stop(self) -> None:
        """Stop the server as in a crash."""
        self._control("stop", "--mode=immediate")

    @contextmanager
    def away(self) -> Iterator[None]:
        """Stop the server for the block. Open connections break."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze the server for the block: it accepts connections, and sends nothing."""
        server = int((self._folder / "cluster" / "postmaster.pid").read_text().split()[0])
        os.kill(server, signal.SIGSTOP)  # first: then it begins no more processes, and those that end stay as zombies
        children = _children(server)
        for child in children:
            os.kill(child, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in (*children, server):  # last: until then each of the others is there
                os.kill(process, signal.SIGCONT)

    def log(self) -> str:
        """Return the server's log."""
        return (self._folder / "log").read_text()

    def _control(self, *what: str) -> None:
        _run([self.binaries / "pg_ctl", f"--pgdata={self._folder / 'cluster'}", "--wait", *what], self._folder)


@contextmanager
def postgres_server(*settings: str) -> Iterator[Postgres]:
    """Run a server on a free port. Skips the test if PostgreSQL is not installed. ``settings``: such as
    ``max_connections=20``.
    """
    binaries = postgres_binaries() or missing("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, UNPRIVILEGED)
        cluster = f"--pgdata={folder / 'cluster'}"
        _run([binaries / "initdb", cluster, f"--username={USER}", "--auth=trust", "--no-sync"], folder)
        server = Postgres(binaries, free_port(), folder, settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _run(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command with its output in a file. The server inherits the output, and a pipe would stay open."""
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    with (folder / "output").open("a+") as output:
        done = subprocess.run(
            command,
            user=user,
            cwd=folder,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            timeout=HANG,
            check=False,
        )
        output.seek(0)
        assert done.returncode == 0, output.read()


@cache
def _copy_options(binaries: Path) -> Sequence[str]:
    """Return the options for a new database that is copied as files, as all are before PostgreSQL 15. Since then, the
    default writes each page to the log, which takes five times as long.
    """
    shown = subprocess.run([binaries / "createdb", "--help"], check=True, capture_output=True, text=True, timeout=HANG)
    return ["--strategy=file_copy"] if "--strategy" in shown.stdout else []


def postgres_binaries() -> Path | None:
    """Return the folder of PostgreSQL's commands; ``None`` if it is not installed."""
    folders = [Path(found).resolve().parent] if (found := shutil.which("pg_ctl")) else []
    folders += sorted(DEBIAN_BINARIES.glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").is_file()), None)


def _children(process: int) -> list[int]:
    found = subprocess.run(
        ["pgrep", "--parent", f"{process}"], check=True, capture_output=True, text=True, timeout=HANG
    )
    return [int(child) for child in found.stdout.split()]
