"""Finds tools that a test needs, and that a machine may not have."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from google.adk.version import __version__ as adk_version
from packaging.version import Version

OLD_ADK = Version(adk_version) < Version("2.13")
"""True if ADK is older than 2.11, whose behaviour these tests expect."""


def missing(reason: str) -> NoReturn:
    """Skip the test. In CI, fail it, since nothing may be missing there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def require_command(name: str) -> str:
    """Return the path of a command."""
    return shutil.which(name) or missing(f"`{name}` is not installed")


def require_node_project(folder: Path) -> str:
    """Return the path of ``node``, if the project's packages are installed."""
    node = require_command("node")
    if not (folder / "node_modules").is_dir():
        missing(f"the packages of {folder.name} are not installed: run `npm ci` there")
    return node
