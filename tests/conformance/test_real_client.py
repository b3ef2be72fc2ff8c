import subprocess

import pytest

from tests.conformance.fixtures import PROJECT
from tests.tools import require_node_project

TIMEOUT = 300  # seconds: to fail a hang, not to measure


@pytest.mark.node
def test_the_ai_sdks_own_clients_accept_every_fixture_and_end_with_its_messages() -> None:
    node = require_node_project(PROJECT)
    run = subprocess.run(
        [node, "--test", "--test-reporter=dot"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
