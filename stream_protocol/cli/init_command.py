"""Command ``adk-ui-stream init``: creates a project with an agent, its server, a test with a recording, and a page."""

from __future__ import annotations

import json
import keyword
import os
import re
import shlex
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import click

from stream_protocol.cli._command_options import FOLDER
from stream_protocol.cli._program import DocumentedCommand, refuse

TEMPLATE: Final = Path(__file__).parent / "project"
"""The template of the project, with the names ``my-project`` and ``my_package``. Its page is ``examples/nextjs``."""

_NOT_COPIED: Final = ("__pycache__", "node_modules", ".next", "next-env.d.ts", "*.tsbuildinfo")
"""Files that a run of the template creates, and that are not copied."""

_PICTURE: Final = re.compile(rb"<picture>.*?</picture>\n\n", re.DOTALL)
"""A picture in the page's README. Its file is in this repository only."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TAKEN: Final = frozenset({"main", "page", "tests", "user"})
"""Names that the package cannot have: the project needs them, and ADK reserves ``user``."""

_DISTRIBUTION: Final = "adk-ui-stream"
_REQUIREMENT: Final = re.compile(rb"^adk-ui-stream\b.*$", re.MULTILINE)
"""Pattern for this package's line in the template's ``requirements.txt``."""

_PAGE_SECTION: Final = b"\n## The page\n"

_EXAMPLES: Final = {
    "A project in the folder my-shop, with a Next.js page": "adk-ui-stream init my-shop",
    "Without a Next.js page: `serve` has a built-in page": "adk-ui-stream init my-list --page none",
}


@click.command(
    cls=DocumentedCommand, short_help="Create a project that runs: agent, server, page, test.", examples=_EXAMPLES
)
@click.argument("name", type=FOLDER)
@click.option(
    "--page",
    type=click.Choice(["next", "none"]),
    default="next",
    show_default=True,
    help="next: a Next.js app in the folder page/. none: only the built-in page of `serve`.",
)
def init(name: str, *, page: Literal["next", "none"]) -> None:
    """Create a project in the new folder NAME: an agent, its server, a test with a recording, and a page.

    Without GOOGLE_API_KEY, a script replies.
    """
    folder = Path(name)
    package = _package(folder)
    if os.path.lexists(folder) and not _is_empty_folder(folder):
        refuse(f"{name} already exists and is not an empty folder: choose another name")
    if not folder.absolute().parent.is_dir():
        refuse(f"{folder.parent} is not a folder: create it first")
    try:
        # The project is created beside its destination, and moved there when it is complete.
        with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=f".{package}-") as scratch:
            made = Path(scratch, folder.name)
            _write_project(made, package, with_page=page == "next")
            if folder.is_dir():
                folder.rmdir()
            made.rename(folder)
    except OSError as error:
        refuse(f"cannot write {name}: {error.strerror or error}")
    parts = ["an agent", "its server", "a test with a recording", *(["a Next.js page"] if page == "next" else [])]
    commands = {
        f"cd {shlex.quote(name)}": "",
        "python -m venv .venv": "an environment of its own; skip both lines if you have one",
        ". .venv/bin/activate": "",
        "pip install -r requirements.txt": "",
        "pytest": "the test replays a recorded chat",
        f"adk-ui-stream serve {package} --open": "chat at http://127.0.0.1:8000",
    }
    if page == "next":
        commands["cd page && npm ci && npm run dev"] = "in another terminal: http://localhost:3000"
    width = max(map(len, commands))
    click.echo(f"Created {name}: {', '.join(parts)}. See its README.md, and run:\n")
    for command, comment in commands.items():
        note = f"{'':{width - len(command)}}  {click.style(f'# {comment}', dim=True)}" if comment else ""
        click.echo(f"  {click.style(command, bold=True)}{note}")


def _package(folder: Path) -> str:
    """Return the name of the project's Python package, made from the folder's name. If this is impossible, the process
    ends with exit code 2.
    """
    name = folder.name
    package = name.lower().replace("-", "_")
    if _NAME.fullmatch(name) is None:
        refuse(f"'{name or '.'}' cannot be the name: use ASCII letters, digits, - and _, and begin with a letter")
    if keyword.iskeyword(package) or package in _TAKEN:
        refuse(f"'{name}' cannot be the name: {package} is reserved, so choose another name")
    found = find_spec(package)
    places = [] if found is None else found.submodule_search_locations or [found.origin or package]
    if any(Path(place) != folder.absolute() for place in places):
        refuse(f"'{name}' cannot be the name: a Python package {package} is installed, so choose another name")
    return package


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _write_project(folder: Path, package: str, *, with_page: bool) -> None:
    name = folder.name.lower()
    names = {b"adk-ui-stream-nextjs": f"{name}-page", b"my-project": name, b"my_package": package}
    ignored = shutil.ignore_patterns(*_NOT_COPIED, *([] if with_page else ["page"]))
    shutil.copytree(TEMPLATE, folder, ignore=ignored, copy_function=shutil.copyfile)
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        content = file.read_bytes()
        for ours, theirs in names.items():
            content = content.replace(ours, theirs.encode())
        if file == folder / "README.md" and not with_page:
            content = content.partition(_PAGE_SECTION)[0]
        if file == folder / "page" / "README.md":
            content = _PICTURE.sub(b"", content)
        file.write_bytes(content)
    (folder / "my_package").rename(folder / package)
    if (source := _installed_from()) is not None:
        file = folder / "requirements.txt"
        line = f"{_DISTRIBUTION} @ {source}".encode()
        file.write_bytes(_REQUIREMENT.sub(lambda _: line, file.read_bytes()))


def _installed_from() -> str | None:
    """Return the URL from which pip has installed this package, such as a Git URL. Returns ``None`` if pip has
    installed it from a package index.

    The URL is written to the requirements of the new project, so that its ``pip install`` installs the same version.
    """
    try:
        text = distribution(_DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    if text is None:
        return None
    direct = json.loads(text)
    vcs = direct.get("vcs_info")
    return f"{vcs['vcs']}+{direct['url']}@{vcs['commit_id']}" if vcs else str(direct["url"])
