"""The nginx of ``examples/deploy``, with its unchanged configuration, for servers of a test."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.documents import block
from tests.ports import free_port
from tests.postgres import UNPRIVILEGED
from tests.processes import HANG, ROOT
from tests.tools import require_command

CONFIGURATION: Final = (ROOT / "examples" / "deploy" / "nginx.conf").read_text(encoding="utf-8")
BEGIN_OF_SERVER: Final = "listen 8443 ssl http2;"
"""Line after which a test may add settings."""


@dataclass(frozen=True)
class Nginx:
    """Running nginx. ``url``: its HTTPS address. ``certificate``: file of the certificate for ``localhost``."""

    url: str
    port: int
    certificate: Path
    _log: Path

    def workers(self) -> list[str]:
        """Return the address of the worker of each request. A refused request has several."""
        return [json.loads(line)["worker"] for line in self._log.read_text().splitlines()]


@contextmanager
def nginx(ports: Sequence[int], *changes: tuple[str, str], users: str = "") -> Iterator[Nginx]:
    """Run nginx for two workers at these ports. Skips the test if nginx is not installed.

    ``changes``: texts of the configuration and their replacements. ``users``: a file of passwords.
    """
    command = require_command("nginx")
    with tempfile.TemporaryDirectory(prefix="nginx-") as name:
        folder = Path(name)
        certify(folder)
        port = free_port()
        text = replaced(
            CONFIGURATION,
            *changes,
            ("listen 8443", f"listen 127.0.0.1:{port}"),
            ("/tmp/", f"{folder}/"),
            ("/etc/nginx/", f"{folder}/"),
            ("/dev/stdout", f"{folder}/access.log"),
            ("worker-1:8000", f"127.0.0.1:{ports[0]}"),
            ("worker-2:8000", f"127.0.0.1:{ports[1]}"),
        )
        (folder / "nginx.conf").write_text(text)
        (folder / "users").write_text(users)
        user = None
        if os.geteuid() == 0:
            user = UNPRIVILEGED
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, user)
        with (
            (folder / "stderr").open("w") as errors,
            subprocess.Popen(
                [command, "-e", "stderr", "-c", folder / "nginx.conf", "-g", "daemon off;"],
                user=user,
                cwd=folder,
                stderr=errors,
            ) as process,
        ):
            try:
                _wait_until_it_listens(process, folder)
                yield Nginx(f"https://localhost:{port}", port, folder / "tls" / "tls.crt", folder / "access.log")
            finally:
                process.terminate()
                process.wait(HANG)


def replaced(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def certify(folder: Path) -> None:
    """Create the certificate as our page describes."""
    require_command("openssl")
    commands = block("docs/deploy/index.md", "openssl req")
    subprocess.run(["sh", "-euc", commands], cwd=folder, check=True, capture_output=True, timeout=HANG)


def _wait_until_it_listens(process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + HANG
    while not (folder / "nginx.pid").exists():
        assert process.poll() is None, (folder / "stderr").read_text()
        assert time.monotonic() < deadline, "nginx does not start"
        time.sleep(0.02)
