"""The examples that the suite ``frontends`` builds and drives have no type errors. This takes seconds, not minutes."""

import os
import subprocess

import pytest

from tests.processes import ROOT
from tests.tools import require_command, require_node_project

pytestmark = [pytest.mark.pages, pytest.mark.node]


@pytest.mark.parametrize("example", ["assistant-ui", "react", "svelte", "vue"])
def test_the_types_of_an_example_are_right(example: str) -> None:
    folder = ROOT / "examples" / example
    require_node_project(folder)
    done = subprocess.run(
        [require_command("npm"), "run", "check"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
