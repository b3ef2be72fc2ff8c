"""Tools that a test may need and a machine may lack."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from google.adk.version import __version__ as adk_version
from packaging.version import Version

OLD_ADK = Version(adk_version) < Version("2.13")
"""True if ADK may behave as these tests know it from 2.11: reasons to skip name the difference."""


def missing(reason: str) -> NoReturn:
    """Skips the test; fails it in CI, where nothing may be missing."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def require_command(name: str) -> str:
    """The path of a command."""
    return shutil.which(name) or missing(f"`{name}` is not installed")


def require_node_project(folder: Path) -> str:
    """The path of ``node``, if the project's packages are installed too."""
    node = require_command("node")
    if not (folder / "node_modules").is_dir():
        missing(f"the packages of {folder.name} are not installed: run `npm ci` there")
    return node
