"""The examples, built as their own commands build them and served: with the ``ai`` that they name, or with another."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from stream_protocol.wire import AiSdkVersion
from tests.processes import ROOT
from tests.tools import require_command, require_node_project

PACKAGES: Final = Path(__file__).parent
HANG: Final = 240.0
"""Seconds after which a command has failed."""

BUILT: Final = frozenset({".next", "dist"})
"""What a developer's own build has left."""


@dataclass(frozen=True)
class Frontend:
    """An example, and the major version of ``ai`` that it is built with.

    ``packages``: the folder here that has this version, where the example names another one.
    """

    example: str
    ai: AiSdkVersion
    packages: str | None = None

    def __str__(self) -> str:
        return f"{self.example}-v{self.ai}"


@contextmanager
def serving_frontend(frontend: Frontend, folder: Path, *, agent_url: str) -> Iterator[str]:
    """The address of the example, which is built in ``folder``. Only its server knows the agent's."""
    example = ROOT / "examples" / frontend.example
    require_node_project(example)
    copy = folder / str(frontend)
    copy.mkdir()
    for part in example.iterdir():
        if part.is_file():
            shutil.copy2(part, copy)
        elif part.name not in BUILT:
            shutil.copytree(part, copy / part.name, symlinks=True, copy_function=_link)
    if frontend.packages is not None:
        _put_in(PACKAGES / frontend.packages, copy / "node_modules")
    ai: str = json.loads((copy / "node_modules" / "ai" / "package.json").read_text())["version"]
    assert ai.startswith(f"{frontend.ai}.")
    npm = require_command("npm")
    env = {**os.environ, "NEXT_TELEMETRY_DISABLED": "1", "NO_COLOR": "1"}
    env.pop("AGENT_URL", None)
    built = subprocess.run(
        [npm, "run", "build"], cwd=copy, env=env, capture_output=True, text=True, timeout=HANG, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    port = _free_port()
    log = copy / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [npm, "run", "start", "--", "--port", str(port)],
            cwd=copy,
            env={**env, "AGENT_URL": agent_url},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            url = f"http://localhost:{port}"
            _wait_until_there(url, server, log)
            yield url
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _link(source: str, target: str) -> None:
    """A hard link where that can be, which takes no time."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _put_in(other: Path, packages: Path) -> None:
    """Puts each package of another project in the place of the example's, or beside what it has."""
    require_node_project(other)
    for package in (other / "node_modules").glob("[!.]*"):
        for part in package.iterdir() if package.name.startswith("@") else [package]:
            target = packages / part.relative_to(other / "node_modules")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(part, target, symlinks=True, copy_function=_link)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _wait_until_there(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + HANG
    while server.poll() is None and time.monotonic() < deadline:
        try:
            httpx.head(url)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"The example did not come up:\n{log.read_text()}")
