"""Records the scenarios of recorder/old_adk.py with the installed ADK, as ``adk_<version>_NAME``.

Run it in a virtual environment that has only the ADK to record:

    python -m venv /tmp/adk-2.5 && /tmp/adk-2.5/bin/pip install 'google-adk==2.5.*' /tmp/adk-2.5/bin/python
frontend-fixtures/record_old.py [NAME …]

Then run build.py with the newest ADK, to build the expected streams.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence

import google.adk
from recorder.fixture import write_fixture
from recorder.old_adk import OLD_SCENARIOS, record


def main(names: Sequence[str]) -> None:
    unknown = set(names) - {scenario.name for scenario in OLD_SCENARIOS}
    if unknown:
        sys.exit(f"no such scenario: {', '.join(sorted(unknown))}")
    logging.disable(logging.CRITICAL)  # the runs that raise are meant to
    version = ".".join(google.adk.__version__.split(".")[:2])
    prefix = f"adk_{version.replace('.', '_')}"
    for scenario in OLD_SCENARIOS:
        if not names or scenario.name in names:
            turns = asyncio.run(record(scenario))
            write_fixture(f"{prefix}_{scenario.name}", f"ADK {version}. {scenario.description}", {}, turns)


if __name__ == "__main__":
    main(sys.argv[1:])
