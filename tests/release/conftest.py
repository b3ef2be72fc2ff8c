"""The distributions to publish, and environments with nothing else."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.processes import HANG, ROOT
from tests.tools import require_command

OUR_VARIABLES: Final = ("PYTHONPATH", "VIRTUAL_ENV", "GOOGLE_API_KEY", "GEMINI_API_KEY", "CI")
"""Variables of our environment that a user's shell does not have."""

INSTALLING: Final = 240.0
"""Seconds after which a command that installs packages has failed."""


@dataclass(frozen=True)
class Dist:
    """Distribution to publish."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Dist:
    """Source distribution of this tree, and the wheel built from it."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT), cwd=out)
    return Dist(*out.glob("*.tar.gz"), *out.glob("*.whl"))


@dataclass(frozen=True)
class Shell:
    """Shell of a user: a Python environment with the wheel and pytest, and a folder."""

    bin: Path
    folder: Path

    def env(self, **more: str) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if name not in OUR_VARIABLES}
        return {**ours, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "PYTHONUNBUFFERED": "1", **more}

    def run(self, *command: str, cwd: str = ".", **env: str) -> str:
        """Run a command. Returns its stdout. Fails the test if the command fails."""
        return run(*command, cwd=self.folder / cwd, env=self.env(**env))

    @contextmanager
    def serving(
        self, *arguments: str, command: str = "serve", cwd: str = ".", **env: str
    ) -> Iterator[tuple[str, list[str]]]:
        """Run ``adk-ui-stream serve``. Yields its address, and the screen below its first line. Stops it at the end."""
        words = [str(self.bin / "adk-ui-stream"), command, *arguments, "--port", "0"]
        log = self.folder / "serve.log"
        with (
            log.open("w") as errors,
            subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=self.folder / cwd,
                env=self.env(**env),
            ) as server,
        ):
            assert server.stdout is not None
            try:
                first = server.stdout.readline()
                assert first.startswith("Serving "), log.read_text()
                screen: list[str] = []
                while (line := server.stdout.readline()) != "Ctrl+C stops it.\n":
                    screen.append(line.strip())
                yield first.split()[-1], screen
            finally:
                server.terminate()
            server.wait(HANG)

    def log(self) -> str:
        """Return the server's stderr."""
        return (self.folder / "serve.log").read_text()


@pytest.fixture(scope="session")
def environments(dist: Dist, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Python version -> commands of an environment with only the wheel and pytest."""
    uv = require_command(str(Path(sys.executable).with_name("uv")))
    locked = str(ROOT / "requirements" / "ci.txt")

    @cache
    def environment(version: str) -> Path:
        folder = tmp_path_factory.mktemp(f"python{version}")
        run(uv, "venv", "--quiet", "--clear", "--python", find_python(version), str(folder), cwd=folder)
        install = (uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder))
        run(*install, "--constraints", locked, str(dist.wheel), "pytest", cwd=folder)
        return folder / "bin"

    return environment


@pytest.fixture
def shell(request: pytest.FixtureRequest, environments: Callable[[str], Path], tmp_path: Path) -> Shell:
    """Shell with the Python version in the test's parameter."""
    return Shell(environments(request.param), tmp_path)


def find_python(version: str) -> str:
    """Return the path of this Python (``3.12``), from the PATH or pyenv. Commands of pyenv itself may not run."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    there = (shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python"), sys.executable)
    found = next((str(python) for python in there if python and _version(python) == version), None)
    return found or pytest.skip(f"there is no Python {version} here")


def _version(python: str | Path) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def run(*command: str, cwd: Path, env: dict[str, str] | None = None, seconds: float = INSTALLING) -> str:
    """Run a command. Returns its stdout. Fails the test if the command fails."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
