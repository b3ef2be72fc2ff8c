"""Runs the Node scripts of ``frontend-fixtures``, which use the real clients with a server."""

import json
import subprocess
from collections.abc import Iterable
from typing import Any

from tests.conformance.fixtures import PROJECT
from tests.tools import require_node_project

TIMEOUT = 300.0
"""Seconds after which a script is killed."""


def run_script(name: str, asked: Iterable[Any], *arguments: str) -> list[Any]:
    """Return the script's output: one JSON value for each input value, in order."""
    node = require_node_project(PROJECT)
    lines = [json.dumps(value) for value in asked]
    run = subprocess.run(
        [node, PROJECT / "scripts" / name, *arguments],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    answers = run.stdout.rstrip("\n").split("\n")  # a text may hold U+2028, where `splitlines` would cut
    assert len(answers) == len(lines)
    return [json.loads(answer) for answer in answers]
