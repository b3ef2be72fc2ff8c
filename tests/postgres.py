"""A PostgreSQL server of the tests' own, in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from tests.ports import free_port
from tests.tools import missing

USER: Final = "ann"

UNPRIVILEGED: Final = "nobody"
"""The account of the server if root starts it: PostgreSQL refuses to run as root."""

HANG: Final = 120
"""Seconds that one of its commands may take."""

DEBIAN_BINARIES: Final = Path("/usr/lib/postgresql")
"""Debian has only the clients' commands on the PATH; the others are in a folder for each version."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server. A test that breaks it needs its own."""

    binaries: Path
    port: int
    _folder: Path
    _settings: Sequence[str] = ()
    _numbers: Iterator[int] = field(default_factory=count)

    def new_database(self) -> str:
        """The URI of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        createdb: list[str | Path] = [self.binaries / "createdb", "--host=127.0.0.1", f"--port={self.port}"]
        subprocess.run([*createdb, f"--username={USER}", name], check=True, capture_output=True, timeout=HANG)
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        """Starts again at the same port, with its data."""
        settings = f"-c listen_addresses=127.0.0.1 -p {self.port} -c unix_socket_directories= -c fsync=off"
        settings = " ".join((settings, *(f"-c {setting}" for setting in self._settings)))
        self._control("start", f"--log={self._folder}/log", f"--options={settings}")

    def stop(self) -> None:
        """As if it had crashed."""
        self._control("stop", "--mode=immediate")

    @contextmanager
    def away(self) -> Iterator[None]:
        """It takes no connections, and those that were open are broken."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It accepts connections, and sends nothing on new and open ones."""
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
        """The server's log."""
        return (self._folder / "log").read_text()

    def _control(self, *what: str) -> None:
        _run([self.binaries / "pg_ctl", f"--pgdata={self._folder / 'cluster'}", "--wait", *what], self._folder)


@contextmanager
def postgres_server(*settings: str) -> Iterator[Postgres]:
    """Runs a server on a free port of loopback. Skips the test where PostgreSQL is not installed.

    ``settings``: such as ``max_connections=20``.
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
    """Its output goes to a file: the server inherits it, and a pipe would be open for as long as that runs."""
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


def postgres_binaries() -> Path | None:
    """The folder of its commands; ``None`` where PostgreSQL is not installed."""
    folders = [Path(found).resolve().parent] if (found := shutil.which("pg_ctl")) else []
    folders += sorted(DEBIAN_BINARIES.glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").is_file()), None)


def _children(process: int) -> list[int]:
    found = subprocess.run(
        ["pgrep", "--parent", f"{process}"], check=True, capture_output=True, text=True, timeout=HANG
    )
    return [int(child) for child in found.stdout.split()]
