"""Examples that the suite ``frontends`` drives pass their own checks. This takes seconds, not minutes."""

import os
import subprocess

import pytest

from tests.processes import ROOT
from tests.tools import missing, require_command, require_node_project

pytestmark = [pytest.mark.pages, pytest.mark.node]


@pytest.mark.parametrize("example", ["assistant-ui", "react", "svelte", "vue"])
def test_the_types_of_an_example_are_right(example: str) -> None:
    assert_script_passes(example, "check")


def test_the_next_example_passes_its_linter() -> None:
    if not (ROOT / "examples/nextjs/node_modules/eslint").is_dir():
        missing("the packages of nextjs are older than its lockfile: run `npm ci` there")
    assert_script_passes("nextjs", "lint", "--max-warnings", "0")


def assert_script_passes(example: str, script: str, *arguments: str) -> None:
    folder = ROOT / "examples" / example
    require_node_project(folder)
    done = subprocess.run(
        [require_command("npm"), "run", script, "--", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
