"""Builds the examples with their own commands, and serves them: with their ``ai`` package, or with another version."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from stream_protocol.wire import AiSdkVersion
from tests.ports import free_port
from tests.processes import ROOT
from tests.tools import require_command, require_node_project

PACKAGES: Final = Path(__file__).parent
HANG: Final = 240.0
"""Seconds after which a command has failed."""

BUILD_SECONDS: Final = 600
"""Timeout of a test that has to wait for the build of its frontend."""

BUILT: Final = frozenset({".next", "dist"})
"""Folders with a developer's own builds."""

CREATE_OPTIONS: Final = (
    *("--ts", "--app", "--empty", "--no-tailwind", "--no-eslint", "--no-src-dir", "--no-react-compiler"),
    *("--no-agents-md", "--use-npm", "--skip-install", "--disable-git", "--yes"),
)
"""Options of ``create-next-app`` for the smallest app, made without a network."""


@dataclass(frozen=True)
class Frontend:
    """An example, and the major version of ``ai`` for its build.

    ``packages``: folder with this version, if the example has another version. ``developing``: serve it with its
    command ``dev`` instead of a build.
    """

    example: str
    ai: AiSdkVersion
    packages: str | None = None
    developing: bool = False

    def __str__(self) -> str:
        return f"{self.example}-v{self.ai}{'-dev' if self.developing else ''}"


@contextmanager
def serving_frontend(
    frontend: Frontend, folder: Path, *, agent_url: str = "", files: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Serve the example, built in ``folder`` or in development mode. Yields its address. Only its server knows the
    agent's.

    ``files``: path -> text of files that replace those of the example, or are added.
    """
    copy = _copy(ROOT / "examples" / frontend.example, folder / str(frontend), frontend.packages)
    for path, text in (files or {}).items():
        (copy / path).unlink(missing_ok=True)  # it may be a link to the example's
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    ai: str = json.loads((copy / "node_modules" / "ai" / "package.json").read_text())["version"]
    assert ai.startswith(f"{frontend.ai}.")
    with _served_for_development(copy, agent_url) if frontend.developing else _built_and_served(copy, agent_url) as url:
        yield url


def build_demo_page(folder: Path, *, packages: str) -> Path:
    """Return the folder of the demo page, built with the ``ai`` of this folder."""
    npm = require_command("npm")
    project = _copy(ROOT / "server" / "page", folder / "source", packages)
    built = folder / "page"
    _run([npm, "run", "build", "--", "--outDir", str(built)], cwd=project)
    return built


@pytest.fixture(scope="session")
def page_v6(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the page with `ai` 6, built once for all workers, by the first worker that needs it."""
    mine = tmp_path_factory.getbasetemp()
    shared = mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine
    with (shared / "page-v6.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = shared / "page-v6" / "page"
        if not built.is_dir():
            built.parent.mkdir()
            build_demo_page(built.parent, packages="ai-v6/react")
    return built


def _copy(project: Path, copy: Path, packages: str | None) -> Path:
    """Copy the project with its packages. ``packages``: the folder of the packages that replace them."""
    require_node_project(project)
    copy.mkdir()
    for part in project.iterdir():
        if part.is_file():
            shutil.copy2(part, copy)
        elif part.name not in BUILT:
            # The page's components are a link out of the project; the links between packages stay links.
            is_linked = part.name == "node_modules"
            shutil.copytree(part, copy / part.name, symlinks=is_linked, copy_function=_link)
    if packages is not None:
        _put_in(PACKAGES / packages, copy / "node_modules")
    return copy


@contextmanager
def serving_fresh_next_app(folder: Path, files: Mapping[str, str], *, agent_url: str) -> Iterator[str]:
    """Create an app with ``create-next-app`` in ``folder``, add these files, and serve it. Yields its address.

    ``files``: path -> text. Its packages are those of our example.
    """
    example, maker = ROOT / "examples" / "nextjs", Path(__file__).parent / "create-next-app"
    require_node_project(example)
    node = require_node_project(maker)
    app = folder / "app"
    command = [node, str(maker / "node_modules" / "create-next-app" / "dist" / "index.js"), str(app)]
    _run([*command, *CREATE_OPTIONS], cwd=folder)
    shutil.copytree(example / "node_modules", app / "node_modules", symlinks=True, copy_function=_link)
    for path, text in files.items():
        file = app / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with _built_and_served(app, agent_url) as url:
        yield url


@contextmanager
def _built_and_served(project: Path, agent_url: str) -> Iterator[str]:
    npm = require_command("npm")
    _run([npm, "run", "build"], cwd=project)
    with serving_by([npm, "run", "start", "--"], cwd=project, env={"AGENT_URL": agent_url}) as url:
        yield url


@contextmanager
def _served_for_development(project: Path, agent_url: str) -> Iterator[str]:
    with serving_by([require_command("npm"), "run", "dev", "--"], cwd=project, env={"AGENT_URL": agent_url}) as url:
        yield url


def _run(command: Sequence[str], *, cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=_environment({}), capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def serving_by(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Start a server with this command, with its port in ``--port``. Yields its address once it responds."""
    port = free_port()
    log = cwd / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=cwd,
            env=_environment(env),
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


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name != "AGENT_URL"}
    return {**ours, "NEXT_TELEMETRY_DISABLED": "1", "NO_COLOR": "1", **more}


def _link(source: str, target: str) -> None:
    """Link a file if possible, else copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _put_in(other: Path, packages: Path) -> None:
    """Replace the example's packages with those of another project, and add missing packages."""
    require_node_project(other)
    for package in (other / "node_modules").glob("[!.]*"):
        for part in package.iterdir() if package.name.startswith("@") else [package]:
            target = packages / part.relative_to(other / "node_modules")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(part, target, symlinks=True, copy_function=_link)


def _wait_until_there(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + HANG
    while server.poll() is None and time.monotonic() < deadline:
        try:
            httpx.head(url)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"The server did not come up:\n{log.read_text()}")
