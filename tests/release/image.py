"""Builds the image of a Dockerfile without Docker: runs its instructions in an overlay over this machine's files.

A Python of the version in ``FROM``, without packages, replaces the base image.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import pytest

from tests.processes import HANG
from tests.release.conftest import OUR_VARIABLES, find_python, run
from tests.tools import missing, require_command

PYTHON: Final = "/opt/python"

BUILDING: Final = 600.0
"""Seconds after which an instruction has failed. pip has no cache in an image."""

OVERLAY: Final = """
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/layer,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mount --rbind /proc "$1/root/proc"
mount -t tmpfs tmpfs "$1/root/tmp"
"""
READ_ONLY: Final = """
mount -o remount,ro "$1/root"
ip link set lo up
"""
INTO_IT: Final = """
root=$1/root
shift
exec chroot "$root" "$@"
"""


@dataclass
class Image:
    """Image in ``folder``, and the settings of its process."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    health: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def inside(self, *script: str) -> list[str]:
        """Return the beginning of a command that runs in the image, after these scripts."""
        return [
            "unshare",
            "--mount",
            "--net",
            "sh",
            "-euc",
            "".join((OVERLAY, *script, INTO_IT)),
            "sh",
            str(self.folder),
        ]

    def process(self, command: Sequence[str], **env: str) -> list[str]:
        """Return the command as the image's process, with its user, folder and environment, and without privileges."""
        uid, gid = self.user.split(":")
        who = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", "--bounding-set=-all")
        variables = [f"{name}={value}" for name, value in {**self.env, **env}.items()]
        return [*who, "env", "--ignore-environment", f"--chdir={self.workdir}", *variables, *command]


def build_image(dockerfile: Path, context: Path, folder: Path, wheel: Path) -> Image:
    """Run the instructions. ``wheel``: our package, in the place of the package index."""
    for command in ("chroot", "ip", "nsenter", "setpriv", "unshare"):
        require_command(command)
    if os.geteuid() != 0:
        missing("only root may mount what stands in for an image")
    for name in ("layer", "root", "work"):
        (folder / name).mkdir(parents=True)
    _require_mounts(folder)
    image = Image(folder)
    for name, rest in instructions(dockerfile):
        match name:
            case "FROM":
                _begin(image, rest, wheel)
            case "WORKDIR":
                image.workdir = rest
                (folder / "layer" / rest.strip("/")).mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = rest.split()
                for source in sources:
                    _copy(context, source, folder / "layer" / image.workdir.strip("/") / target)
            case "RUN":
                _run(image, rest)
            case "USER":
                image.user = rest
            case "ENV":
                image.env |= dict(word.split("=", 1) for word in shlex.split(rest))
            case "HEALTHCHECK":
                image.health = json.loads(rest.partition("CMD ")[2])
            case "ENTRYPOINT":
                image.entrypoint = json.loads(rest)
            case "CMD":
                image.command = json.loads(rest)
            case _:
                assert name == "EXPOSE", f"nobody knows here what {name} does"
    return image


def _require_mounts(folder: Path) -> None:
    """Skip the test if the kernel does not allow mounts, as in most containers. Applies to CI, too."""
    overlay = f"lowerdir=/,upperdir={folder}/layer,workdir={folder}/work"
    mount = ["mount", "-t", "overlay", "overlay", "-o", overlay, f"{folder}/root"]
    tried = subprocess.run(["unshare", "--mount", "--net", *mount], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"nobody may mount an overlay here: {tried.stderr.strip()}")


def instructions(dockerfile: Path) -> Iterator[tuple[str, str]]:
    """Yield each instruction and its arguments."""
    lines = dockerfile.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, rest


def _begin(image: Image, base: str, wheel: Path) -> None:
    version = re.fullmatch(r"python:(3\.\d+)-slim", base)
    assert version is not None, base
    image.env = {"PATH": f"{PYTHON}/bin:{os.environ['PATH']}"}
    python = find_python(version[1])
    _run(image, f"{python} -m venv {PYTHON}")
    # On some machines only root can read the folder of Pythons.
    for parent in Path(python).resolve().parents:
        _run(image, f"chmod o+rx {parent}")
    (image.folder / "layer" / "wheels").mkdir()
    shutil.copy2(wheel, image.folder / "layer" / "wheels")


def _run(image: Image, command: str) -> None:
    """Run a command as root, with this machine's network and settings of package indexes."""
    ours = {name: value for name, value in os.environ.items() if name not in OUR_VARIABLES}
    env = {**ours, **image.env, "PIP_FIND_LINKS": "/wheels", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    inside = [word for word in image.inside() if word != "--net"]
    words = (*inside, "env", f"--chdir={image.workdir}", "sh", "-euc", command)
    run(*words, cwd=image.folder, env=env, seconds=BUILDING)


def _copy(context: Path, source: str, target: Path) -> None:
    """Copy files as ``COPY``, with the context's ``.dockerignore``."""
    patterns = (context / ".dockerignore").read_text(encoding="utf-8").splitlines()

    def ignored(folder: str, names: list[str]) -> list[str]:
        inner = Path(folder).relative_to(context)
        return [name for name in names if _is_ignored(inner / name, patterns)]

    if (context / source).is_dir():
        shutil.copytree(context / source, target, symlinks=True, ignore=ignored)
    elif not _is_ignored(Path(source), patterns):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(context / source, target)


def _is_ignored(path: Path, patterns: Sequence[str]) -> bool:
    """Return the decision of the last pattern that matches the path or a folder above it."""
    names = [part.as_posix() for part in (path, *path.parents[:-1])]
    result = False
    for pattern in patterns:
        if not pattern or pattern.startswith("#"):
            continue
        wanted = pattern.removeprefix("!")
        anywhere = wanted.startswith("**/")
        forms = [wanted.removeprefix("**/"), f"*/{wanted.removeprefix('**/')}"] if anywhere else [wanted]
        if any(_fits(name, form, anywhere=anywhere) for name in names for form in forms):
            result = not pattern.startswith("!")
    return result


def _fits(name: str, pattern: str, *, anywhere: bool) -> bool:
    """Return True if the name matches the pattern. ``*`` does not match a slash."""
    return fnmatchcase(name, pattern) and (anywhere or name.count("/") == pattern.count("/"))


class Container:
    """Process of the image, with a read-only file system and its own network."""

    def __init__(self, image: Image, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._image = image
        self._log = log

    def log(self) -> str:
        return self._log.read_text()

    def execute(self, *command: str) -> str:
        """Run a further process in the container, as ``docker exec``. Returns its output. Fails the test if the process
        fails.
        """
        enter = ("nsenter", f"--target={self.process.pid}", "--mount", "--net", "--root")
        return run(*enter, *self._image.process(command), cwd=self._image.folder)

    def end(self) -> int:
        """Stop the container, as ``docker stop``. Returns the exit code."""
        self.process.terminate()
        return self.process.wait(HANG)


@contextmanager
def started(image: Image, command: Sequence[str] | None = None, **env: str) -> Iterator[Container]:
    """Start a container, and wait until its server listens. ``command``: replaces the image's command."""
    words = [*image.entrypoint, *(image.command if command is None else command)]
    log = image.folder / "stderr"
    whole: Mapping[str, str] = {"PATH": os.environ["PATH"]}
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*image.inside(READ_ONLY), *image.process(words, **env)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=whole,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            assert "http://" in process.stdout.readline(), log.read_text()
            yield Container(image, process, log)
        finally:
            process.kill()
