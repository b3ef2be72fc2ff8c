"""PgBouncer for tests, in front of a PostgreSQL."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from tests.ports import free_port
from tests.postgres import UNPRIVILEGED, USER, Postgres
from tests.tools import missing

HANG = 20.0
"""Seconds that it may take to start."""


@contextmanager
def pgbouncer(database: Postgres, mode: Literal["transaction", "session"]) -> Iterator[int]:
    """Run a PgBouncer with few connections, so that clients share them. Yields its port.

    A URL for the pooler has this port. Its other parts are those of the server's URL. Skips the test if PgBouncer is
    not installed.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        missing("PgBouncer is not installed")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        folder = Path(name)
        (folder / "users.txt").write_text(f'"{USER}" ""\n')
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": mode,
            "default_pool_size": 8,
            "max_client_conn": 500,
            "ignore_startup_parameters": "extra_float_digits",
            "auth_file": folder / "users.txt",
        }
        lines = [f"{key} = {value}" for key, value in settings.items()]
        route = f"* = host=127.0.0.1 port={database.port} user={USER}"
        (folder / "pgbouncer.ini").write_text("\n".join(["[databases]", route, "[pgbouncer]", *lines]))
        user = UNPRIVILEGED if os.geteuid() == 0 else None
        if user is not None:
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, user)
        command = [str(program), str(folder / "pgbouncer.ini")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, user=user, cwd=folder, stdout=log, stderr=log)
        try:
            _wait_until_it_listens(port, process, folder / "log")
            yield port
        finally:
            process.kill()
            process.wait()


def _wait_until_it_listens(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + HANG
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        else:
            return


def through(port: int, url: str) -> str:
    """Return the URL of a database through a pooler at this port."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{USER}@127.0.0.1:{port}").geturl()
