"""Checks other backends of ``useChat`` and writes docs/backends.md and a report: ``python -m tests.backends [NAME …]``.

Each package is installed in its newest version from PyPI or npm, into its own environment in ``.venv-backends``. With
names as arguments, the other backends keep their last results.
"""

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import httpx

from tests.backends.backends import BACKENDS, SERVERS, Backend
from tests.backends.page import PAGE, REPORT, RESULTS, load_results, page, report
from tests.ports import free_port

ROOT: Final = Path(__file__).parents[2]
BUILD: Final = ROOT / ".venv-backends"
PROMPTS: Final = Path(__file__).parent / "prompts.toml"
START_SECONDS: Final = 60.0


def main(names: list[str]) -> None:
    """Check the backends with these keys, or all."""
    unknown = {*names} - {backend.key for backend in BACKENDS}
    if unknown:
        sys.exit(f"Unknown: {', '.join(unknown)}. Known are {', '.join(each.key for each in BACKENDS)}.")
    results: dict[str, Any] = dict(load_results()) if RESULTS.exists() else {}
    for backend in BACKENDS:
        if not names or backend.key in names:
            click.echo(f"{backend.title} …")
            results[backend.key] = checked(backend)
            click.echo(results[backend.key]["report"]["badge"]["message"])
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")
    REPORT.write_text(report(results), encoding="utf-8")


def checked(backend: Backend) -> dict[str, Any]:
    """Return the versions and the report of one backend."""
    command, versions = INSTALLERS[backend.kind](backend)
    with started(command) as url:
        check = [sys.executable, "-m", "stream_protocol", "check", url, "--prompts", str(PROMPTS), "--json"]
        done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    del report["url"]  # the port is random
    today = dt.datetime.now(dt.UTC).date()
    return {"date": today.isoformat(), "versions": versions, "report": report}


@contextmanager
def started(command: list[str]) -> Iterator[str]:
    """Start a server, whose last argument is its port. Yields the URL of its chat endpoint."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/api/chat"
    with subprocess.Popen([*command, str(port)], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_there(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"{' '.join(command)} does not start.")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def is_there(url: str) -> bool:
    """Return True if the server responds."""
    try:
        httpx.get(url)
    except httpx.HTTPError:
        return False
    return True


def install_own(backend: Backend) -> tuple[list[str], dict[str, str]]:
    """Return the command of our server, and the versions of this environment."""
    python = python_versions(sys.executable, backend.packages)
    return [sys.executable, str(SERVERS / backend.server)], python


def install_python(backend: Backend) -> tuple[list[str], dict[str, str]]:
    """Create a virtual environment with the packages."""
    folder = BUILD / backend.key
    shutil.rmtree(folder, ignore_errors=True)
    run([interpreter(backend.oldest_python), "-m", "venv", str(folder)])
    python = str(folder / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *backend.packages])
    return [python, str(SERVERS / backend.server)], python_versions(python, backend.packages)


def install_node(backend: Backend) -> tuple[list[str], dict[str, str]]:
    """Create a folder with the packages and the server's files, since Node looks for packages beside them."""
    folder = BUILD / backend.key
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    run(
        ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", *backend.packages], folder
    )
    for file in SERVERS.glob("*.mjs"):
        shutil.copy(file, folder)
    names = [package.partition("@")[0] for package in backend.packages]
    versions = {
        name: json.loads((folder / "node_modules" / name / "package.json").read_text(encoding="utf-8"))["version"]
        for name in names
    }
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return ["node", str(folder / backend.server)], {**versions, "Node": node.removeprefix("v")}


INSTALLERS: Final = {"own": install_own, "python": install_python, "node": install_node}


def python_versions(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of packages in an environment, and of its Python."""
    code = "import platform, sys; from importlib.metadata import version; "
    code += "print(*map(version, sys.argv[1:]), platform.python_version())"
    done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True)
    return dict(zip((*packages, "Python"), done.stdout.split(), strict=True))


def interpreter(oldest: tuple[int, int]) -> str:
    """Return a Python of this version or newer."""
    names = [sys.executable, *(f"python3.{minor}" for minor in range(oldest[1], 20))]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    names += [str(each / "bin" / "python") for each in sorted(pyenv.glob("3.*"))]
    code = f"import sys; sys.exit(sys.version_info < {oldest})"
    for name in names:
        if shutil.which(name) and not subprocess.run([name, "-c", code], capture_output=True, check=False).returncode:
            return name
    sys.exit(f"Python {oldest[0]}.{oldest[1]} or later is needed.")


def run(command: list[str], folder: Path = ROOT) -> None:
    """Run a command. Exits if it fails."""
    if subprocess.run(command, cwd=folder, check=False).returncode:
        sys.exit(f"{' '.join(command)} failed.")


if __name__ == "__main__":
    main(sys.argv[1:])
